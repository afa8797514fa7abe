"""The audit names what is wrong with a run whose record has been falsified, law by law, and nothing of a true one."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import saltus
from saltus.control import Sine
from saltus.engine import _layout as L


@pytest.fixture(scope="module")
def bounce():
    return saltus.simulate(saltus.robots.bouncing_ball(restitution=0.7), {"y": 1.0, "dx": 0.5}, until=2.0)


@pytest.fixture(scope="module")
def block():
    return saltus.simulate(saltus.robots.block(), controller=Sine(amplitude=8.0), until=2.0)


def moved(run, name, steps, change):
    """The run with one number of the state changed in some of its steps."""
    rows = run.step_rows.copy()
    rows[steps, L.S_VECTORS + int(run.integers[L.NU]) + run.system.state_names.index(name)] += change
    return dataclasses.replace(run, step_rows=rows)


def steps_in(run, mode):
    """Steps of arcs of a mode."""
    return np.array([run.arc_modes[int(arc)] == mode for arc in run.step_rows[:, L.S_ARC]])


def struck(run, normal):
    """The run with other normal impulses: what they are is given to a function, with the largest of the run."""
    size = int(run.integers[L.NROW])
    first = L.E_VECTORS + 2 * int(run.integers[L.NY]) + 2 * size
    place = first + run.system.row_names.index(next(name for name in run.system.row_names if name.endswith(".n")))
    rows = run.event_rows.copy()
    assert [event.impulse["ball.n"] for event in run.events] == rows[:, place].tolist()
    rows[:, place] = normal(rows[:, place])
    return dataclasses.replace(run, event_rows=rows)


def failed(run):
    return {check.name for check in run.check().checks if not check.ok}


def test_true_runs_pass(bounce, block):
    for run in (bounce, block):
        assert failed(run) == set()
        laws = {check.name for check in run.check().checks}
        assert {"energy balance", "contacts closed", "contacts at rest", "gaps and slip", "forces in the cone"} <= laws
    assert {"impacts create energy", "impulses push"} <= {check.name for check in bounce.check().checks}
    assert set(block.arc_modes) == {"stick", "slip+", "slip-"}


@pytest.mark.parametrize("depth", [1e-3, 1.0])
def test_a_gap_below_the_ground(bounce, depth):
    """Of a single step: the last of a flight, which ends on the ground."""
    last = np.flatnonzero(np.diff(bounce.step_rows[:, L.S_ARC]))[1]
    assert bounce.mesh.positions[last + 1, 1] == pytest.approx(0.0, abs=1e-12)
    assert "gaps and slip" in failed(moved(bounce, "y", last, -depth))
    assert "gaps and slip" not in failed(moved(bounce, "y", last, depth))


@pytest.mark.parametrize(("mode", "sign"), [("slip+", 1.0), ("slip-", -1.0)])
def test_a_slip_against_its_direction(block, mode, sign):
    """One step ends at 1 mm/s the other way."""
    (some, *_) = np.flatnonzero(steps_in(block, mode))
    speed = block.mesh.x[some + 1, block.system.state_names.index("ds")]
    assert speed * sign > 0
    assert "gaps and slip" in failed(moved(block, "ds", some, -speed - 1e-3 * sign))
    assert "gaps and slip" not in failed(moved(block, "ds", some, 1e-3 * sign))


HELD = [("s", "contacts closed"), ("n", "contacts closed"), ("ds", "contacts at rest"), ("dn", "contacts at rest")]


@pytest.mark.parametrize(("name", "law"), HELD)
@pytest.mark.parametrize("change", [-1e-3, 1e-3])
def test_a_contact_that_does_not_hold(block, name, law, change):
    last = np.flatnonzero(steps_in(block, "stick"))[-1]
    assert law in failed(moved(block, name, last, change))


def test_forces_beyond_the_cone(block):
    """The same motion on a ground of a hundredth less friction; where nothing slips, of what it needs."""
    less = dataclasses.replace(block, system=block.system.with_parameters(mu=0.3 * 0.99))
    assert "forces in the cone" in failed(less)
    more = dataclasses.replace(block, system=block.system.with_parameters(mu=0.3 * 1.01))
    assert "forces in the cone" not in failed(more)


@pytest.mark.parametrize("share", [0.01, 1.0])
def test_an_impulse_that_pulls(bounce, share):
    def last_pulls(impulses):
        return [*impulses[:-1], -share * max(impulses)]

    assert "impulses push" in failed(struck(bounce, last_pulls))
    assert "impulses push" not in failed(struck(bounce, lambda impulses: impulses))


def test_an_impact_that_creates_energy(bounce):
    rows = bounce.event_rows.copy()
    rows[1, L.E_KINETIC_AFTER] = 1.01 * rows[1, L.E_KINETIC]
    assert "impacts create energy" in failed(dataclasses.replace(bounce, event_rows=rows))


@pytest.mark.parametrize("joules", [-1e-3, 1e-3])
@pytest.mark.parametrize("integral", [0, 1, 2])
def test_work_and_losses_that_are_not_on_record(block, integral, joules):
    rows = block.step_rows.copy()
    first = L.S_VECTORS + int(block.integers[L.NU]) + int(block.integers[L.NX])
    rows[-1, first + integral] += joules
    assert failed(dataclasses.replace(block, step_rows=rows)) == {"energy balance"}


def test_a_number_that_is_none_passes_nothing(bounce):
    last = len(bounce.step_rows) - 1
    assert "energy balance" in failed(moved(bounce, "y", last, np.nan))
    assert not bounce.check()["energy balance"].limit > 1e-3


def test_what_is_printed_says_which_law_fails(bounce):
    good, bad = bounce.check(), struck(bounce, lambda impulses: [*impulses[:-1], -1.0]).check()
    assert {line[:4] for line in str(good).splitlines()} == {"ok  "}
    lines = {line[5:].split("  ")[0]: line for line in str(bad).splitlines()}
    assert [name for name, line in lines.items() if line.startswith("FAIL")] == ["impulses push"]
    assert " 1.000e+00 " in lines["impulses push"]
    assert bool(good)
    assert not bad
    assert good.to_dict()["ok"] is True
    told = bad.to_dict()
    assert told["ok"] is False
    assert {name for name, check in told["checks"].items() if not check["ok"]} == {"impulses push"}
    assert (told["checks"]["impulses push"]["value"], told["checks"]["impulses push"]["unit"]) == (1.0, "1")
