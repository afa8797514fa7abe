"""What a page is given of a run is the run: its points, forces, curves, modes and events."""

import base64
import json
import math

import casadi as ca
import numpy as np
import pytest

import saltus
from saltus import show
from saltus.errors import InputError, RunFailed
from saltus.gaits import find_gait, run_cycle
from saltus.robots import find_robot, robot_names
from saltus.show._cycle_record import cycle_record
from saltus.show._record import MOST_EVENTS, MOST_FRAMES, packed, plain_label, run_record


def read(array):
    ((kind, text),) = array.items()
    return np.frombuffer(base64.b64decode(text), {"f32": "<f4", "f64": "<f8", "u8": "u1"}[kind])


def run_of(name):
    robot = find_robot(name)
    profile = next(iter(robot.profiles.values()), None)
    return saltus.simulate(robot, controller=profile.controller if profile else None)


@pytest.fixture(scope="module")
def jump():
    return run_of("hopper")


def at(record, t):
    """Positions at a time as the page reads them: cubic between frames, after an event where there is one."""
    times = read(record["t"])
    shape = (len(times), len(record["points"]["names"]), record["dimension"])
    p, v = (read(record["points"][key]).reshape(shape).astype(float) for key in ("positions", "velocities"))
    k = int(np.clip(np.searchsorted(times, t, side="right") - 1, 0, len(times) - 1))
    if k == len(times) - 1:
        return p[k]
    h = times[k + 1] - times[k]
    s = (t - times[k]) / h
    return (
        (1 + 2 * s) * (1 - s) ** 2 * p[k] + s * (1 - s) ** 2 * h * v[k]
        + s**2 * (3 - 2 * s) * p[k + 1] + s**2 * (s - 1) * h * v[k + 1]
    )  # fmt: skip


@pytest.mark.parametrize("name", robot_names())
def test_points_are_those_of_the_mechanism_at_any_time(name):
    run = run_of(name)
    record = run_record(run)
    m = run.system.mechanism
    # where wheels in space touch is a point of the page alone
    known = [k for k, name in enumerate(record["points"]["names"]) if name in m.points]
    assert known
    every = ca.vertcat(*(m.points[record["points"]["names"][k]].position for k in known))
    places = ca.Function("places", [m.q, m.p], [every])
    for t in np.random.default_rng(1).uniform(run.start_time, run.end_time, 20):
        x = run.at(t)
        expected = np.array(places(x[: m.nq], run.system.parameter_values)).reshape(len(known), -1)
        assert at(record, t)[known] == pytest.approx(expected, abs=2e-6)


@pytest.mark.parametrize("name", robot_names())
def test_a_record_is_plain_and_whole(name):
    record = run_record(run_of(name), "one")
    again = json.loads(json.dumps(record, allow_nan=False))
    assert again == record
    n = len(read(record["t"]))
    assert (np.diff(read(record["t"])) >= 0).all()
    assert all(len(read(series["values"])) == n for plot in record["plots"] for series in plot["series"])
    assert all(len(read(contact["forces"])) == record["dimension"] * n for contact in record["contacts"])
    assert all(len(read(contact["closed"])) == n for contact in record["contacts"])
    assert record["bands"][0]["begin"] == record["start"]
    assert record["bands"][-1]["end"] == record["end"]
    assert all(plot["axis"] and plot["title"] for plot in record["plots"])


def test_forces_hold_the_weight_on_a_slope():
    block = find_robot("block").with_parameters(slope=0.3, mu=0.9)
    run = saltus.simulate(block, until=0.5)
    contact = run_record(run)["contacts"][0]
    weight = block.values["mass"] * block.values["g"]
    assert read(contact["closed"]).all()
    forces = read(contact["forces"]).reshape(-1, 2)
    assert forces == pytest.approx(np.tile([0.0, weight], (len(forces), 1)), rel=1e-6)


