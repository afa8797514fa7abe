"""What a user may get wrong with the hopper: one clear line before any work, on the command line and in Python."""

import json
import math

import numpy as np
import pytest

import saltus
from saltus.control import Points, Schedule
from saltus.errors import InputError

TOO_HIGH = "beyond its limit of 10 N m"

# A profile of points, of which one is too high, as a file.
HIGH = "t,knee\n0,1\n0.1,12\n0.2,0\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--controller", "schedule", "--control", "starts=[0,0.1]", "--control", "pieces=[[11],[0]]"), TOO_HIGH),
        (
            ("--controller", "schedule", "--control", "starts=[0,0.1]", "--control", "pieces=[[0,0,-2000],[0]]"),
            TOO_HIGH,
        ),
        (("--controller", "schedule", "--control", "starts=[0]", "--control", "pieces=[[0,1]]"), TOO_HIGH),
        (("--controller", "points", "--control", "times=[0,0.1]", "--control", "values=[0,-12]"), TOO_HIGH),
        (("--controller", "points", "--control", "file=high.csv"), TOO_HIGH),
        (("--controller", "points", "--control", "file=none.csv"), "cannot read none.csv"),
        (("--controller", "points", "--control", "file=elbow.csv"), "the robot's actuators (knee), got t, elbow"),
        (("--output-step", "1e-12"), "1e+12 samples"),
        (("--controller", "constant", "--control", "value=11"), TOO_HIGH),
        (("--profile", "high.csv"), "--controller points --control file=high.csv"),
        (("--profile", "papr"), "Did you mean 'paper'?"),
        (("--profile", "paper", "--set", "tau_max=0"), "3.2 N m on actuator knee is beyond its limit of 0 N m"),
        (("--profile", "paper", "--set", "tau_max=3"), "3.2 N m on actuator knee is beyond its limit of 3 N m"),
        (("--set", "tau_max=-1"), "'tau_max' must be at least 0"),
        (("--x0", "y=-0.01"), "point P is 0.01 m below the ground"),
        (("--x0", "y=0.05", "--x0", "theta1=-30deg"), "height of the knee"),
        (("--x0", "theta2=180deg"), "links fold"),
        (("--x0", "theta2=-180deg"), "links fold"),
        (("--x0", "theta2=540deg"), "links fold"),
        (("--x0", "theta1=nan"), "theta1 must be finite, got nan"),
        (("--x0", "dy=inf"), "dy must be finite, got inf"),
        (("--set", "mu=-0.1"), "'mu' must be at least 0"),
        (("--set", "m=0"), "'m' must be greater than 0 kg"),
        (("--set", "l=0"), "'l' must be greater than 0 m"),
        (("--set", "g=nan"), "'g' must be finite"),
        (("--set", "e_n=1.1"), "'e_n' must be at most 1"),
        (("--until", "0"), "--until must be greater than 0 s, got 0"),
        (("--until", "-1"), "--until must be greater than 0 s, got -1"),
        (("--until", "nan"), "until must be a finite number"),
    ],
)
def test_on_the_command_line(call, tmp_path, monkeypatch, arguments, says):
    (tmp_path / "high.csv").write_text(HIGH)
    (tmp_path / "elbow.csv").write_text(HIGH.replace("knee", "elbow"))
    monkeypatch.setattr("saltus.engine._simulate._run", None)  # nothing is begun
    code, out, err = call("run", "hopper", *arguments)
    assert code == 2
    assert out == ""
    assert err.count("\n") == 1
    assert err.startswith("saltus: ")
    assert says in err
    code, out, _ = call("run", "hopper", *arguments, "--json")
    assert code == 2
    assert says in json.loads(out)["error"]


@pytest.mark.parametrize(
    ("parameters", "state", "options", "says"),
    [
        ({}, {}, {"controller": Schedule.steps((0.0, 0.1), (1.0, -10.01))}, TOO_HIGH),
        ({}, {}, {"controller": Schedule((0.0, 1.0), ((0.0, 0.0, 41.0, -41.0), (20.0,)))}, TOO_HIGH),
        ({}, {}, {"controller": Points((0.0, 0.1), (0.0, 12.0))}, TOO_HIGH),
        ({}, {}, {"controller": Points((0.0, 0.1, 0.2), (9.9, 0.0, 9.9), "steps")}, None),
        ({}, {}, {"controller": Points((0, 0.1, 0.15, 0.2, 0.25), (9.9, 9.9, -9.9, -9.9, 9.9), "cubic")}, TOO_HIGH),
        ({"tau_max": 0.0}, {}, {"controller": saltus.robots.hopper().profiles["paper"].controller}, "limit of 0 N m"),
        ({"tau_max": 0.0}, {}, {}, None),
        ({}, {"y": -1e-6}, {}, "1e-06 m below the ground"),
        ({}, {"theta2": math.pi}, {}, "links fold"),
        ({}, {"theta2": -math.pi}, {}, "links fold"),
        ({}, {"theta1": math.nan}, {}, "theta1 must be finite, got nan"),
        ({}, [0, 0, 1, 1, 0, 0, math.nan, 0], {}, "dtheta1 must be finite, got nan"),
        ({}, {}, {"until": -1.0}, "time runs forward"),
        ({}, {}, {"energy_tolerance": 0.0}, "energy_tolerance must be a positive number"),
        ({}, {}, {"energy_tolerance": math.nan}, "energy_tolerance must be a positive number"),
        ({}, {}, {"energy_tolerance": "small"}, "energy_tolerance must be a positive number"),
    ],
)
def test_in_python(parameters, state, options, says):
    hopper = saltus.robots.hopper(**parameters)
    if says is None:
        assert saltus.simulate(hopper, state, until=0.01, **options).status.good
        return
    with pytest.raises(InputError) as refused:
        saltus.simulate(hopper, state, **({"until": 0.01} | options))
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(("name", "value"), [("mu", -0.1), ("m", 0.0), ("l", 0.0), ("l", -0.15), ("tau_max", -1.0)])
def test_parameters_no_hopper_has(name, value):
    with pytest.raises(InputError, match=rf"'{name}' must be"):
        saltus.robots.hopper(**{name: value})
    batch = saltus.simulate_many(saltus.robots.hopper(), parameters={name: np.array([0.2, value])}, until=0.01)
    assert list(batch.reasons) == [1]
    assert f"'{name}' must be" in batch.reasons[1]


def test_many_say_which_run_is_wrong():
    controllers = [Schedule.steps((0.0,), (tau,)) for tau in (1.0, 11.0)]
    reasons = saltus.simulate_many(saltus.robots.hopper(), controllers=controllers, until=0.01).reasons
    assert list(reasons) == [1]
    assert "beyond its limit of 10 N m" in reasons[1]
    reasons = saltus.simulate_many(saltus.robots.hopper(), [{"y": 0.0}, {"y": -0.1}], until=0.01).reasons
    assert list(reasons) == [1]
    assert "below the ground" in reasons[1]


@pytest.mark.parametrize(("torque", "cut"), [(9.9, False), (25.0, True), (-25.0, True)])
def test_a_function_is_cut_at_the_limit_and_that_is_told(torque, cut):
    hopper = saltus.robots.hopper()
    run = saltus.simulate(hopper, controller=lambda t, state, mode, memory: torque, until=0.01)
    assert run.saturated == cut
    inputs = run.step_rows[:, saltus.engine._layout.S_VECTORS]
    assert np.abs(inputs).max() == pytest.approx(min(abs(torque), 10.0))
    assert run.to_dict()["saturated"] == cut
