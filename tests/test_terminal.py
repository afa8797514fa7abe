"""The real command in a real terminal, of several sizes and kinds."""

import codecs
import contextlib
import json
import os
import re
import select
import struct
import subprocess
import sys
import time

import pytest

fcntl = pytest.importorskip("fcntl", reason="pseudo-terminals are a matter of Unix")
pty = pytest.importorskip("pty", reason="pseudo-terminals are a matter of Unix")
termios = pytest.importorskip("termios", reason="pseudo-terminals are a matter of Unix")

COLOUR = re.compile(r"\x1b\[[0-9;]*m")
SLOW = '''"""Thinks for long."""
import time
from saltus.control import Passive
from saltus.engine._simulate import bind


class Slow(Passive):
    """Thinks for long."""

    def bind(self, system):
        def act(t, state, mode, memory):
            time.sleep(0.15)
            return 0.0

        return bind(act, system)


CONTROLLER = Slow
'''


class Terminal:
    """A command that believes a person watches."""

    def __init__(self, folder, *words, columns=80, rows=24, stdout=None, **environment):
        self.master, slave = pty.openpty()
        self.resize(columns, rows)
        kept = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "COLUMNS", "LINES")}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "saltus", *map(str, words)],
            stdin=slave, stdout=slave if stdout is None else stdout, stderr=slave, cwd=folder,
            env={**kept, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8", **environment},
            start_new_session=True, preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(slave)
        self.text = ""
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def resize(self, columns, rows):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, text):
        os.write(self.master, text.encode())

    def until(self, sign, seconds=120.0):
        """Read until something that matches is on the screen, or the command has ended."""
        end = time.monotonic() + seconds
        while sign is None or not re.search(sign, self.text):
            assert time.monotonic() < end, f"{sign!r} does not come: {self.text[-2000:]!r}"
            if not select.select([self.master], [], [], 0.2)[0]:
                continue
            try:
                new = os.read(self.master, 65536)
            except OSError:  # the other side is closed
                new = b""
            if not new:
                break
            self.text += self._decoder.decode(new)
        return self

    def end(self):
        """Everything that was on the screen, and the exit code."""
        self.until(None)
        return self.text, self.process.wait(60)


@pytest.fixture
def terminal(tmp_path):
    with contextlib.ExitStack() as stack:

        def opened(*words, **options):
            made = Terminal(tmp_path, *words, **options)
            stack.callback(os.close, made.master)
            stack.callback(made.process.wait, 60)
            stack.callback(made.process.kill)
            return made

        yield opened


def frames(text):
    """Lines of each picture, with their colours; where Ctrl-C is pressed, the terminal forgets the rest of the last."""
    parts = [part.split("\x1b[J")[0] for part in text.split("\x1b[H")[1:] if "\x1b[J" in part]
    return [re.split(r"\r*\n", part.replace("\x1b[K", "")) for part in parts]


def plain(lines):
    return [COLOUR.sub("", line) for line in lines]


def test_a_run_is_drawn_and_then_told(terminal):
    text, code = terminal("run", "disc", "--until", "0.8", "--watch", "--speed", "1").end()
    assert code == 0
    shown = frames(text)
    assert len(shown) > 5
    for one in shown:
        assert [len(line) for line in plain(one)] == [79] * 23
    times = [float(plain(one)[-1].split(" ")[0]) for one in shown]
    assert times[0] == 0.0
    assert times == sorted(times)
    assert 0.6 < times[-1] <= 0.8
    assert COLOUR.search(text)
    assert any(sign in text for sign in "⣿⠒⠤⣀")
    assert text.count("\x1b[?1049h") == text.count("\x1b[?1049l") == 1
    after = text.split("\x1b[?1049l")[1]
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
    assert "0.800 s  roll  speed 1  centre.touch 0.246 s" in after
    assert after.index("0.800 s  roll") < after.index("disc: finished (reached the end time) at t = 0.8 s")
    assert "ok   energy balance" in after


def test_time_passes_as_it_is_told(terminal):
    run = terminal("run", "pendulum", "--until", "0.6", "--watch", "--speed", "0.3").until(r"\?1049h")
    began = time.monotonic()
    run.until(r"\?1049l")
    assert 1.7 < time.monotonic() - began < 6.0
    assert "speed 0.3" in run.text


def test_no_colour(terminal):
    text, code = terminal("run", "disc", "--until", "0.5", "--watch", NO_COLOR="1").end()
    assert code == 0
    assert len(frames(text)) > 3
    assert not COLOUR.search(text)


def test_a_dumb_terminal_is_told_so(terminal):
    text, code = terminal("run", "disc", "--until", "0.5", "--watch", TERM="dumb").end()
    assert code == 0
    assert "\x1b" not in text
    lines = text.split("\r\n")
    assert lines[0] == "saltus: --watch draws nothing: this terminal cannot move its cursor (TERM=dumb)"
    assert lines[1].startswith("disc: finished")


def test_no_terminal_is_told_so(call):
    code, out, err = call("run", "disc", "--until", "0.5", "--watch")
    assert code == 0
    assert err == "saltus: --watch draws nothing: standard error is not a terminal\n"
    assert out == call("run", "disc", "--until", "0.5")[1]


