"""`saltus linearize`: what it prints for people and for programs, and what it refuses."""

import math

import numpy as np
import pytest

KEYS = {
    "robot", "mode", "at", "inputs", "states", "A", "B", "eigenvalues", "controllable", "rank",
    "smallest_singular_value", "weak_mode", "K", "closed_loop_eigenvalues", "residual",
}  # fmt: skip


def test_for_programs(call_json):
    code, said = call_json("linearize", "hopper", "--at", "theta2=-90deg")
    assert code == 0
    assert set(said) >= KEYS
    assert said["at"]["theta2"] == pytest.approx(-math.pi / 2)
    assert said["mode"] == "stick"
    assert said["controllable"] is True
    A, B, K = (np.array(said[name]) for name in ("A", "B", "K"))
    values = np.linalg.eigvals(A - B @ K)
    np.testing.assert_allclose(
        sorted(pair[0] for pair in said["closed_loop_eigenvalues"]), np.sort(values.real), rtol=1e-6
    )
    assert said["residual"] < 1e-9


def test_for_people(call):
    code, out, _ = call("linearize", "disc", "--set", "slope=0")
    assert code == 0
    for words in ("an equilibrium in mode roll", "x = -0.2 angle", "controllable: yes, rank 2 of 2", "gains K"):
        assert words in out


def test_weights_period_and_kept_coordinates(call_json):
    code, said = call_json("linearize", "disc", "--keep", "x", "--q", "x=4", "--r", "2", "--period", "0.01")
    assert code == 0
    assert said["states"] == ["x", "dx"]
    assert said["Q"] == [4, 1]
    assert said["R"] == [0.02]
    assert all(math.hypot(*pair) < 1 for pair in said["closed_loop_eigenvalues"])


def test_about_a_state_that_is_no_equilibrium(call_json):
    code, said = call_json("linearize", "pendulum", "--here", "--x0", "theta=1", "--input", "pivot=2")
    assert code == 0
    assert said["equilibrium"] is False
    assert said["residual"] == pytest.approx(9.81 * math.sin(1) - 2)
    assert said["inputs"] == {"pivot": 2}


def test_a_run_takes_the_controller_by_its_words(call_json):
    code, said = call_json(
        "run", "disc", "--set", "slope=0", "--x0", "y=0.2", "--until", "5", "--controller", "lqr",
        "--control", "mode=roll", "--control", "keep=x", "--control", 'reference={"x": 0.5}', "--control", "effort=100",
    )  # fmt: skip
    assert code == 0
    assert said["final"]["x"] == pytest.approx(0.5, abs=0.05)


def test_without_gains_it_says_why(call_json, call):
    code, said = call_json("linearize", "rod")
    assert code == 0
    assert said["K"] is None
    assert "no actuators" in said["no_gains"]
    assert said["weak_mode"]["eigenvalue"][0] == pytest.approx(math.sqrt(1.5 * 9.81))
    code, _, err = call("linearize", "rod", "--q", "theta=1")
    assert code == 2
    assert "no actuators" in err


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ("linearize hoper", "Did you mean 'hopper'"),
        ("linearize hopper --at theta=1", "unknown coordinate"),
        ("linearize hopper --mode fly", "unknown status"),
        ("linearize hopper --guard fal=ignore", "unknown guard"),
        ("linearize hopper --keep x", "independent coordinates"),
        ("linearize hopper --q x=1", "unknown state"),
        ("linearize hopper --r 0", "must be positive"),
        ("linearize hopper --period -1", "positive time"),
        ("linearize bouncing_ball", "ball has no friction, and slips at the least push"),
        ("linearize segway --at theta=0 --set mu=0", "axle has no friction"),
        ("linearize segway --at theta=0 --set mu=0 --mode roll", "axle has no friction"),
        ("linearize segway --here --x0 theta=0 --set mu=0", "axle has no friction"),
        ("linearize claptrap --at pitch=0 --set mu=0", "wheel has no friction"),
        ("linearize segway --at theta=0 --keep psi,theta --q psi=0", "needs a weight"),
        ("linearize segway --at theta=0 --keep psi,theta --q psi=0 --period 0.01", "needs a weight"),
        ("linearize segway --at theta=0 --set torque_limit=0 --q theta=1", "no inputs can stabilise"),
        ("linearize pendulum --at theta=180deg --period 1e9", "too long for pendulum"),
        ("linearize pendulum --at theta=90deg --period 1e9", "too long for pendulum"),
    ],
)
def test_what_is_wrong_is_said(words, complaint, call):
    code, out, err = call(*words.split())
    assert code == 2
    assert complaint in err
    assert not out


def test_an_equilibrium_beyond_the_motor_is_none(call, call_json):
    words = ["linearize", "pendulum", "--at", "theta=90deg", "--set", "torque_limit=0.1"]
    code, said = call_json(*words)
    assert code == 0
    assert said["equilibrium"] is False
    assert said["beyond_limits"] == {"pivot": {"needed": pytest.approx(9.81), "limit": 0.1}}
    assert "equilibrium: no, needs 9.81 of pivot, whose limit is 0.1" in call(*words)[1]
    assert call_json("linearize", "pendulum", "--at", "theta=90deg")[1]["equilibrium"] is True


def test_what_may_not_push_controls_nothing(call_json):
    _, said = call_json("linearize", "segway", "--at", "theta=0", "--set", "torque_limit=0")
    assert (said["controllable"], said["rank"], said["K"]) == (False, 0, None)
    assert "no inputs can stabilise" in said["no_gains"]


def test_guards_are_told_as_in_a_run(call, call_json):
    """A body that hangs below the floor may, where nobody minds."""
    words = ["linearize", "segway", "--at", "theta=180deg", "--mode", "roll"]
    assert call(*words)[0] == 2
    code, said = call_json(*words, "--guard", "fall=ignore")
    assert code == 0
    assert said["at"]["theta"] == pytest.approx(math.pi)
