"""Oh and Huang's hopper: the published jump as stated (corrected), through Python and the command line."""

import json
import math

import pytest

import saltus
from saltus.cli import main
from saltus.errors import InputError

# Corrected figures: the published d = 0.1336 m is not reproducible (gravity 9.8 in part of their
# program, and an impact inertia twice too large). Event-accurate, DOP853 at rtol 1e-12.
DISTANCE = 0.12541841615730043
EVENTS = [
    (0.04570344153295111, "stick", "slip-"),
    (0.06, "slip-", "flight"),
    (0.3540778112767692, "flight", "slip+"),
    (0.4083805219434778, "slip+", "end"),
]
BEFORE_IMPACT = {
    "x": 0.36990401798220696,
    "theta1": 2.713351050613457,
    "theta2": -0.9673236362198991,
    "dx": 1.1078518310959178,
    "dy": -0.9592789367526762,
    "dtheta1": 3.516425112944318,
    "dtheta2": 0.6416279987874042,
}
AFTER_IMPACT = {"dx": 1.3075409434949834, "dy": 0.0, "dtheta1": 7.419799146573722, "dtheta2": -4.765185190318628}


@pytest.fixture(scope="module", params=["dopri5", "dop853"])
def jump(request):
    hopper = saltus.robots.hopper()
    return saltus.simulate(hopper, controller=hopper.profiles["paper"].controller, method=request.param)


def test_events_and_modes(jump):
    assert [(e.mode_before, e.mode_after) for e in jump.events] == [(a, b) for _, a, b in EVENTS]
    for event, (t, _, _) in zip(jump.events, EVENTS, strict=True):
        assert event.t == pytest.approx(t, abs=1e-10)


def test_distance(jump):
    assert jump.figures["jump_distance"] == pytest.approx(DISTANCE, abs=1e-9)


def test_forces(jump):
    first = jump.dataset.isel(t=0)
    assert float(first.force.sel(row="P.t")) == pytest.approx(0.7142825015991597, rel=1e-9)
    assert float(first.force.sel(row="P.n")) == pytest.approx(7.884463248314713, rel=1e-9)
    slip = jump.events[0]
    assert slip.forces_before["P.t"] == pytest.approx(6.442751159709536, rel=1e-9)
    assert slip.forces_after["P.n"] == pytest.approx(21.475837199031783, rel=1e-9)


def test_impact(jump):
    impact = jump.events[2]
    for name, value in BEFORE_IMPACT.items():
        assert impact.state_before[name] == pytest.approx(value, abs=1e-9)
    for name, value in AFTER_IMPACT.items():
        assert impact.state_after[name] == pytest.approx(value, abs=1e-9)
    assert impact.impulse["P.t"] == pytest.approx(-0.03239759252152896, abs=1e-10)
    assert impact.impulse["P.n"] == pytest.approx(0.1079919750717632, abs=1e-10)
    assert impact.kappa == pytest.approx(0.06269554584479434, abs=1e-10)


def test_audit(jump):
    audit = jump.check()
    assert audit.ok
    assert audit["energy balance"].value < 1e-10


def test_friction_work_is_what_the_slip_takes(jump):
    # independent of the integrals: trapezoidal work of the friction force over fine samples
    hopper = saltus.robots.hopper()
    run = saltus.simulate(hopper, controller=hopper.profiles["paper"].controller, output_step=2e-6)
    data = run.dataset
    power = data.force.sel(row="P.t") * data.v.sel(velocity="dx")
    assert float(-power.integrate("t")) == pytest.approx(float(data.friction_loss[-1]), rel=1e-6)


