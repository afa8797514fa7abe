"""Torque profiles through points: against SciPy's interpolation, from files, and what is refused."""

import json

import numpy as np
import pytest
from scipy.interpolate import CubicSpline

import saltus
from saltus.cli import main
from saltus.control import Points, Schedule
from saltus.errors import InputError
from saltus.mechanism import Prismatic

TIMES, VALUES = (0.05, 0.1, 0.18, 0.3, 0.34), (0.2, 1.5, -0.7, 0.4, 0.0)


def inputs(controller, times):
    robot = saltus.robots.hopper().with_guards(height_Q="ignore", height_R="ignore")
    run = saltus.simulate(robot, controller=controller, until=0.4)
    return run.everything_at(np.asarray(times)).inputs


@pytest.mark.parametrize("kind", ["steps", "linear", "cubic"])
def test_profiles_are_those_of_scipy(kind):
    at = np.linspace(0.051, 0.339, 77)
    expected = {
        "steps": np.array(VALUES)[np.searchsorted(TIMES, at, side="right") - 1],
        "linear": np.interp(at, TIMES, VALUES),
        "cubic": CubicSpline(TIMES, VALUES)(at),
    }[kind]
    assert inputs(Points(TIMES, VALUES, kind), at)[:, 0] == pytest.approx(expected, abs=1e-12)
    assert inputs(Points(TIMES, VALUES, kind), [0.0, 0.04, 0.35])[:, 0].tolist() == [0.0, 0.0, 0.0]


def test_a_table_is_read_from_a_file(tmp_path, capsys):
    path = tmp_path / "push.csv"
    path.write_text("t, knee\n" + "\n".join(f"{t}, {v}" for t, v in zip(TIMES, VALUES, strict=True)) + "\n\n")
    run = saltus.simulate(saltus.robots.hopper(), controller=Points(file=str(path), kind="cubic"), until=0.3)
    same = saltus.simulate(saltus.robots.hopper(), controller=Points(TIMES, VALUES, "cubic"), until=0.3)
    assert run.final == same.final
    words = ("--controller", "points", "--control", f"file={path}", "--control", "kind=cubic", "--until", "0.3")
    with pytest.raises(SystemExit) as leaving:
        main(["run", "hopper", *words, "--json"])
    assert leaving.value.code == 0
    assert json.loads(capsys.readouterr().out)["final"] == same.final


@pytest.mark.parametrize("header", ["t,knee", "time, knee", "# t,knee", "\ufeffT,knee", "\n\nt,knee", '"t","knee"'])
def test_names_over_the_columns(header, tmp_path):
    path = tmp_path / "push.csv"
    path.write_text(header + "\n0,1.5\n0.1,-0.5\n", encoding="utf-8")
    run = saltus.simulate(saltus.robots.hopper(), controller=Points(file=str(path)), until=0.05)
    same = saltus.simulate(saltus.robots.hopper(), controller=Points((0.0, 0.1), (1.5, -0.5)), until=0.05)
    assert run.final == same.final


def test_columns_are_found_by_their_names(tmp_path):
    path = tmp_path / "both.csv"
    rows = "\n0,1,2\n0.1,3,4\n"
    found = {}
    for header in ("t,one,two", "t,two,one"):
        path.write_text(header + rows)
        found[header] = saltus.simulate(two_motors(), controller=Points(file=str(path)), until=0.05).final
    path.write_text(rows)
    unnamed = saltus.simulate(two_motors(), controller=Points(file=str(path)), until=0.05).final
    swapped = Points((0.0, 0.1), ((2.0, 1.0), (4.0, 3.0)))
    assert found["t,one,two"] == unnamed
    assert found["t,two,one"] == saltus.simulate(two_motors(), controller=swapped, until=0.05).final != unnamed


def two_motors():
    m = saltus.Mechanism("two_motors")
    for name in ("one", "two"):
        m.body(name, Prismatic(name + "_x"), mass=1.0)
        m.actuator(name, name + "_x", limit=100.0)
    return saltus.HybridSystem(m)


