"""The audit cannot be fooled: limits come from the tolerances, deep checks from other methods, estimates hold."""

from __future__ import annotations

import copy
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ellipj, ellipk

from saltus import robots, simulate, simulate_many
from saltus.contact import GroundPoint, plastic
from saltus.control import Compiled
from saltus.engine import _layout as L
from saltus.engine._audit import _sizes, energy_limit
from saltus.errors import InputError
from saltus.hybrid import HybridSystem
from saltus.mechanism import Floating, Mechanism, Prismatic, Revolute


def swing(**options):
    return simulate(robots.double_pendulum(), {"theta1": 2.0}, **options)


@pytest.fixture(scope="module")
def coarse():
    return swing(until=60.0, rtol=1e-3, atol=1e-6)


@pytest.fixture(scope="module")
def jump():
    return simulate(robots.hopper(), controller=robots.hopper().profiles["paper"].controller, until=0.5)


def test_energy_that_grows_fourfold_fails(coarse):
    energy = coarse.check()["energy balance"]
    assert not energy.ok
    assert energy.value > 5 * energy.limit


def test_an_absolute_tolerance_that_allows_anything_excuses_nothing():
    run = simulate(robots.pendulum(), {"theta": 2.0}, until=5.0, rtol=0.1, atol=1e300, max_step=0.7)
    energy = run.check()["energy balance"]
    assert np.isfinite(energy.limit)
    assert not energy.ok


@pytest.mark.parametrize(("length", "mass"), [(1.0, 1.0), (1e-3, 1e-6), (1e-6, 1e-9), (1e3, 1e6)])
@pytest.mark.parametrize("atol", [1e-6, 1e-12])
def test_a_wrong_run_fails_in_any_unit_of_length_and_mass(length, mass, atol):
    """A pendulum of micrometres has 1e-14 J: an absolute tolerance of the work, in J, excuses nothing there."""
    m = Mechanism("any_size")
    m.gravity = m.parameter("g", 9.81, "m/s^2")
    arm, weight = m.parameter("arm", length, "m", positive=True), m.parameter("weight", mass, "kg", positive=True)
    upper = m.body("upper", Revolute("q1"), mass=weight, inertia=0.0, com=(0, -arm))
    m.body("lower", Revolute("q2", at=(0, -arm)), parent=upper, mass=weight, inertia=0.0, com=(0, -arm))
    run = simulate(HybridSystem(m), {"q1": 2.0}, until=20 * math.sqrt(length), rtol=3e-3, atol=atol)
    assert np.ptp(run.mesh.kinetic + run.mesh.potential) > 0.5 * mass * 9.81 * length
    assert not run.check()["energy balance"].ok


def test_the_limit_grows_at_most_as_the_root_of_the_number_of_steps():
    few, many = (energy_limit(steps, 10.0, 10.0, 5.0, 1.0, 1e-10, 1e-12) for steps in (1e4, 1e6))
    assert many / few == pytest.approx(10.0, rel=1e-2)


def test_the_limit_does_not_know_where_potential_energy_is_zero_nor_what_speeds_a_wrong_run_reaches():
    run = swing(until=5.0)
    s = run.mesh
    before = run.check()["energy balance"].limit
    for field, changed in (("potential", s.potential + 1e6), ("kinetic", s.kinetic + np.linspace(0, 1e3, len(s.t)))):
        other = copy.copy(run)
        other.__dict__.update({"_audits": {}, "mesh": replace(s, **{field: changed})})
        assert other.check()["energy balance"].limit < 1.1 * before + 1e-8
    assert not other.check()["energy balance"].ok


def test_limits_of_lengths_do_not_grow_with_the_way_that_a_robot_has_gone(jump):
    far = simulate(robots.hopper(), {"x": 1e3}, controller=robots.hopper().profiles["paper"].controller, until=0.5)
    for name in ("contacts closed", "gaps and slip"):
        assert far.check()[name].limit < jump.check()[name].limit + 1e-7
    assert far.check().ok


@pytest.mark.parametrize(
    ("column", "change", "name"),
    [
        ("positions", 1e-6, "contacts closed"),
        ("speeds", 1e-6, "contacts at rest"),
        ("forces", -1.0, "forces in the cone"),
    ],
)
def test_a_doctored_run_fails_the_check_that_is_about_it(jump, column, change, name):
    assert jump.check().ok
    s, row = jump.mesh, 1 if column == "forces" else 0
    values = getattr(s, column).copy()
    during = np.flatnonzero(s.arc == 0)[3]
    values[during, row] = change if column == "forces" else values[during, row] + change
    other = copy.copy(jump)
    other.__dict__.update({"_audits": {}, "mesh": replace(s, **{column: values})})
    assert not other.check()[name].ok


def test_the_limit_of_a_batch_is_that_of_its_runs():
    batch = simulate_many(robots.bouncing_ball(), {"y": [0.5, 1.0, 2.0]}, until=2.0)
    for k in range(3):
        assert batch.run(k).check()["energy balance"].limit == pytest.approx(batch.energy_limit[k], rel=1e-6)


