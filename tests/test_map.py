"""Maps of a gait's error, the simplex search, and gaits repeated by the clock."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
import scipy.io
import xarray

from saltus import gaits, show
from saltus.cli import main
from saltus.errors import InputError, SaltusError
from saltus.robots import find_robot

X, Y = ("dtheta1", np.linspace(0.0, 4.0, 24)), ("dtheta2", np.linspace(6.0, 14.0, 21))


@pytest.fixture(scope="module")
def gait():
    return gaits.find_gait("swing", find_robot("monkeybot"))


@pytest.fixture(scope="module")
def found(gait):
    return gaits.error_map(gait, X, Y)


def test_cells_are_cycles(gait, found):
    assert found.error.shape == (21, 24)
    for row, column in ((15, 3), (18, 12), (20, 23)):
        cycle = gaits.run_cycle(gait, {"dtheta1": X[1][column], "dtheta2": Y[1][row]})
        assert found.error[row, column] == pytest.approx(cycle.error, rel=1e-6, abs=1e-12)
        assert found.durations["switch"][row, column] == pytest.approx(cycle.durations["switch"], rel=1e-8)
        assert found.period[row, column] == pytest.approx(cycle.period, rel=1e-8)


def test_cells_without_a_cycle_say_why(gait, found):
    assert found.reason[0, 0] == "switch never ends: too little energy"
    assert found.reasons == ["switch never ends within 5 s", "switch never ends: too little energy"]
    assert (found.good == np.isfinite(found.error)).all()
    for values in (found.period, *found.durations.values()):
        assert np.isnan(values[~found.good]).all()
    with pytest.raises(SaltusError, match="switch never ends"):
        gaits.run_cycle(gait, {"dtheta1": X[1][0], "dtheta2": Y[1][0]})


def test_minima_are_below_their_neighbours(found):
    minima = found.minima()
    assert minima
    assert [one.error for one in minima] == sorted(one.error for one in minima)
    for one in minima:
        assert found.error[one.row, one.column] == one.error
        assert (found.x[one.column], found.y[one.row]) == (one.x, one.y)
        around = found.error[max(0, one.row - 1) : one.row + 2, max(0, one.column - 1) : one.column + 2]
        assert np.nanmin(around) == one.error
        assert one.edge == (one.row in (0, 20) or one.column in (0, 23))
    assert found.minima(most=2) == minima[:2]
    assert all(one.error < 1.0 for one in found.minima(below=1.0))


def test_minima_of_a_known_landscape(found):
    error = np.hypot(*np.meshgrid(np.arange(24) - 5.0, np.arange(21) - 8.0))
    error[3, 20] = -1.0
    reason = np.full(error.shape, "", dtype=object)
    reason[3, 20] = "lost"
    known = replace(found, error=error, reason=reason)
    assert [(one.row, one.column) for one in known.minima()] == [(8, 5)]


def test_dataset_and_files(found, tmp_path):
    data = found.to_dataset()
    assert data.error.dims == ("dtheta2", "dtheta1")
    assert data.dtheta1.attrs["units"] == "rad/s"
    assert data.t_motor.attrs["units"] == "s"
    expected = {"robot": "monkeybot", "gait": "swing", "rtol": 1e-10, "knob_motor_torque": 0.66, "parameter_L1": 0.61}
    assert expected.items() <= data.attrs.items()
    with xarray.open_dataset(found.save(tmp_path / "map.nc"), engine="h5netcdf") as read:
        np.testing.assert_array_equal(read.error.values, found.error)
        meanings = read.reason.attrs["flag_meanings"].split()
        assert meanings[int(read.reason.values[0, 0])] == "switch_never_ends:_too_little_energy"
    read = scipy.io.loadmat(found.save(tmp_path / "map.mat"), squeeze_me=True)
    np.testing.assert_array_equal(read["error"], found.error)
    assert read["reasons"][read["reason"][0, 0]] == "switch never ends: too little energy"
    assert (str(read["x_name"]), str(read["y_name"])) == ("dtheta1", "dtheta2")
    with pytest.raises(InputError, match="file type"):
        found.save(tmp_path / "map.xls")


def test_knobs_and_parameters_can_be_varied(gait):
    found = gaits.error_map(gait, ("motor_torque", [0.5, 0.66]), ("g", [9.7, 9.81, 9.9]))
    assert "motor_torque" not in found.knobs
    assert found.unit("g") == "m/s^2"
    usual = gaits.run_cycle(gait)
    assert found.error[1, 1] == pytest.approx(usual.error, rel=1e-6)
    heavier = gaits.run_cycle(gait.with_parameters(g=9.9), knobs={"motor_torque": 0.5})
    assert found.error[2, 0] == pytest.approx(heavier.error, rel=1e-6)


def test_progress_is_told(gait):
    told = []
    gaits.error_map(gait, ("dtheta1", [0.8, 0.9]), ("dtheta2", [11, 12]), progress=lambda *at: told.append(at))
    assert told[-1] == (4, 4)


@pytest.mark.parametrize(
    ("x", "y", "knobs", "says"),
    [
        (("dtheta1", [1.0]), Y, None, "at least two"),
        (("dtheta1", []), Y, None, "at least two"),
        (("dtheta1", [2.0, 1.0]), Y, None, "increase"),
        (("dtheta1", [1.0, 1.0]), Y, None, "increase"),
        (("dtheta1", [1.0, math.nan]), Y, None, "finite"),
        (("dtheta1", ["a", "b"]), Y, None, "numbers"),
        (("dtheta3", [1.0, 2.0]), Y, None, "Did you mean 'dtheta"),
        (("theta1", [1.0, 2.0]), Y, None, "begins where theta1 = 0"),
        (("dtheta2", [1.0, 2.0]), Y, None, "twice"),
        (("torque_limit", [-2.0, -1.0]), Y, None, "none of 2 values of torque_limit are allowed; 2: .* at least 0"),
        (("motor_torque", [-2.0, -1.0]), Y, None, "none of 2 values of motor_torque are allowed; 2: .* at least 0"),
        (("torque_limit", [-1.0, 0.1]), Y, None, "none of 42 cycles can start; 21: gait .*; 21: parameter 'torque_"),
        (("motor_torque", [1.0, 2.0]), Y, {"motor_torque": 1.0}, "varied"),
        (X, Y, {"motor_speed": 1.0}, "motor_torque"),
        (X, Y, {"motor_torque": 21.0}, "beyond its limit of 20 N m"),
    ],
)
def test_bad_maps_are_refused_before_any_work(gait, x, y, knobs, says):
    told = []
    with pytest.raises(InputError, match=says):
        gaits.error_map(gait, x, y, knobs, progress=lambda *at: told.append(at))
    assert not told


def test_cells_that_cannot_start_say_why(gait):
    """Torques beyond their limit are a column of reasons; the other cells are those of the map without them."""
    y = ("dtheta2", np.array([10.5, 11.0]))
    for name, values, rest in (
        ("motor_torque", [1.0, 21.0, 22.0], [1.0, 1.5]),
        ("torque_limit", [0.1, 2.0], [2.0, 3.0]),
    ):
        bad = np.array([value > 20.0 if name == "motor_torque" else value < 0.5 for value in values])
        found = gaits.error_map(gait, (name, np.array(values)), y)
        without = gaits.error_map(gait, (name, np.array(rest)), y)
        assert np.array_equal(found.error[:, ~bad], without.error[:, :1], equal_nan=True)
        assert found.good[:, ~bad].all()
        assert not found.good[:, bad].any()
        for reason in found.reason[:, bad].ravel():
            assert "gait swing, phase motor: " in reason
            assert "is beyond its limit of" in reason
    assert found.reasons == ["gait swing, phase motor: 0.66 N m on elbow is beyond its limit of 0.1 N m"]
    assert found.reason_counts == {found.reasons[0]: 2}


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (("motor_torque", [-1.0, 0.0, 1.0]), ("dtheta2", [10.5, 11.0])),
        (("torque_limit", [-1.0, 2.0, 3.0]), ("dtheta2", [10.5, 11.0])),
        (("torque_limit", [-1.0, 2.0, 3.0]), ("motor_torque", [0.5, 1.0])),
        (("m1", [-1.0, 0.0, 2.0]), ("motor_torque", [-1.0, 1.0])),
    ],
)
def test_values_beyond_their_bounds_are_cells_with_a_reason(gait, x, y):
    found = gaits.error_map(gait, (x[0], np.array(x[1])), (y[0], np.array(y[1])))
    own = {**gait.robot.mechanism.parameters, **gait.knobs}
    able = np.ones(found.error.shape, dtype=bool)
    for row, column in np.ndindex(able.shape):
        values = {x[0]: x[1][column], y[0]: y[1][row]}
        beyond = [n for n, value in values.items() if n in own and not own[n].allowed(np.array([value]))[0]]
        able[row, column] = not beyond
        assert able[row, column] or any(f"parameter {n!r} must be " in found.reason[row, column] for n in beyond)
    assert not found.good[~able].any()
    assert sum(found.reason_counts.values()) == (~found.good).sum()
    for row, column in np.argwhere(able):
        values = {x[0]: x[1][column], y[0]: y[1][row]}
        robot = gait.with_parameters(**{name: v for name, v in values.items() if name in gait.robot.values})
        cycles = gaits.run_many(
            robot, {name: [v] for name, v in values.items() if name in gait.free},
            {name: [v] for name, v in values.items() if name in gait.knobs},
        )  # fmt: skip
        assert cycles.reason[0] == found.reason[row, column]
        assert np.array_equal(cycles.error[0], found.error[row, column], equal_nan=True)


def test_a_map_with_values_beyond_their_bounds_is_written_and_printed(tmp_path, capsys):
    words = ["map", "monkeybot", "--x", "motor_torque=-1:1:3", "--y", "dtheta1=.8:1.0:3", "--json", "--out"]
    with pytest.raises(SystemExit) as left:
        main([*words, str(tmp_path)])
    told = json.loads(capsys.readouterr().out)
    assert not left.value.code
    assert told["reasons"]["parameter 'motor_torque' must be at least 0 N m, not -1"] == 3
    assert told["cells"] == told["good"] + sum(told["reasons"].values()) == 9
    assert len(told["files"]) == 6


def test_reasons_in_a_map_that_differ_in_numbers_are_one_kind(gait):
    found = gaits.error_map(gait, ("motor_torque", [1.0, 21.0, 22.0]), ("dtheta2", [10.5, 11.0]))
    kind = "gait swing, phase motor: ... N m on elbow is beyond its limit of 20 N m"
    assert found.reasons == [kind]
    assert (found.kind[:, 1:] == kind).all()
    assert "21 N m" in found.reason[0, 1]
    assert found.to_dataset()["reason"].values.tolist() == [[0, 1, 1], [0, 1, 1]]


def test_minimise(gait):
    guess = {"dtheta1": 0.902, "dtheta2": 10.935}
    least = gaits.minimise(gait, guess)
    assert least.error < gaits.run_cycle(gait, guess).error
    assert least.error == gaits.run_cycle(gait, {name: least.start[name] for name in gait.free}).error
    assert least.evaluations > 10
    with pytest.raises(SaltusError, match="never ends"):
        gaits.minimise(gait, {"dtheta1": 0.0, "dtheta2": 3.0})
    with pytest.raises(InputError, match="tolerance"):
        gaits.minimise(gait, guess, tolerance=0.0)


def test_first_iterate_is_the_cycle(gait):
    run = gaits.iterate(gait, 2)
    cycle = gaits.run_cycle(gait)
    assert run.count == 2
    assert run.reason == ""
    assert run.error[0] == pytest.approx(cycle.error, rel=1e-7)
    assert run.times[0] == pytest.approx(cycle.period, abs=1e-9)
    assert (run.x[0], run.y[0]) == pytest.approx(cycle.travel, abs=1e-9)
    # the motor gives back what the impact took
    assert run.kinetic[0] == pytest.approx(run.kinetic_start, rel=1e-3)
    np.testing.assert_allclose(run.states[:, 0], 0.0, atol=1e-12)


def test_iterates_of_a_timed_map(gait):
    # without rounding, iterating is the timed map applied again and again
    cycle = gaits.run_cycle(gait)
    timed = gait.timed(cycle.durations)
    state, height = cycle.start, 0.0
    for _ in range(3):
        one = gaits.run_cycle(timed, state)
        state, height = one.final, height + one.travel[1]
    assert gaits.iterate(gait, 3).y[-1] == pytest.approx(height, abs=1e-9)


def test_a_gait_that_repeats_keeps_repeating(gait):
    fixed = gaits.solve(gait, {"dtheta1": 0.75, "dtheta2": 11.08}, {"motor_torque": 3.0})
    run = gaits.iterate(fixed, 10)
    assert run.count == 10
    assert run.error.max() < 1e-12
    assert not fixed.grazing


def test_a_gait_that_is_lost_says_so(gait):
    for period in (None, 0.001):
        run = gaits.iterate(gait, 40, period)
        assert 10 < run.count < 40
        assert run.reason == f"cycle {run.count + 1}: theta1 = 0 is not passed any more"
        assert run.first_above(1.0) in (12, 13)
        assert run.to_dict()["passed"] == run.count
        assert run.to_dataset().kinetic.attrs["units"] == "J"


def test_rounded_times_are_whole_milliseconds(gait):
    from saltus.gaits._iterate import _Run

    first = gaits.run_cycle(gait)
    lengths = _Run(gait, first, 3, 0.001, {}).lengths()
    clock = 0.0
    for number in range(5):
        wanted = number * first.period
        for name, length in next(lengths).items():
            clock, wanted = clock + length, wanted + first.durations[name.removesuffix("_t")]
            assert clock == pytest.approx(round(wanted, 3), abs=1e-12)


class Waves:
    """A motion that passes the section again and again."""

    def __init__(self, end_time, late):
        self.end_time, self.late = end_time, late

    def at(self, t):
        return np.multiply.outer(np.sin(np.asarray(t) - self.late), np.ones(4))


@pytest.mark.parametrize(("late", "nearest"), [(0.2, 0.2), (1.0, 3 * math.pi - 10)])
def test_the_nearest_passage_counts(gait, late, nearest):
    from saltus.gaits._iterate import _Run

    run = _Run(gait, gaits.run_cycle(gait), 1, None, {})
    assert run.passage(Waves(10.0, 0.0), Waves(10.0, late))[0] == pytest.approx(nearest, abs=1e-12)
    assert run.passage(Waves(3.0, -0.05), Waves(3.0, -0.05)) is None


@pytest.mark.parametrize(
    ("cycles", "period", "says"),
    [(0, None, "positive integer"), (2.5, None, "positive integer"), (3, 0.0, "positive"), (3, math.nan, "positive")],
)
def test_bad_iterations(gait, cycles, period, says):
    with pytest.raises(InputError, match=says):
        gaits.iterate(gait, cycles, period)


def test_a_period_too_long_for_the_schedule(gait):
    with pytest.raises(InputError, match="shorter than the controller"):
        gaits.iterate(gait, 3, 0.3)


def test_grazing_is_seen(gait):
    # hardly enough energy: hand B comes to the height of A and stands still
    low, high = 10.0, 11.0
    for _ in range(60):
        middle = (low + high) / 2
        try:
            cycle = gaits.run_cycle(gait, {"dtheta1": 1.5, "dtheta2": middle})
        except SaltusError:
            low = middle
        else:
            if cycle.durations["switch"] > 0.6:
                low = middle
            else:
                high, touching = middle, cycle
    assert touching.speeds["switch"] < 1e-5
    assert min(gaits.run_cycle(gait).speeds.values()) > 1e-2


def test_figures_can_be_drawn_and_are_the_same_each_time(gait, found, tmp_path):
    run = {"exact": gaits.iterate(gait, 3)}
    draw = {
        "surface": lambda: show.surface_figure(found),
        "intensity": lambda: show.intensity_figure(found),
        "error": lambda: show.error_figure(run),
        "kinetic": lambda: show.kinetic_figure(run, until=2),
        "height": lambda: show.height_figure(run),
        "all": lambda: show.iterates_figure(run, title="a gait"),
    }
    for name, made in draw.items():
        png, svg = show.save_figure(made(), tmp_path, name)
        assert png.read_bytes().startswith(b"\x89PNG")
        assert "<svg" in svg.read_text()
        again = show.save_figure(made(), tmp_path, f"{name}-again")
        assert [path.read_bytes() for path in again] == [png.read_bytes(), svg.read_bytes()]
    assert "rad/s" in draw["intensity"]().axes[0].get_xlabel()


def test_page_escapes_what_it_shows():
    page = show.Document("a < b")
    page.text("</script><b>bold</b><!--")
    text = page.html()
    assert "<b>" not in text
    assert "</script><b" not in text
    assert "<title>a &lt; b</title>" in text
