"""The command line as people and programs use it."""

import json

import pytest


def test_list(call, call_json):
    code, content = call_json("list")
    assert code == 0
    assert {"hopper", "pendulum", "bouncing_ball", "block"} <= set(content["robots"])
    assert {"passive", "constant", "schedule", "pd"} <= set(content["controllers"])
    assert {"plastic", "newton", "chatterjee"} == set(content["laws"])
    code, out, _ = call("list")
    assert code == 0
    assert "hopper" in out


def test_list_one_robot(call_json):
    code, content = call_json("list", "hopper")
    assert code == 0
    assert content["parameters"]["mu"] == {
        "value": 0.3,
        "unit": "1",
        "about": "friction of the ground",
        "source": "oh_huang",
    }
    assert content["coordinates"]["theta1"] == "rad"


def test_run(call_json):
    code, content = call_json("run", "bouncing_ball", "--set", "restitution=0.5", "--x0", "y=2", "--until", "1")
    assert code == 0
    assert content["status"] == "finished"
    assert content["t_end"] == 1.0
    assert set(content["final"]) == {"x", "y", "dx", "dy"}
    event = content["events"][0]
    assert {"t", "guard", "from", "to", "before", "after", "impulse", "energy_lost"} <= set(event)
    assert event["after"]["dy"] == pytest.approx(-0.5 * event["before"]["dy"])
    assert content["audit"]["ok"]


def test_run_for_people(call):
    code, out, _ = call("run", "hopper", "--profile", "paper")
    assert code == 0
    assert "stick -> slip-" in out
    assert "jump_distance 0.1254184" in out


def test_controllers_with_options(call_json):
    code, content = call_json(
        "run", "pendulum", "--controller", "pd", "--control", "kp=100", "--control", "kd=20",
        "--control", "target=10deg", "--set", "g=0", "--set", "torque_limit=1e9", "--until", "20",
    )  # fmt: skip
    assert code == 0
    assert content["final"]["theta"] == pytest.approx(0.1745329, abs=1e-5)


def test_schedule_from_the_command_line(call_json):
    code, content = call_json(
        "run", "hopper", "--controller", "schedule", "--control", "starts=[0,0.02]",
        "--control", "pieces=[[1.0],[0.5]]", "--until", "0.03",
    )  # fmt: skip
    assert code == 0
    assert content["status"] == "finished"


@pytest.mark.parametrize("ending", ["nc", "mat", "csv"])
def test_out(call_json, tmp_path, ending):
    path = tmp_path / f"run.{ending}"
    code, content = call_json("run", "block", "--profile", "sine", "--until", "1", "--out", str(path))
    assert code == 0
    assert content["out"] == str(path)
    assert path.stat().st_size > 1000


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("run", "hoper"), "hopper"),
        (("run", "hopper", "--set", "muu=1"), "mu"),
        (("run", "hopper", "--set", "mu"), "name=value"),
        (("run", "hopper", "--set", "mu=abc"), "number"),
        (("run", "hopper", "--set", "mu=nan"), "finite"),
        (("run", "hopper", "--x0", "tetha1=1"), "theta1"),
        (("run", "hopper", "--x0", "y=-1"), "below the ground"),
        (("run", "hopper", "--until", "-1"), "forward"),
        (("run", "hopper", "--controller", "pdd"), "pd"),
        (("run", "hopper", "--controller", "pd", "--control", "kq=1"), "kp"),
        (("run", "hopper", "--control", "kp=1"), "--controller"),
        (("run", "hopper", "--controller", "schedule"), "starts"),
        (("run", "hopper", "--profile", "papper"), "paper"),
        (("run", "hopper", "--profile", "paper", "--controller", "pd"), "not both"),
        (("run", "hopper", "--law", "elastic"), "plastic"),
        (("run", "hopper", "--guard", "height_Q=maybe"), "terminal"),
        (("run", "hopper", "--out", "run.xls"), "nc"),
        (("run", "hopper", "--out", "no/such/folder/run.nc"), "no folder"),
        (("run", "hopper", "--rtol", "0"), "rtol"),
        (("run", "hopper", "--output-step", "1e-12"), "1e+12 samples until 1 s"),
        (("run", "hopper", "--output-step", "1e-7", "--until", "3"), "at least 1.5e-07 s"),
        (("run", "hopper", "--output-step", "0"), "positive"),
        (("run", "hopper", "--nonsense"), "nonsense"),
        (("run",), "robot"),
        (("walk",), "walk"),
    ],
)
def test_errors_are_one_object_and_one_line(call, arguments, says):
    code, out, err = call(*arguments, "--json")
    assert code == 2
    content = json.loads(out)
    assert content["status"] == "error"
    assert says in content["error"]
    assert err.startswith("saltus: ")


def test_failed_run_still_reports(call_json):
    code, content = call_json(
        "run", "hopper", "--set", "mu=3", "--x0", "theta1=60deg", "--x0", "theta2=0", "--x0", "dx=-1"
    )
    assert code == 1
    assert content["status"] == "no_consistent_mode"
    assert content["final"]["dx"] == -1.0
    assert "Painleve" in content["error"]


def test_version_and_help(call):
    assert call("--version")[1].startswith("0.")
    assert "run" in call()[1]
    assert "--profile" in call("run", "--help")[1]