@pytest.mark.parametrize(("rtol", "atol", "limit"), [(1e-6, 1e-6, 1.4e-5), (1e-6, 0.0, 1e-5), (0.1, 0.0, 0.5 / 50)])
def test_the_limit_of_the_energy_by_hand(rtol, atol, limit):
    """10 J that moved, 4 J per absolute error and 99 steps; at most a twentieth of 10 J."""
    assert energy_limit(99, 10.0, 0.0, 4.0, 0.0, rtol, atol) == pytest.approx(5 * 10 * limit, rel=1e-9)


def telescope(**options):
    """A cart of 2 kg, out of which a beam of 2 kg slides; its tip moves along the ground and does not press."""
    m = Mechanism("telescope")
    m.gravity = m.parameter("g", 10.0, "m/s^2")
    cart = m.body("cart", Prismatic("x"), mass=2.0)
    beam = m.body("beam", Prismatic("s"), parent=cart, mass=2.0)
    m.point("tip", beam, (0.5, 0))
    return simulate(HybridSystem(m, units=(GroundPoint(m.points["tip"]),)), {"dx": 1.0, "ds": 1.0}, **options)


def test_the_sizes_of_a_robot_are_those_of_its_start_and_bound_what_it_may_miss():
    """The length is 0.5 m, though it ends at 1.5 m; forces are 40 N of weight and 5 J / 0.5 m."""
    run = telescope(until=1.0, rtol=1e-3)
    assert run.check().ok
    sizes, step = _sizes(run), run.step_rows[:, L.S_LENGTH].max()
    gained = (40.0 + 10.0) / 4.0 * step
    assert sizes.length == 0.5
    assert sizes.force == pytest.approx(50.0)
    assert (sizes.far, sizes.speed) == pytest.approx((1.5 + gained * step, 1.0 + gained))
    limits = {check.name: check.limit for check in run.check().checks}
    assert limits["contacts closed"] == pytest.approx(1e-6 * 0.5, rel=1e-2)
    assert limits["contacts at rest"] == pytest.approx(1e-6 * sizes.speed, rel=1e-2)
    assert limits["gaps and slip"] == pytest.approx(1e-5 * (0.5 + sizes.speed), rel=1e-3)
    assert limits["forces in the cone"] == pytest.approx(1e-5 * 50.0, rel=1e-3)


def test_a_start_on_the_ground_and_no_other_is_known_less_well():
    resting, falling = simulate(robots.block(), until=0.0), simulate(robots.bouncing_ball(), {"y": 1.0}, until=0.0)
    for name in ("contacts closed", "contacts at rest"):
        assert resting.check()[name].limit == pytest.approx(1e-9, rel=1e-3)
    assert falling.check()["contacts closed"].limit < 1e-10
    assert resting.check().ok
    assert falling.check().ok


def test_a_robot_without_size_has_forces_of_its_weight():
    m = Mechanism("grain")
    m.gravity = m.parameter("g", 10.0, "m/s^2")
    m.body("grain", Prismatic("y", axis=(0, 1)), mass=2.0)
    sizes = _sizes(simulate(HybridSystem(m), {"dy": 3.0}, until=0.1))
    assert (sizes.length, sizes.force) == (0.0, 20.0)


@pytest.mark.parametrize("foot", [0, 1])
@pytest.mark.parametrize(("row", "share"), [(0, 0.6), (0, -0.6), (1, -0.6)])
def test_impulses_of_every_foot_are_held_to_their_cone(foot, row, share):
    """Along the ground more than friction of 0.5 gives, or down: of one of two feet that land together."""
    m = Mechanism("bench")
    m.gravity = 9.81
    body = m.body("body", Floating("x", "y", "angle"), mass=1.0, inertia=0.1)
    feet = [GroundPoint(m.point(name, body, (x, 0)), 0.5, plastic()) for name, x in (("left", -0.5), ("right", 0.5))]
    run = simulate(HybridSystem(m, units=tuple(feet)), {"y": 0.2, "angle": 0.0}, until=0.5)
    assert run.check().ok
    rows = run.event_rows.copy()
    first = L.E_VECTORS + 2 * int(run.integers[L.NY]) + 2 * 4
    struck = np.flatnonzero(np.abs(rows[:, first : first + 4]).max(axis=1))[0]
    rows[struck, first + 2 * foot + row] = share * rows[struck, first + 2 * foot + 1]
    assert not replace(run, event_rows=rows).check()["impulses push"].ok


# -- the estimate of the error ----------------------------------------------------------------


@pytest.mark.parametrize("rtol", [1e-2, 1e-4, 1e-6, 1e-8])
@pytest.mark.parametrize("method", ["dopri5", "dop853"])
def test_the_estimate_is_above_the_error_of_a_pendulum(rtol, method):
    pendulum = robots.pendulum()
    first, until = 1.5, 7.0
    run = simulate(pendulum, {"theta": first}, until=until, rtol=rtol, atol=rtol / 100, method=method)
    rate = np.sqrt(pendulum.values["g"] / pendulum.values["length"])
    k2 = np.sin(first / 2) ** 2
    exact = 2 * np.arcsin(np.sqrt(k2) * ellipj(ellipk(k2) - rate * until, k2)[0])
    error, estimate = abs(run.final["theta"] - exact), run.error_estimate()
    assert error <= estimate["theta"] <= 30 * error
    assert estimate.predictable_until is None


