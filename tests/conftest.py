"""What all tests need."""

import gc
import json
import os
import signal
import threading
from types import SimpleNamespace

import hypothesis
import pytest

from saltus.cli import main

# How long an example takes depends on the machine and says nothing about the law.
hypothesis.settings.register_profile("without deadline", deadline=None)
hypothesis.settings.load_profile("without deadline")

# The libraries are very many objects that live to the end: to look through them often costs a part of every test.
gc.set_threshold(50_000, 20, 50)


@pytest.fixture(autouse=True, scope="session")
def interrupts_are_heard():
    """A shell that runs the tests in the background has them, and what they start, ignore Ctrl-C."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def press_ctrl_c(monkeypatch):
    """Press Ctrl-C from long work in a thread, and wait until the main thread has heard it."""
    from saltus.optimize import _stoppable

    heard = threading.Event()

    class Stop(threading.Event):
        def set(self):
            super().set()
            heard.set()

    def press():
        heard.clear()
        signal.raise_signal(signal.SIGINT)
        assert heard.wait(60)

    monkeypatch.setattr(_stoppable, "threading", SimpleNamespace(Event=Stop, Thread=threading.Thread))
    return press


@pytest.fixture
def call(capsys, tmp_path, monkeypatch):
    """The command line, in an empty folder and with no plugins: exit code, output and errors."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SALTUS_PLUGINS", raising=False)

    def called(*arguments):
        with pytest.raises(SystemExit) as leaving:
            main(list(map(str, arguments)))
        text = capsys.readouterr()
        return leaving.value.code, text.out, text.err

    yield called
    os.environ.pop("SALTUS_PLUGINS", None)


@pytest.fixture
def call_json(call):
    """The same with --json: exit code and what one line says."""

    def called(*arguments):
        code, out, _ = call(*arguments, "--json")
        assert out.count("\n") == 1
        return code, json.loads(out)

    return called
