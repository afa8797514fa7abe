"""Regions of attraction in one quantity: intervals with known edges, gaps, horizons, bad input, files and figures."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache

import casadi as ca
import numpy as np
import pytest
import xarray
from typer.testing import CliRunner

from saltus import robots, simulate
from saltus.cli import app
from saltus.errors import InputError
from saltus.gaits import recoverable_intervals
from saltus.gaits._region import OUTCOMES
from saltus.hybrid import HybridSystem
from saltus.mechanism import Mechanism, Revolute

runner = CliRunner()
DAMPING = 7.0


@cache
def pendulum() -> HybridSystem:
    """A pendulum so damped that it hangs at the nearest multiple of a whole turn; ``even`` is 1 at every second."""
    m = Mechanism("damped_pendulum")
    m.gravity = m.parameter("g", 9.81, "m/s^2", "gravity")
    m.body("rod", Revolute("theta", offset=-math.pi / 2), mass=1.0, inertia=0.0, com=(1.0, 0))
    m.damping("theta", DAMPING)
    m.reading("even", ca.cos(m.q[0] / 2), "1")
    return HybridSystem(m, start={"theta": 0.0}, until=40.0)


def even(span, *, until=40.0, resolution=0.5, tolerance=1e-6):
    """The starts at rest from which it ends an even number of turns away."""
    return recoverable_intervals(
        pendulum(), "theta", span, resolution=resolution, tolerance=tolerance, until=until,
        within={"even": 0.05, "dtheta": 0.05}, target={"even": 1.0},
    )  # fmt: skip


def back_alone(system, name, value, controller, until):
    """Whether one run by itself comes back, by the rule of a region without further words."""
    run = simulate(
        system, {name: value}, controller=controller, until=until, rtol=1e-8, atol=1e-10, energy_tolerance=math.inf,
        raise_errors=False,
    )  # fmt: skip
    return run.status.name == "finished" and max(abs(run.final[name]), abs(run.final[f"d{name}"])) <= 0.05


def test_gaps_are_found_and_every_edge_is_where_it_is_by_theory():
    """The unstable equilibria, odd multiples of pi, part the starts at rest."""
    found = even((-4.0, 16.0))
    expected = [-math.pi, math.pi, 3 * math.pi, 5 * math.pi]
    assert [part.returns for part in found.intervals] == [False, True, False, True, False]
    for edge, place in zip(found.edges, expected, strict=True):
        assert min(edge.returned, edge.lost) <= place <= max(edge.returned, edge.lost)
        assert abs(edge.returned - edge.lost) <= 1e-6
        assert edge.outcome == "not back in time"
    assert found.first_lost.displacement == pytest.approx(math.pi, abs=1e-6)
    assert found.largest_returning == pytest.approx(5 * math.pi, abs=1e-6)
    assert found.origin == 0.0
    assert found.resolution == 0.5
    assert found.runs == 41 + len(expected) * 19  # 0.5 is halved 19 times until it is below 1e-6


def test_the_scan_says_its_resolution_and_intervals_fill_the_span():
    found = even((-4.0, 16.0), resolution=0.3)
    assert found.resolution == pytest.approx(20 / 67)  # evenly, and not coarser than was said
    assert np.diff(found.values[found.scanned]) == pytest.approx(found.resolution)
    assert (found.intervals[0].low, found.intervals[-1].high) == found.span == (-4.0, 16.0)
    assert sum(sum(part.outcomes.values()) for part in found.intervals) == found.scanned.sum() == 68
    for before, after in zip(found.intervals, found.intervals[1:], strict=False):
        assert 0 < after.low - before.high <= found.tolerance
        assert before.returns != after.returns


def test_an_edge_that_the_horizon_makes_is_not_back_in_time_and_moves_with_it():
    short, long = (even((0.0, 4.0), until=until) for until in (3.0, 12.0))
    (near,), (far,) = short.edges, long.edges
    assert near.outcome == far.outcome == "not back in time"
    assert near.lost < far.lost - 0.01
    assert far.lost <= math.pi + 1e-6


def test_a_fall_does_not_move_with_the_horizon():
    weak = robots.segway_rolled(torque_limit=20.0)
    short, long = (
        recoverable_intervals(
            weak, "theta", (0.0, 1.5), resolution=0.05, tolerance=1e-5, controller=weak.controllers["lqr"], until=until
        )
        for until in (10.0, 20.0)
    )
    assert short.first_lost.outcome == long.first_lost.outcome == "fell"
    assert short.first_lost.value == pytest.approx(long.first_lost.value, abs=1e-5)


def test_the_pd_of_the_segway_loses_pitches_between_those_that_return():
    """0.653 rad returns and 0.654 does not; larger ones return again [vigne2019]."""
    weak = robots.segway(torque_limit=20.0)
    pd = weak.controllers["pd"]
    found = recoverable_intervals(
        weak, "theta", (0.64, 0.79), resolution=2e-3, tolerance=1e-5, controller=pd, until=20.0
    )  # fmt: skip
    assert 0.653 < found.first_lost.value < 0.654
    assert found.first_lost.outcome == "no motion"
    assert found.largest_returning == 0.79
    assert [part.returns for part in found.intervals] == [True, False, True, False, True]
    for edge in found.edges:
        assert 0 < abs(edge.returned - edge.lost) <= 1e-5
        assert back_alone(weak, "theta", edge.returned, pd, 20.0)
        assert not back_alone(weak, "theta", edge.lost, pd, 20.0)


def test_an_edge_is_where_the_torque_can_just_hold_the_body():
    """At rest with the motor at its limit, (18) has no acceleration of theta where the lever of gravity equals it."""
    weak = robots.segway_rolled(torque_limit=6.0)
    pd = weak.controllers["pd"]
    found = recoverable_intervals(weak, "theta", (-1.5, 1.5), resolution=0.05, tolerance=1e-5, controller=pd)
    left, right = found.edges
    assert left.returned == pytest.approx(-right.returned, abs=1e-5)
    assert abs(right.lost - right.returned) <= 1e-5
    m, l, I, m_w, J, r, g = (weak.values[name] for name in ("m", "l", "I", "m_w", "J", "r", "g"))

    def acceleration(theta):
        H = np.array([[m * l**2 + I, l * m * r * np.cos(theta)], [l * m * r * np.cos(theta), (m + m_w) * r**2 + J]])
        return np.linalg.solve(H, [m * g * l * np.sin(theta) - 6.0, 6.0])[0]

    assert acceleration(right.returned) < 0  # it begins to rise
    assert acceleration(right.returned + 0.05) > 0
    assert back_alone(weak, "theta", right.returned, pd, 10.0)
    assert not back_alone(weak, "theta", right.lost, pd, 10.0)


def test_all_return_none_returns_and_no_start():
    strong = robots.segway_rolled()
    every = recoverable_intervals(strong, "theta", (-1.2, 0.0), resolution=0.1, controller=strong.controllers["pd"])
    assert every.first_lost is None
    assert every.largest_returning == -1.2
    assert every.edges == ()
    none = recoverable_intervals(strong, "theta", (0.3, 1.0), resolution=0.1, until=3.0)
    assert (none.first_lost.value, none.first_lost.outcome, none.largest_returning) == (0.3, "fell", None)
    # beyond 1.72 rad the body would be in the floor: no start, which is no loss of a start
    deep = recoverable_intervals(strong, "theta", (1.6, 2.0), resolution=0.1, controller=strong.controllers["pd"])
    assert deep.first_lost is None
    assert [edge.outcome for edge in deep.edges] == ["no start"]
    assert deep.edges[0].returned == pytest.approx(math.acos(-strong.values["r"]), abs=deep.tolerance)


def test_values_beyond_the_bounds_of_a_parameter_are_starts_with_a_reason():
    system = robots.segway()
    options = {"resolution": 0.25, "controller": system.controllers["pd"], "until": 2.0, "within": {"theta": 0.05}}
    found = recoverable_intervals(system, "mu", (-0.5, 0.5), **options)
    beyond = found.values < 0
    assert sorted(found.reasons) == np.flatnonzero(beyond).tolist()
    assert ((found.outcome == OUTCOMES.index("no start")) == beyond).all()
    for k, reason in found.reasons.items():
        assert reason == f"parameter 'mu' must be at least 0, not {found.values[k]:g}"
    assert found.to_dict()["reasons"] == {"parameter 'mu' must be at least 0, not ...": 2}
    without = recoverable_intervals(system, "mu", (0.0, 0.5), **options)
    for name in ("outcome", "slipped", "saturated", "t_end"):
        shared = np.isin(found.values, without.values)
        assert np.array_equal(getattr(found, name)[shared], getattr(without, name))


def test_edges_are_found_where_the_tolerance_is_below_rounding():
    weak = robots.segway_rolled(torque_limit=20.0)
    found = recoverable_intervals(
        weak, "theta", (0.9, 1.2), resolution=0.1, controller=weak.controllers["lqr"], until=5.0, tolerance=1e-300
    )
    (edge,) = found.edges
    assert abs(edge.lost - edge.returned) < 1e-14


def test_a_parameter_is_measured_from_the_robots_own_value():
    """Without a limit is nearest to the largest limit of the span."""
    system = robots.segway_rolled()
    found = recoverable_intervals(
        system, "torque_limit", (1.0, 20.0), resolution=1.0, controller=system.controllers["lqr"],
        start={"theta": 0.5}, within={"theta": 0.05, "dtheta": 0.05},
    )  # fmt: skip
    assert found.origin == 20.0
    (edge,) = found.edges
    assert found.first_lost.value == edge.lost < edge.returned
    assert found.largest_returning == edge.returned
    assert found.unit == "N m"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"name": "thta"}, "unknown quantity"),
        ({"span": (1.0, 0.0)}, r"span of theta must increase, got 1 to 0"),
        ({"span": (0.3, 0.3)}, "must increase"),
        ({"span": (0.0, math.nan)}, "must be finite numbers, got nan"),
        ({"span": (0.0, math.inf)}, "must be finite numbers, got inf"),
        ({"span": 1.0}, "must be two numbers"),
        ({"span": (0.0, "a")}, "must be finite numbers"),
        ({"resolution": 2.0}, "resolution must be at most the length of the span, 1, got 2.0"),
        ({"resolution": 0.0}, "resolution must be a positive number"),
        ({"resolution": math.nan}, "resolution must be a positive number"),
        ({"resolution": 1e-12}, "a scan has at most"),
        ({"tolerance": -1e-3}, "tolerance must be a positive number"),
        ({"start": {"theta": 0.1}}, "theta is varied"),
        (
            {"name": "mu", "span": (-2.0, -1.0), "within": {"theta": 0.1}},
            "none of 201 runs can start; 201: .*'mu' must",
        ),
        ({"span": (3.0, 3.1)}, "none of 201 runs can start; 201: start of segway violates 'fall'"),
    ],
)
def test_what_is_refused_before_any_run(change, said, monkeypatch):
    monkeypatch.setattr("saltus.gaits._region.simulate_many", None)
    options = {"name": "theta", "span": (0.0, 1.0), **change}
    with pytest.raises(InputError, match=said):
        recoverable_intervals(robots.segway(), options.pop("name"), options.pop("span"), **options)


def test_files_figures_and_the_command_line(call, tmp_path):
    words = ["region", "segway_rolled", "--controller", "lqr", "--x", "theta=-1.9:1.5:35", "--set", "torque_limit=20"]
    words += ["--until", "8", "--tolerance", "1e-3", "--out", "."]
    code, out, err = call(*words, "--json", "--report", "page.html")
    assert code == 0, err
    content = json.loads(out)
    assert content["resolution"] == pytest.approx(0.1)
    assert content["tolerance"] == 1e-3
    assert content["first_lost"]["displacement"] == pytest.approx(1.0427, abs=1e-3)
    assert [part["returns"] for part in content["intervals"]] == [False, True, False]
    assert content["outcomes"]["no start"] == content["intervals"][0]["outcomes"]["no start"] == 2
    assert '"Edges"' in (tmp_path / "page.html").read_text()
    with xarray.open_dataset(tmp_path / "segway_rolled-intervals.nc") as data:
        assert data["outcome"].size == content["runs"]
        assert int(data["scanned"].sum()) == 35
        assert data.attrs["resolution"] == pytest.approx(0.1)
    assert {path.name for path in tmp_path.iterdir()} >= {f"segway_rolled-intervals.{form}" for form in ("png", "svg")}
    code, printed, _ = call(*words)
    assert code == 0
    for said in ("first lost at: ", "largest that returns in the span: ", "resolution 0.1 rad: narrower gaps may be"):
        assert said in printed


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--x theta=1:0:5", "the span of theta must increase"),
        ("--x theta=0:nan:5", "nan"),
        ("--x theta=0:1:5 --random 7", "give --y too"),
        ("--x theta=0:1:5 --tolerance 0", "tolerance must be a positive number"),
        ("--x tht=0:1:5", "unknown quantity"),
    ],
)
def test_what_the_command_refuses(words, said, tmp_path):
    result = runner.invoke(app, ["region", "segway_rolled", "--out", str(tmp_path), *words.split()])
    assert result.exit_code
    assert said in str(result.exception)


def test_the_figure_has_a_colour_for_every_outcome_and_a_mark_for_every_edge():
    from matplotlib.collections import LineCollection

    from saltus.show import intervals_figure

    found = even((-4.0, 16.0))
    figure = intervals_figure(found, replace(found, controller="other"), labels=("one", "two"))
    names = [text.get_text() for text in figure.legends[0].get_texts()]
    assert names == [*found.counts, "edge", "first lost"]
    (axes,) = figure.axes
    marks = [one for one in axes.collections if isinstance(one, LineCollection)]
    places = [segment[0, 0] for segment in marks[0].get_segments()]
    assert places == pytest.approx([-math.pi, math.pi, 3 * math.pi, 5 * math.pi], abs=1e-6)
    assert [text.get_text() for text in axes.get_yticklabels()] == ["one", "two"]
    assert axes.get_xlabel() == r"$\theta$ (rad)"
    assert set(found.counts) <= set(OUTCOMES)
    with pytest.raises(InputError, match="labels must be one for each"):
        intervals_figure(found, labels=("one", "two"))