def test_a_chaotic_motion_is_not_predictable(coarse):
    estimate = coarse.error_estimate()
    assert 10.0 < estimate.predictable_until < 40.0
    assert "not predictable beyond t = " in str(estimate)
    assert estimate.relative > 1.0
    assert swing(until=5.0).error_estimate().predictable_until is None


def _push(t, x, status, memory, p, data, piece, u, request):
    u[0] = 100.0 * math.exp(-(((t - data[0]) / data[1]) ** 2))
    return 0


@pytest.mark.parametrize("start", [0.0, 100.0])
@pytest.mark.parametrize("rtol", [1e-3, 1e-10])
def test_a_short_push_that_a_long_step_goes_over_is_noticed(start, rtol):
    """Where nothing else moves, steps are seconds long, and every method goes over a push of 10 ms."""
    m = Mechanism("cart")
    m.gravity = 0
    m.body("body", Prismatic("x"), mass=1.0)
    m.actuator("push", "x", limit=1e3)
    run = simulate(
        HybridSystem(m), {"dx": 1.0}, start=start, until=start + 10, rtol=rtol,
        controller=Compiled(_push, (start + 5.0, 0.01)),
    )  # fmt: skip
    gained = 100.0 * 0.01 * math.sqrt(math.pi)
    assert run.final["dx"] == pytest.approx(1.0)  # it went over it
    assert run.error_estimate()["dx"] >= gained
    assert run.error_estimate()["x"] >= 5.0 * gained
    assert not run.check(deep=True).ok


def test_a_motion_is_predictable_as_far_as_the_tightest_runs_agree():
    """However wrong the run is: looser references part earlier, and need not be better to tell how wrong it is."""
    given, until = {"theta1": 2.5, "theta2": 1.0}, 20.0
    run = simulate(robots.double_pendulum(), given, until=until, rtol=1e-2, atol=1e-5)
    one, other = (
        simulate(robots.double_pendulum(), given, until=until, rtol=tight, atol=1e-3 * tight, method="dop853")
        for tight in (1e-13, 1e-14)
    )
    times = np.linspace(0, until, 1000)
    apart = np.abs(one.at(times) - other.at(times))[:, :2] / np.ptp(other.at(times), axis=0)[:2]
    parted = times[np.flatnonzero(apart.max(axis=1) > 0.1)[0]]
    assert run.error_estimate().predictable_until == pytest.approx(parted, abs=2.0)


def test_a_run_that_ends_otherwise_has_no_estimate():
    hopper = robots.hopper().with_guards(height_Q="terminal")
    run = simulate(hopper, controller=hopper.profiles["paper"].controller, until=1.0)
    assert run.status.name == "terminal"
    assert run.error_estimate().relative < 1e-6
    stopped = replace(run, status=swing(until=0.1).status)
    assert float(stopped.error_estimate()) == np.inf
    assert "the run ends at" in str(stopped.error_estimate())


def test_only_runs_that_ended_well_have_an_estimate():
    run = simulate(robots.bouncing_ball(), {"y": 1.0}, until=3.0, max_steps=5, raise_errors=False)
    with pytest.raises(InputError, match="ended as step_limit"):
        run.error_estimate()


def test_names_of_estimates_are_checked():
    estimate = simulate(robots.pendulum(), until=0.5).error_estimate()
    with pytest.raises(InputError, match="theta"):
        estimate["thta"]


# -- the deep audit -----------------------------------------------------------------------------


def test_a_deep_check_passes_what_is_right_and_fails_what_is_not(coarse):
    assert swing(until=5.0).check(deep=True).ok
    assert simulate(robots.rimless_wheel()).check(deep=True).ok
    audit = coarse.check(deep=True)
    assert not audit["error of the end state"].ok
    assert audit.notes
    assert audit.notes[0].startswith("not predictable beyond")
    assert audit.to_dict()["notes"] == list(audit.notes)


def test_windows_find_a_step_that_is_off():
    run = swing(until=0.2)
    rows = run.step_rows.copy()
    first = L.S_VECTORS + int(run.integers[L.NU])
    rows[len(rows) // 2 :, first] += 1e-4  # the state from there on is another by 0.1 mrad
    doctored = replace(run, step_rows=rows)
    assert run.check(deep=True)["windows"].ok
    assert not doctored.check(deep=True)["windows"].ok


def test_a_sampled_controller_without_memory_has_windows():
    run = simulate(robots.pendulum(), controller=lambda t, state, mode, memory: -state["dtheta"], until=0.2)
    audit = run.check(deep=True)
    assert audit.ok
    assert audit["windows"].value < 1.0
