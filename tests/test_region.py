"""Regions of attraction: outcomes of starts over two quantities, figures and the command line."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from typer.testing import CliRunner

from saltus import robots, simulate
from saltus.cli import app
from saltus.control import LQR
from saltus.errors import InputError
from saltus.gaits import region
from saltus.gaits._region import FAILED, FELL, LATE, LIMITED, LIMITED_SLIPPED, NO_START, OUTCOMES, RETURNED, SLIPPED

THETA = ("theta", np.linspace(-1.8, 1.8, 13))
RATE = ("dtheta", np.linspace(-4, 4, 9))
runner = CliRunner()


def test_every_cell_is_what_its_run_alone_is():
    system = robots.segway(torque_limit=20.0, mu=0.8)
    pd = system.controllers["pd"]
    found = region(system, ("theta", np.linspace(-0.4, 0.4, 7)), RATE, controller=pd, until=6.0)
    assert found.shape == (9, 7)
    assert {RETURNED, FELL, LIMITED_SLIPPED} <= set(found.outcome.tolist())
    for k in range(0, found.outcome.size, 5):
        start = system.consistent({"theta": found.x[k], "dtheta": found.y[k]}, keep=["dtheta"], rolling=True)
        run = simulate(system, start, controller=pd, until=6.0, rtol=1e-8, atol=1e-10, energy_tolerance=math.inf)
        slips = any(mode.startswith("slip") for mode in run.arc_modes)
        back = run.status.name == "finished" and abs(run.final["theta"]) < 0.05 and abs(run.final["dtheta"]) < 0.05
        expected = RETURNED + LIMITED * run.saturated + SLIPPED * slips if back else LATE
        if run.status.name == "terminal":
            expected = FELL
        assert OUTCOMES[found.outcome[k]] == OUTCOMES[expected], k
        assert found.slipped[k] == slips
        assert found.saturated[k] == run.saturated


def test_starts_roll_and_what_is_fallen_is_no_start():
    system = robots.segway()
    found = region(system, THETA, RATE, controller=system.controllers["pd"], until=2.0)
    fallen = np.cos(found.x) < -0.15  # the top of the body is below the floor
    assert ((found.outcome == NO_START) == fallen).all()
    assert not found.slipped.any()
    assert not found.saturated.any()
    # where the body goes from this plane, its mirror image goes too
    np.testing.assert_array_equal(found.returned, found.returned[::-1])


def test_without_a_controller_only_the_equilibrium_stays():
    system = robots.segway_rolled()
    found = region(system, ("theta", [-0.3, 0.0, 0.3]), ("dpsi", [0.0, 1.0]), until=2.0)
    np.testing.assert_array_equal(found.outcome.reshape(2, 3), [[FELL, RETURNED, FELL], [FELL, LATE, FELL]])
    assert found.controller == "passive"


def test_targets_tolerances_parameters_and_random_points():
    system = robots.segway_rolled()
    lqr = system.controllers["lqr"]
    moved = region(
        system, ("theta", [-0.1, 0.1]), ("psi", [0.0, 1.0]), controller=lqr, until=10.0, within={"psi": 0.05}
    )
    assert moved.returned.all()
    missed = region(
        system, ("theta", [-0.1, 0.1]), ("psi", [0.0, 1.0]), controller=lqr, within={"psi": 0.05}, target={"psi": 1.0}
    )
    assert (missed.outcome == LATE).all()
    weak = region(system, ("theta", [0.5, 0.8]), ("torque_limit", [1.0, 20.0]), controller=lqr, until=10.0)
    np.testing.assert_array_equal(weak.outcome.reshape(2, 2)[0], [FELL, FELL])
    assert (weak.outcome.reshape(2, 2)[1] == LIMITED).all()
    drawn = [region(system, THETA, RATE, controller=lqr, until=1.0, count=40, seed=seed) for seed in (1, 1, 2)]
    assert drawn[0].shape is None
    assert drawn[0].x.tobytes() == drawn[1].x.tobytes() != drawn[2].x.tobytes()
    assert np.abs(drawn[0].x).max() <= 1.8


def test_lqr_reaches_farther_than_pd_and_comes_back_to_where_it_began():
    system = robots.segway(torque_limit=20.0)
    run = simulate(system, controller=system.controllers["lqr"], until=20.0)
    assert run.saturated
    assert abs(run.final["x"]) < 1e-6
    assert max(abs(value) for name, value in run.final.items() if name != "phi") < 1e-6
    drifting = simulate(system, controller=system.controllers["pd"], until=20.0)
    assert abs(drifting.final["x"]) > 0.1
    assert abs(drifting.final["dx"]) > 0.01


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"x": ("thta", [0, 1])}, "unknown quantity"),
        ({"x": ("dtheta", [0, 1])}, "two different quantities"),
        ({"x": ("theta", [1, 0])}, "numbers that increase"),
        ({"x": ("theta", "abc")}, "must be numbers"),
        ({"start": {"theta": 0.1}}, "theta is varied"),
        ({"within": {"phi": 0.1, "q": 1.0}}, "unknown quantity"),
        ({"within": {"theta": 0.0}}, "needs a positive number"),
        ({"within": {}}, "say what must be near"),
        ({"target": {"x": 1.0}}, "near its target"),
        ({"until": -1.0}, "until must be a positive time"),
        ({"count": 0}, "count must be"),
        ({"count": True}, "count must be"),
        ({"x": ("mu", [-2.0, -1.0])}, "none of 2 values of mu are allowed; 2: parameter 'mu' must be at least 0"),
        ({"x": ("theta", [3.0, 3.1])}, "none of 4 runs can start; 4: start of segway violates 'fall'"),
    ],
)
def test_what_a_region_refuses(change, said):
    options = {"x": ("theta", [0.0, 0.1]), "y": ("dtheta", [0.0, 0.1]), **change}
    with pytest.raises(InputError, match=said):
        region(robots.segway(), options.pop("x"), options.pop("y"), **options)


@pytest.mark.parametrize("other", [("theta", [0.0, 0.1]), ("torque_limit", [-1.0, 20.0])])
def test_values_beyond_their_bounds_are_starts_with_a_reason(other):
    system = robots.segway()
    options = {"controller": system.controllers["pd"], "until": 2.0, "within": {"theta": 0.05}}
    found = region(system, ("mu", [-1.0, 0.5, 1.0]), other, **options)
    bad = (found.x < 0) | ((found.y < 0) & (other[0] == "torque_limit"))
    assert ((found.outcome == NO_START) == bad).all()
    assert sorted(found.reasons) == np.flatnonzero(bad).tolist()
    assert "parameter 'mu' must be at least 0, not -1" in found.reason_counts
    assert found.to_dict()["reasons"] == found.reason_counts
    good = [value for value in other[1] if value >= 0]
    if len(good) == 2:
        without = region(system, ("mu", [0.5, 1.0]), other, **options)
        for name in ("outcome", "slipped", "saturated", "t_end"):
            assert np.array_equal(getattr(found, name)[~bad], getattr(without, name))


def test_random_points_beyond_bounds_have_reasons():
    system = robots.segway()
    options = {"controller": system.controllers["pd"], "until": 0.5, "count": 20, "seed": 3}
    found = region(system, ("mu", [-1.0, 1.0]), ("theta", [0.0, 0.1]), **options)
    assert (np.isin(np.arange(20), list(found.reasons)) == (found.x < 0)).all()
    assert 0 < len(found.reasons) < 20


def test_where_ideal_rolling_leaves_no_motion_is_an_outcome_of_its_own():
    system = robots.segway()
    found = region(
        system, ("theta", [0.2, 0.9]), ("dtheta", [0.0, 8.0]), controller=system.controllers["pd"], until=5.0
    )
    assert found.outcome[0] == RETURNED
    assert FAILED in found.outcome


def test_files_and_the_command_line(tmp_path):
    words = ["region", "segway", "--controller", "pd", "--x", "theta=-0.4:0.4:5", "--y", "dtheta=-1:1:3"]
    words += ["--set", "torque_limit=20", "--set", "mu=0.8", "--until", "5", "--out", str(tmp_path)]
    page = tmp_path / "page.html"
    result = runner.invoke(app, ["--report", str(page), *words, "--json"])
    assert result.exit_code == 0, result.output
    told = json.loads(result.stdout)
    assert told["runs"] == sum(told["outcomes"].values()) == 15
    assert told["returned"] == sum(count for name, count in told["outcomes"].items() if name.startswith("returned"))
    assert {path.name for path in tmp_path.iterdir()} >= {f"segway-region.{form}" for form in ("nc", "png", "svg")}
    import xarray

    with xarray.open_dataset(tmp_path / "segway-region.nc") as data:
        assert data["outcome"].size == 15
        assert data.attrs["parameter_mu"] == 0.8
    printed = runner.invoke(app, [*words, "--random", "12"])
    assert printed.exit_code == 0
    assert "12 starts" in printed.stdout


def test_the_figure_has_a_colour_and_a_name_for_every_outcome():
    from matplotlib.colors import to_hex

    from saltus.show import region_figure
    from saltus.show._region import COLOURS

    assert len(set(COLOURS)) == len(OUTCOMES)
    system = robots.segway(torque_limit=20.0)
    found = region(system, THETA, RATE, controller=system.controllers["pd"], until=4.0)
    figure = region_figure(found)
    (legend,) = figure.legends
    names = [text.get_text() for text in legend.get_texts()]
    assert [name.rpartition(" (")[0] for name in names] == list(found.counts)
    colours = [to_hex(patch.get_facecolor()).upper() for patch in legend.get_patches()]
    assert colours == [to_hex(COLOURS[OUTCOMES.index(name)]).upper() for name in found.counts]
    assert figure.axes[0].get_xlabel() == r"$\theta$ (rad)"


def test_an_angular_velocity_of_a_free_body_is_the_rate_of_no_coordinate():
    two = robots.claptrap_two_wheels()
    axes = ("wz", np.linspace(-0.2, 0.2, 3)), ("pitch", np.linspace(-0.1, 0.1, 3))
    found = region(two, *axes, controller=two.controllers["lqr"])
    assert set(found.within) == {"wz", "pitch", "dpitch"}
    assert found.returned.all()


def test_a_target_of_an_angle_is_near_from_both_sides():
    two = robots.claptrap_two_wheels()
    turn = LQR(effort=[0.01, 0.01], at={"pitch": 0.0}, states=("pitch", "psi", "yaw"), reference={"yaw": math.pi})
    axes = ("yaw", np.linspace(2.5, 3.5, 5)), ("pitch", np.linspace(-0.1, 0.1, 3))
    found = region(
        two, *axes, controller=turn, target={"yaw": math.pi}, within={"yaw": 0.05, "pitch": 0.05}
    )  # fmt: skip
    assert found.returned.all()


@pytest.mark.parametrize(
    ("robot", "x", "y"),
    [
        ("segway", ("theta", [-0.1, 0.0, 0.1]), ("dtheta", [-1e9, 0.0, 1e9])),
        ("claptrap", ("pitch", [-0.1, 0.0, 0.1]), ("psi", [-1e9, 0.0, 1e9])),
    ],
)
def test_starts_that_are_too_large_for_any_state_are_no_start_and_spoil_no_other(robot, x, y):
    system = robots.find_robot(robot)
    found = region(system, x, y, controller=system.controllers["lqr"], until=4.0, within={x[0]: 0.05})
    rows = found.outcome.reshape(3, 3)
    assert (rows[1] == RETURNED).all()
    assert (rows[[0, 2]] == NO_START).any()
    assert not found.returned.reshape(3, 3)[[0, 2]].any()


def test_a_limit_that_the_law_keeps_is_not_the_robots():
    system = robots.segway_rolled()
    axes = ("theta", [0.2, 0.3]), ("dtheta", [0.0, 0.1])
    kept = replace(system.controllers["lqr"], limit=20.0)
    assert (region(system, *axes, controller=kept).outcome == RETURNED).all()
    weak = system.with_parameters(torque_limit=20.0)
    assert (region(weak, *axes, controller=weak.controllers["lqr"]).outcome == LIMITED).all()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("--x theta=-.4:.4:1 --y dtheta=-1:1:3", "the count must be from 2 to 5000, got 1"),
        ("--x theta=-.4:.4:100000 --y dtheta=-1:1:3", "the count must be from 2 to 5000, got 100000"),
        ("--x theta=-.4:.4:3 --y dtheta=-1:1:3 --x0 theta=1", "theta is varied"),
        ("--x theta=-.4:.4:3 --y dtheta=-1:1:3 --tolerance 1e-3", "leave out --y"),
    ],
)
def test_what_the_command_refuses(words, said):
    result = runner.invoke(app, ["region", "segway", *words.split()])
    assert result.exit_code
    assert said in str(result.exception)