@pytest.mark.parametrize(("columns", "rows"), [(20, 10), (20, 4), (7, 3)])
def test_a_narrow_terminal(terminal, columns, rows):
    text, code = terminal("run", "disc", "--until", "0.5", "--watch", "--speed", "1", columns=columns, rows=rows).end()
    assert code == 0
    shown = frames(text)
    assert len(shown) > 3
    for one in shown:
        assert [len(line) for line in plain(one)] == [columns - 1] * (rows - 1)
    if columns == 20:
        assert shown[-1][-1 if rows < 9 else -2].startswith("0.")


def test_a_terminal_that_changes_its_size(terminal):
    run = terminal("run", "pendulum", "--until", "9", "--watch", "--speed", "1").until(r"0\.[5-9]\d\d s")
    run.resize(30, 8)
    run.until(r"[1-8]\.[5-9]\d\d s")
    run.type("\x03")
    text, code = run.end()
    sizes = [(len(plain(one)[0]), len(one)) for one in frames(text)]
    assert sizes[0] == (79, 23)
    assert sizes[-1] == (29, 7)
    assert set(sizes) == {(79, 23), (29, 7)}
    assert code == 130


def test_ctrl_c_ends_the_run_and_gives_the_screen_back(terminal):
    run = terminal("run", "pendulum", "--until", "60", "--watch", "--speed", "1").until(r"1\.\d\d\d s")
    pressed = time.monotonic()
    run.type("\x03")
    text, code = run.end()
    assert time.monotonic() - pressed < 20
    assert code == 130
    after = text.split("\x1b[?1049l")[1]
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
    assert "pendulum: interrupted (stopped by the user) at t = 1." in after
    assert "ok   energy balance" in after
    assert "Traceback" not in text


def test_json_stays_one_line(terminal):
    read, write = os.pipe()
    run = terminal("run", "disc", "--until", "0.5", "--watch", "--json", stdout=write)
    os.close(write)
    text, code = run.end()
    with os.fdopen(read) as file:
        lines = file.read().splitlines()
    assert code == 0
    assert len(lines) == 1
    assert json.loads(lines[0])["status"] == "finished"
    assert len(frames(text)) > 3


def test_a_run_that_is_slow_to_compute_is_shown_as_it_is_computed(terminal, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "slow.py").write_text(SLOW)
    words = ("run", "pendulum", "--controller", "slow", "--plugins", "mine", "--watch", "--speed", "1")
    run = terminal(*words).until(r"0\.005 s")
    run.type("\x03")
    text, code = run.end()
    times = [float(plain(one)[-1].split(" ")[0]) for one in frames(text)]
    assert code == 130
    assert {0.0, 0.002, 0.003, 0.004} <= set(times)


def test_a_run_that_fails_leaves_the_screen_as_it_was(terminal):
    text, code = terminal("run", "monkeybot", "--x0", "dtheta1=1e308", "--watch").end()
    assert code == 1
    assert text.count("\x1b[?1049h") == text.count("\x1b[?1049l")
    assert "monkeybot: " in text.split("\x1b[?1049l")[-1]
    assert "Traceback" not in text
    assert "Warning" not in text


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--speed", "2"), "--speed needs --watch or --animation"),
        (("--watch", "--speed", "0"), "--speed must be positive"),
        (("--watch", "--speed", "-1"), "--speed must be positive"),
        (("--watch", "--speed", "inf"), "--speed must be positive"),
        (("--watch", "--speed", "nan"), "--speed must be positive"),
    ],
)
def test_speeds_that_cannot_be(call, words, says):
    code, out, err = call("run", "pendulum", *words)
    assert (code, out) == (2, "")
    assert says in err


# -- progress -----------------------------------------------------------------------------------------

LONG = ("run", "double_pendulum", "--until", "100000")


@pytest.mark.parametrize(("columns", "no_colour"), [(80, ""), (20, "1")])
def test_a_bar_shows_the_time_left(terminal, columns, no_colour):
    run = terminal(*LONG, columns=columns, NO_COLOR=no_colour).until("%")
    run.until(r"\d+:\d\d left" if columns == 80 else r"\d% \d")
    began, before = time.monotonic(), run.text.count("simu")
    with contextlib.suppress(AssertionError):
        run.until("never", seconds=2.0)
    assert 0 < run.text.count("simu") - before <= 11 * (time.monotonic() - began)
    run.type("\x03")
    run.until("interrupted")
    run.process.kill()
    assert bool(COLOUR.search(run.text)) == (not no_colour)
    lines = [
        re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\^C", "", line) for line in re.split(r"[\r\n]", run.text) if "simu" in line
    ]
    assert max(map(len, lines)) < columns
    if columns == 80:
        assert re.search(r"simulating ━*─+ +\d+ % \d+:\d\d(:\d\d)? left", " ".join(lines))


def test_what_is_compiled_is_told(terminal, tmp_path):
    run = terminal("run", "pendulum", SALTUS_CACHE=str(tmp_path / "cache")).until("compiling ")
    run.until(", once")
    run.type("\x03")
    text, code = run.end()
    assert "saltus: interrupted" in text
    assert text.rindex("\x1b[?25h") > text.rindex("\x1b[?25l")
    assert code in (130, -2)


def test_no_bar_on_a_dumb_terminal(terminal):
    text, code = terminal("gait", "monkeybot", "--start", "dtheta1=0.902,dtheta2=10.935", TERM="dumb").end()
    assert code == 0
    assert "\x1b" not in text