def test_forces_are_zero_in_the_air_and_curves_are_those_of_the_run(jump):
    record = run_record(jump)
    (contact,) = record["contacts"]
    held = read(contact["closed"]).astype(bool)
    forces = read(contact["forces"]).reshape(-1, 2)
    assert held.any()
    assert not held.all()
    assert (forces[~held] == 0).all()
    assert (forces[held, 1] > 0).any()
    plots = {plot["title"]: plot for plot in record["plots"]}
    assert set(plots) >= {"position", "angle", "velocity", "angular velocity", "actuators", "energy", "force ratio"}
    t = read(record["t"])
    angles = {series["name"]: read(series["values"]) for series in plots["angle"]["series"]}
    inside = ~np.isin(t, [event.t for event in jump.events])
    expected = jump.at(t[inside])[:, jump.system.state_names.index("theta1")]
    assert angles["theta1"][inside] == pytest.approx(expected, abs=1e-5)
    ratio = read(plots["force ratio"]["series"][0]["values"])
    assert np.isnan(ratio[~held]).all()
    assert np.nanmax(np.abs(ratio)) == pytest.approx(0.3, abs=1e-6)
    assert {line["y"] for line in plots["force ratio"]["lines"]} == {0.3, -0.3}
    assert {line["y"] for line in plots["actuators"]["lines"]} == {10.0, -10.0}


def test_friction_and_stops_of_joints_are_shown():
    run = run_of("arm")
    (plot,) = [plot for plot in run_record(run)["plots"] if plot["title"] == "friction and stops"]
    assert plot["axis"] == "torque (N m)"
    (series,) = plot["series"]
    assert series["name"] == "theta2"
    values = read(series["values"])
    column = run.system.row_names.index("theta2.q")
    assert values.max() == pytest.approx(run.samples.forces[:, column].max(), rel=0.05)


def test_events_point_at_the_frame_after_them(jump):
    record = run_record(jump)
    t = read(record["t"])
    assert [event["t"] for event in record["events"]] == [event.t for event in jump.events]
    for event in record["events"][:-1]:
        assert t[event["frame"]] == event["t"]
        assert t[event["frame"] - 1] == event["t"]
        assert t[event["frame"] + 1] > event["t"]
    struck = [event for event in record["events"] if event["impulse"]]
    assert struck
    assert struck[0]["lost"] > 0


def test_long_runs_have_no_more_frames_than_a_page_can_carry():
    run = saltus.simulate(find_robot("pendulum"), until=600.0)
    record = run_record(run)
    assert 0.9 * MOST_FRAMES <= len(read(record["t"])) <= MOST_FRAMES + 2
    assert len(json.dumps(record)) < 5e6


def test_thousands_of_events_are_thinned_and_counted():
    ball = find_robot("bouncing_ball").with_parameters(restitution=1.0)
    run = saltus.simulate(ball, {"y": 0.001}, until=330.0, rtol=1e-6, atol=1e-9)
    assert len(run.events) > MOST_EVENTS
    record = run_record(run)
    assert len(record["events"]) == MOST_EVENTS
    assert record["bands"][-1] == {"mode": "many modes", "begin": run.events[MOST_EVENTS - 1].t, "end": run.end_time}
    assert len(json.dumps(record)) < 5e6
    assert any(f"{len(run.events):,}" in note for note in record["notes"])


def test_a_run_of_no_length_and_one_that_failed_have_records():
    run = saltus.simulate(find_robot("hopper"), until=0.0)
    record = run_record(run)
    assert len(read(record["t"])) >= 1
    assert np.isfinite(at(record, 0.0)).all()

    def fails(t, state, mode, memory):
        return math.nan if t > 0.05 else 0.0

    with pytest.raises(RunFailed) as failure:
        saltus.simulate(find_robot("pendulum"), controller=fails, until=1.0)
    record = run_record(failure.value.run)
    assert record["status"] == "controller_not_finite"
    assert 0.0 < record["end"] <= 0.06


def test_own_series_keep_their_gaps(jump):
    values = np.sin(jump.t)
    values[3:6] = math.nan
    values[10] = math.inf
    record = run_record(jump, series={"wave (1)": values})
    plot = record["plots"][-1]
    assert plot["axis"] == "wave (1)"
    assert plot["note"] == f"4 of {len(values)} values of wave (1) are no numbers and left out."
    shown, t = read(plot["series"][0]["values"]), read(record["t"])
    bad = (t > jump.t[3]) & (t < jump.t[5])
    assert bad.any()
    assert np.isnan(shown[bad]).all()
    good = t > jump.t[11]
    assert shown[good] == pytest.approx(np.sin(t[good]), abs=1e-5)
    for wrong, complaint in ((values[:-1], "needs a value for each"), ("abc", "must be numbers")):
        with pytest.raises(InputError, match=complaint):
            run_record(jump, series={"wave": wrong})


