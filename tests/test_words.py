"""Words that are given twice, things that are looked up by name, and Ctrl-C, on the command line."""

import json
import signal
import subprocess
import sys
import time

import pytest


@pytest.mark.parametrize(
    ("arguments", "twice"),
    [
        (("gait", "monkeybot", "--start", "dtheta1=1,dtheta1=2"), "dtheta1"),
        (("gait", "monkeybot", "--start", "dtheta1=1", "--start", "dtheta1=1"), "dtheta1"),
        (("gait", "monkeybot", "--set", "motor_torque=1", "--set", "motor_torque=2"), "motor_torque"),
        (("run", "monkeybot", "--controller", "timed", "--control", "swap_t=1", "--control", "swap_t=2"), "swap_t"),
        (("run", "hopper", "--set", "mu=1", "--set", "mu=2"), "mu"),
        (("run", "hopper", "--x0", "y=1", "--x0", "y=2"), "y"),
        (("run", "hopper", "--guard", "folded=record", "--guard", "folded=ignore"), "folded"),
    ],
)
def test_nothing_is_given_twice(call, arguments, twice):
    code, _, err = call(*arguments)
    assert code == 2
    assert f"{twice} is given twice" in err


# -- one thing by name --------------------------------------------------------------------------------


def test_a_gait_is_told(call):
    code, out, _ = call("list", "swing", "--json")
    content = json.loads(out)
    assert code == 0
    assert content["kind"] == "gait"
    assert content["robot"] == "monkeybot"
    assert content["knobs"]["motor_torque"]["value"] == 0.66
    assert content["knobs"]["motor_torque"]["unit"] == "N m"
    assert content["start"]["dtheta1"] == {"value": 0.902, "unit": "rad/s", "about": ""}
    out = call("list", "gaits/swing")[1]
    assert "0.66 N m  until the energy is back" in out


def test_a_controller_is_told(call):
    code, out, _ = call("list", "timed", "--json")
    options = json.loads(out)["options"]
    assert code == 0
    assert options["swap_t"]["needed"]
    assert options["cycles"]["value"] == 1000
    assert "N m" in options["torque"]["about"]
    out = call("list", "timed")[1]
    assert "(needed)  How long a cycle is, s." in out
    assert "period           none" in call("list", "pd")[1]


@pytest.mark.parametrize("name", ["constant", "newton", "dopri5", "ufford2009", "passive", "hopper", "laws/plastic"])
def test_everything_can_be_told(call, name):
    code, out, _ = call("list", name)
    assert code == 0
    assert "about            " in out
    content = json.loads(call("list", name, "--json")[1])
    assert content["name"] == name.rpartition("/")[2]
    assert content["about"]


def test_laws_and_papers_say_what_they_take(call):
    assert "restitution      0.5 1  from 0 to 1" in call("list", "newton")[1]
    assert "detail           200" in call("list", "ufford2009")[1]


def test_a_name_of_two_kinds_needs_its_kind(call, tmp_path):
    (tmp_path / "swing.py").write_text('"""Leave it."""\nfrom saltus.control import Passive\n\nCONTROLLER = Passive\n')
    code, _, err = call("list", "swing", "--plugins", tmp_path)
    assert code == 2
    assert "controllers/swing or gaits/swing" in err
    assert "Leave it." in call("list", "controllers/swing", "--plugins", tmp_path)[1]
    assert "unknown name" in call("list", "swin")[2]


# -- gaits of the user's own --------------------------------------------------------------------------

GAIT = '''"""A swing."""
from dataclasses import replace
from saltus.gaits.types.swing import make as swing

ROBOT = "monkeybot"


def GAIT(robot):
    return replace(swing(robot), name="mine", {change})
'''


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('"""A swing."""\nROBOT = "monkeybot"\nGAIT = 3\n', "must be a function that makes a gait, got 3"),
        (GAIT.format(change='section={"thetaX": 0.0}'), "unknown coordinate or velocity in the section of gait mine"),
        (GAIT.format(change='start={"dthetaX": 0.0}'), "unknown coordinate or velocity in the start of gait mine"),
        (GAIT.format(change='section={"x": 0.0}'), "unknown coordinate or velocity in the section of gait mine"),
        (GAIT.format(change='unknowns=("thetaX",)'), "in the unknowns of gait mine: 'thetaX'. Did you mean 'theta"),
        ('"""A swing."""\nROBOT = "monkeybot"\nGAIT = lambda robot: {}["x"]\n', "cannot be made: KeyError: 'x'"),
    ],
)
def test_gaits_that_cannot_be(call, tmp_path, text, says):
    path = tmp_path / "plugins" / "mine.py"
    path.parent.mkdir()
    path.write_text(text)
    code, _, err = call("gait", "monkeybot", "--type", "mine", "--plugins", path.parent)
    assert code == 2
    assert says in err
    assert err.count("\n") == 1
    code, out, _ = call("check", path)
    assert code == 1
    assert says in out
    assert "FAIL makes a gait for its robot: KeyError" not in out


# -- numbers that are too large -----------------------------------------------------------------------


def test_a_start_beyond_all_numbers_is_told_without_warnings(call):
    code, out, err = call("run", "monkeybot", "--x0", "dtheta1=1e308", "--json")
    assert code == 1
    assert json.loads(out)["status"] != "finished"
    assert "Warning" not in err


def test_too_many_cycles_are_refused(call):
    words = ("run", "monkeybot", "--controller", "timed", "--control", "swap_t=0.4", "--control", "cycle_t=0.8")
    code, _, err = call(*words, "--control", "cycles=100000000")
    assert code == 2
    assert "at most 10000000 pieces" in err


# -- Ctrl-C -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "after"),
    [
        ("map monkeybot --x dtheta1=0:4:2000 --y dtheta2=6:14:2000", 6.0),
        ("search monkeybot --radius 0.001 --json", 6.0),
        ("family monkeybot --knob motor_torque=2:18 --guess dtheta1=0.75,dtheta2=11.08 --set motor_torque=3", 3.5),
        ("reproduce ufford2009 --detail 400", 3.5),
        ("reproduce ufford2009 --detail 400", 6.0),
    ],
)
def test_an_interruption_ends_all(tmp_path, words, after):
    command = [sys.executable, "-m", "saltus", *words.split()]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path)
    try:
        time.sleep(after)
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert err == "saltus: interrupted\n"
    # Python ends itself by the signal where it came within an exec; shells call both 130
    assert process.returncode in (130, -signal.SIGINT)
    assert out == ('{"status": "error", "error": "interrupted"}\n' if "--json" in words else "")