@pytest.mark.parametrize(
    "header", ["t,elbow", "knee,t", "t,knee,knee", "t", "knee", "t,Knee", "0,1e", "t,knee,", "t (s),knee"]
)
def test_wrong_names_over_the_columns_are_refused(header, tmp_path):
    path = tmp_path / "push.csv"
    path.write_text(header + "\n0" + ",1" * header.count(",") + "\n0.1" + ",1" * header.count(",") + "\n")
    with pytest.raises(InputError, match=r"must be t and then|in every line") as refusal:
        saltus.simulate(saltus.robots.hopper(), controller=Points(file=str(path)), until=0.05)
    assert "\n" not in str(refusal.value)
    if header in ("t,elbow", "knee,t"):
        assert "(knee), got " + header.replace(",", ", ") in str(refusal.value)


def test_steps_are_those_of_a_schedule():
    steps = saltus.simulate(saltus.robots.hopper(), controller=Points(TIMES, VALUES, "steps"), until=0.3)
    schedule = Schedule.steps(TIMES, (*VALUES[:-1], 0.0))
    assert steps.final == saltus.simulate(saltus.robots.hopper(), controller=schedule, until=0.3).final


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda _: Points((0.0, 0.1), (0.0, 11.0)), "beyond its limit of 10 N m"),
        (lambda _: Points((0.0, 0.1, 0.2, 0.3), (9.9, 9.9, -9.9, 9.9), "cubic"), "beyond its limit"),
        (lambda _: Points((0.0, 0.0), (1.0, 1.0)), "increase"),
        (lambda _: Points((0.0,), (1.0,)), "at least two"),
        (lambda _: Points((0.0, 1.0), (1.0,)), "as many"),
        (lambda _: Points((0.0, 1.0), (1.0, np.nan)), "finite"),
        (lambda _: Points((0.0, 1.0), ("a", 1.0)), "numbers"),
        (lambda _: Points((0.0, 1.0), (1.0, 1.0), "quintic"), "cubic"),
        (lambda _: Points(file="nowhere.csv"), "cannot read"),
        (lambda _: Points((0.0, 1.0), (1.0, 1.0), file="nowhere.csv"), "not both"),
        (lambda folder: Points(file=str(folder / "words.csv")), "line 3"),
        (lambda folder: Points(file=str(folder / "ragged.csv")), "in every line"),
    ],
)
def test_what_cannot_be_is_refused(make, says, tmp_path):
    (tmp_path / "words.csv").write_text("t,knee\n0,1\n0.1,one\n")
    (tmp_path / "ragged.csv").write_text("0,1\n0.1\n")
    with pytest.raises(InputError, match=says):
        saltus.simulate(saltus.robots.hopper(), controller=make(tmp_path), until=0.1)


def test_no_start_is_folded():
    hopper = saltus.robots.hopper()
    for angle in (np.pi, -np.pi, 3 * np.pi):
        with pytest.raises(InputError, match="links fold"):
            saltus.simulate(hopper, {"theta2": angle}, until=0.1)
        reasons = saltus.simulate_many(hopper, {"theta2": [0.1, angle]}, until=0.1).reasons
        assert list(reasons) == [1]
        assert "links fold" in reasons[1]
    turned = np.radians(-160.0)
    same = [
        saltus.simulate(hopper, {"theta1": 2.5, "theta2": a}, until=0.05).final["x"]
        for a in (turned, turned + 2 * np.pi)
    ]
    assert same[0] == pytest.approx(same[1], abs=1e-12)


def test_folding_is_an_event_that_is_crossed():
    hopper = saltus.robots.hopper().with_guards(folded="record", height_Q="ignore", height_R="ignore")
    run = saltus.simulate(hopper, {"y": 5.0, "theta2": 3.0, "dtheta2": 10.0}, until=0.1)
    assert [event.guard for event in run.events] == ["folded"]
    assert run.events[0].state_before["theta2"] == pytest.approx(np.pi, abs=1e-12)