def test_a_cycle_is_one_motion():
    cycle = run_cycle(find_gait("swing", find_robot("monkeybot")), {})
    record = cycle_record(cycle)
    assert record["end"] == pytest.approx(cycle.period)
    assert [band["mode"] for band in record["bands"]] == list(cycle.durations)
    t = read(record["t"])
    points = read(record["points"]["positions"]).reshape(len(t), 3, 2)
    lengths = [np.hypot(*(points[:, one] - points[:, other]).T) for one, other in record["skeleton"]]
    assert np.array(lengths) == pytest.approx(0.61, abs=1e-6)
    # hands change places: the two ends of the robot are where they were, whatever they are called
    k = record["events"][0]["frame"]
    before, after = (sorted(map(tuple, np.round(points[n][[0, 2]], 5).tolist())) for n in (k - 1, k))
    assert before == after


def test_packing_keeps_what_does_not_fit():
    assert list(packed([1.0, math.nan])) == ["f32"]
    assert read(packed([1e300, 1.0]))[0] == 1e300
    assert len(read(packed([]))) == 0


def test_what_is_far_away_is_exact():
    disc = find_robot("disc").with_parameters(slope=0.0)
    run = saltus.simulate(disc, {"x": 1e7, "y": 0.5}, until=1.0)
    record = run_record(run)
    t, points = read(record["t"]), read(record["points"]["positions"])
    assert points.dtype == np.float64
    assert points.reshape(len(t), 2, 2)[-1, 0, 0] == pytest.approx(run.final["x"], rel=1e-15)
    assert read(run_record(run_of("disc"))["points"]["positions"]).dtype == np.float32


def test_a_motion_that_is_too_fast_for_its_frames_is_owned_up_to():
    pendulum = find_robot("pendulum")
    assert run_record(saltus.simulate(pendulum, until=60.0))["notes"] == []
    (note,) = run_record(saltus.simulate(pendulum, until=5000.0, rtol=1e-6, atol=1e-8))["notes"]
    assert "off by up to" in note


def test_what_never_leaves_rounding_is_zero():
    run = saltus.simulate(find_robot("monkeybot"), until=0.3)
    assert 0.0 < np.abs(run.x[:, 0]).max() < 1e-13
    plots = {plot["title"]: plot for plot in run_record(run)["plots"]}
    assert (read(plots["position"]["series"][0]["values"]) == 0.0).all()
    assert (plots["actuators"]["lines"], plots["actuators"]["note"]) == ([], "The limit is 20 N m.")


def test_names_in_letters():
    assert [plain_label(name) for name in ("theta1", "dtheta12", "theta", "dx", "s_b", "phi2", "thetax")] == [
        "θ₁", "dθ₁₂/dt", "θ", "dx", "s b", "φ₂", "thetax",
    ]  # fmt: skip


def test_document_says_what_is_wrong(tmp_path, jump):
    document = show.Document("a")
    with pytest.raises(InputError, match="no runs"):
        document.runs("Motion", {})
    with pytest.raises(InputError, match="belong to one run"):
        document.runs("Motion", {"a": jump, "b": jump}, series={"x": jump.t})
    with pytest.raises(InputError, match="file type"):
        show.report(jump, tmp_path / "a.txt")
    with pytest.raises(InputError, match="no folder"):
        show.report(jump, tmp_path / "none" / "a.html")
    for wrong in (None, [jump], {}, {"a": 1}):
        with pytest.raises(InputError, match="a run, or of runs by name"):
            show.report(wrong, tmp_path / "a.html")
    path = show.report(jump, tmp_path / "a.html")
    before = path.read_bytes()
    with pytest.raises(InputError, match="exists already"):
        show.report(jump, path)
    assert path.read_bytes() == before
    show.report(jump, path, title="another", force=True)
    assert path.read_bytes() != before
    assert [one.name for one in tmp_path.iterdir()] == ["a.html"]