def test_command_line(capsys):
    with pytest.raises(SystemExit) as leaving:
        main(["run", "hopper", "--profile", "paper", "--json"])
    assert leaving.value.code == 0
    content = json.loads(capsys.readouterr().out)
    assert content["status"] == "terminal"
    assert content["jump_distance"] == pytest.approx(DISTANCE, abs=1e-9)
    assert [(e["from"], e["to"]) for e in content["events"]] == [(a, b) for _, a, b in EVENTS]
    assert [e["t"] for e in content["events"]] == [pytest.approx(t, abs=1e-10) for t, _, _ in EVENTS]
    assert content["events"][2]["impulse"]["P.n"] == pytest.approx(0.1079919750717632, abs=1e-10)
    assert content["audit"]["checks"]["energy balance"]["value"] < 1e-10


def test_starting_angles_in_degrees(capsys):
    with pytest.raises(SystemExit):
        main(["run", "hopper", "--profile", "paper", "--x0", "theta1=109deg", "--x0", "theta2=-108deg", "--json"])
    assert json.loads(capsys.readouterr().out)["jump_distance"] == pytest.approx(DISTANCE, abs=1e-9)


def test_knee_behind_the_foot_counts():
    # landing on the knee behind the foot: the jump ends there
    hopper = saltus.robots.hopper()
    run = saltus.simulate(hopper, controller=hopper.profiles["paper"].controller)
    last = run.events[-1].state_before
    knee = last["x"] + 0.3 * math.cos(last["theta1"])
    assert knee < last["x"]
    assert run.figures["x_end"] == pytest.approx(knee, abs=1e-12)


def jumped(start=None, until=None, **actions):
    hopper = saltus.robots.hopper().with_guards(**actions)
    return saltus.simulate(hopper, start, controller=hopper.profiles["paper"].controller, until=until)


def test_a_strike_that_is_only_recorded_ends_the_jump():
    run = jumped(height_Q="record")
    assert run.end_time > EVENTS[-1][0] + 0.05
    assert run.figures["jump_distance"] == pytest.approx(DISTANCE, abs=1e-9)
    assert run.figures["jump_over"] == 1.0


def test_a_jump_that_is_not_over_says_so():
    run = jumped(until=0.36)
    assert run.figures["jump_over"] == 0.0
    assert run.figures["jump_distance"] > 0.3  # of the foot, that the knee has not yet fallen behind


@pytest.mark.parametrize(("start", "expected"), [({"dy": 1e-3}, 0.1256), ({"dy": -0.1}, 0.1063), ({"y": 0.01}, 0.1378)])
def test_a_foot_in_the_air_comes_to_its_first_contact_first(start, expected):
    run = jumped(start)
    lifts = [event for event in run.events if event.mode_before != "flight" and event.mode_after == "flight"]
    lands = next(event for event in run.events if event.t > lifts[0].t and event.guard == "P.touch")
    first = [event.state_before["x"] for event in run.events if event.t <= lifts[0].t and event.mode_after != "end"]
    last = run.events[-1].state_before
    assert run.figures["x_start"] == pytest.approx(max(first), abs=1e-12)
    knee = last["x"] + 0.3 * math.cos(last["theta1"])
    assert run.figures["x_end"] == pytest.approx(min(knee, lands.state_before["x"]), abs=1e-12)
    assert run.figures["jump_distance"] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("guard", "place"), [("P.cone+", 0), ("P.lift", 1), ("P.touch", 2)])
def test_guards_of_the_contact_end_a_run_if_told(guard, place):
    run = jumped(**{guard: "terminal"})
    assert run.status.name == "terminal"
    assert run.end_time == pytest.approx(EVENTS[place][0], abs=1e-10)
    last = run.events[-1]
    assert (last.guard, last.guards, last.mode_after) == (guard, (guard,), "end")
    assert last.mode_before == EVENTS[place][1]
    assert run.check().ok
    again = saltus.simulate(
        run.system.with_guards(**{guard: "record"}), controller=run.system.profiles["paper"].controller
    )
    assert len(again.events) == len(EVENTS)
    with pytest.raises(InputError, match="cannot be ignored"):
        run.system.with_guards(**{guard: "ignore"})
    with pytest.raises(InputError, match="guard action"):
        run.system.with_guards(**{guard: "stop"})
