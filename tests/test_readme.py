"""Every Python block of the README runs, each by itself."""

import contextlib
import io
import re
from pathlib import Path

import pytest

from saltus import robots, simulate
from saltus.control import Timed

README = Path(__file__).parent.parent / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)


def perform(block, folder, monkeypatch):
    """What a block leaves behind, and what it prints."""
    monkeypatch.chdir(folder)
    names, printed = {"__name__": "__main__"}, io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(block, "README.md", "exec"), names)
    return names, printed.getvalue()


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_block_runs(number, tmp_path, monkeypatch):
    assert perform(BLOCKS[number], tmp_path, monkeypatch)


def test_hands_are_changed_by_a_function_of_the_reader(tmp_path, monkeypatch):
    (block,) = (block for block in BLOCKS if "def swing" in block)
    names, printed = perform(block, tmp_path, monkeypatch)
    run = names["run"]
    swaps = [event for event in run.events if event.guard == "command"]
    assert [event.mode_after for event in swaps] == ["B:closed", "A:closed", "B:closed", "A:closed", "B:closed"]
    assert [event.t for event in swaps] == [k * 1e-3 for k in range(428, 4000, 861)]
    places = [run.mesh.positions[run.mesh.t.searchsorted(event.t), :4] for event in swaps]
    assert all(abs(place[0] - place[2]) == pytest.approx(0.507, abs=0.01) for place in places)
    assert all(place[1] == pytest.approx(place[3], abs=1e-2) for place in places)
    controller = Timed(swap_t=0.428, cycle_t=0.861, motor_t=0.025, torque=0.66)
    same = simulate(robots.monkeybot(), controller=controller, until=4.0)
    assert run.final == pytest.approx(same.final, abs=1e-6)
    assert printed.endswith("True\n")
