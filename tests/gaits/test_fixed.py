"""Fixed points, collisionless gaits, families: found without guesses made by hand."""

import numpy as np
import pytest

from saltus import robots
from saltus.errors import InputError, SaltusError
from saltus.gaits import (
    catches,
    collisionless,
    error_map,
    find_gait,
    fixed_points,
    follow,
    iterate,
    run_cycle,
    run_many,
    solve,
)

EXACT = {"rtol": 1e-12, "atol": 1e-13}


@pytest.fixture(scope="module")
def swing():
    return find_gait("swing", robots.monkeybot())


@pytest.fixture(scope="module")
def powered(swing):
    a, b = (axis.ravel() for axis in np.meshgrid(np.linspace(0, 4, 60), np.linspace(6, 14, 60), indexing="ij"))
    cycles = run_many(swing, {"dtheta1": a, "dtheta2": b}, {"motor_torque": 3.0}, rtol=1e-9, atol=1e-9)
    for k in np.argsort(np.where(cycles.good, cycles.error, np.inf))[:10]:
        try:
            return solve(swing, {"dtheta1": a[k], "dtheta2": b[k]}, {"motor_torque": 3.0})
        except SaltusError:
            continue
    pytest.fail("no fixed point near the best cells of the map")


def difference_multipliers(gait, start, knobs, names):
    J = np.empty((len(names), len(names)))
    for k, name in enumerate(names):
        ends = []
        for sign in (1, -1):
            moved = dict(start)
            moved[name] += sign * 1e-6
            final = run_cycle(gait, {n: moved[n] for n in gait.free}, knobs, **EXACT).final
            ends.append(np.array([final[n] for n in names]))
        J[:, k] = (ends[0] - ends[1]) / 2e-6
    return np.sort_complex(np.linalg.eigvals(J))


def test_powered_fixed_point_from_the_map(powered):
    assert powered.residual < 1e-11
    assert powered.cycle.error < 1e-20
    assert np.abs(powered.multipliers - 1.0).min() < 1e-9  # energy is restored in every cycle


def test_multipliers_agree_with_differences(powered):
    expected = difference_multipliers(powered.gait, powered.start, powered.knobs, powered.gait.free)
    assert np.sort_complex(powered.multipliers) == pytest.approx(expected, rel=1e-5, abs=1e-5)
    timed = powered.timed
    expected = difference_multipliers(timed, powered.start, None, timed.free)
    assert np.sort_complex(powered.multipliers_timed) == pytest.approx(expected, rel=1e-5, abs=1e-5)


def test_family_in_the_motor_torque(powered):
    family = follow(powered, "motor_torque", (2.6, 3.6))
    values = family.values
    assert values.min() < 2.7
    assert values.max() > 3.5
    assert (np.diff(values) > 0).all()
    assert all(point.residual < 1e-10 for point in family.points)
    radii = family.radii
    assert radii[0] > radii[-1] > 1.0  # less and less unstable with more torque, but never stable


@pytest.mark.parametrize(("parameter", "value"), [("g", 10.4), ("m1", 1.2), ("L1", 0.6)])
def test_family_in_a_parameter_of_the_robot(powered, parameter, value):
    now = powered.gait.robot.values[parameter]
    family = follow(powered, parameter, (min(now, value), max(now, value) + 1e-9), most=60)
    last = family.points[-1] if value > now else family.points[0]
    changed = powered.gait.robot.with_parameters(**{parameter: last.knobs[parameter]})
    mirrored = changed.symmetry.other(changed.mechanism, changed.values)
    partner = {"g": "g", "m1": "m2", "L1": "L2"}[parameter]
    own = {partner: mirrored[partner], **({"r2": mirrored["r2"]} if parameter == "L1" else {})}
    direct = find_gait("swing", changed.with_parameters(**own)).with_knobs(motor_torque=3.0)
    cycle = run_cycle(direct, {name: last.start[name] for name in direct.free})
    assert cycle.error < 1e-18
    assert "leaves the span" in family.ends[0 if value < now else 1]


@pytest.fixture(scope="module")
def closed():
    # two steps of links that differ a little: the family is a closed curve
    steps = find_gait("two_steps", robots.monkeybot()).with_knobs(motor_torque=3.0)
    return follow(solve(steps, {"dtheta1": 0.74984063, "dtheta2": 11.0805115}), "m1", (0.9, 1.1))


def listed(family):
    """Changes by kind and value, of a family walked either way."""
    return sorted((change.kind, change.value) for change in family.changes)


def test_bifurcations_of_a_closed_family(closed):
    assert closed.ends == ("it comes back to where it began",) * 2
    assert closed.points[0] is closed.points[-1]
    kinds, values = zip(*listed(closed), strict=True)
    assert kinds == ("fold",) * 4 + ("period doubling",) * 4
    assert values[:4] == pytest.approx([0.989997, 0.992428, 1.00745, 1.00966], abs=1e-5)
    # stable between each fold and a doubling of the period beside it
    assert [(change.kind, change.before, change.after) for change in closed.changes] == [
        ("fold", 1, 0), ("period doubling", 0, 1), ("period doubling", 1, 0), ("fold", 0, 1),
    ] * 2  # fmt: skip
    for change in closed.changes:
        point = closed.points[change.index]
        assert change.point is point
        assert change.value == point.knobs["m1"]
        assert point.residual < 1e-10
        if change.kind == "period doubling":
            assert np.abs(point.multipliers + 1.0).min() < 1e-7
    assert 0 < closed.resolution.finest < closed.resolution.length <= 0.1 * 1.01


def test_where_the_knob_turns_back_the_unknowns_alone_do_not_say_where_to_go(closed):
    for fold in (change for change in closed.changes if change.kind == "fold"):
        names = list(fold.point.cycle.names)
        columns = [names.index(name) for name in ("theta2", "dtheta2")]
        rows = [fold.point.gait.state_names.index(name) for name in fold.point.gait.free]
        identity = np.eye(len(fold.point.gait.state_names))[np.ix_(rows, columns)]
        sizes = np.linalg.svd(fold.point.cycle.jacobian[np.ix_(rows, columns)] - identity)[1]
        assert sizes[-1] < 1e-6 * sizes[0]
        # with the energy held it would turn a little beside that, where a multiplier is at one
        assert 0 < abs(fold.at_one - fold.value) < 1e-7


@pytest.mark.parametrize(("share", "step", "first"), [(0.41, 0.2, "up"), (0.77, 0.004, "down")])
def test_a_closed_family_is_the_same_from_anywhere(closed, share, step, first):
    begin = closed.points[int(share * len(closed.points))]
    again = follow(begin, "m1", (0.9, 1.1), step=step, first=first)
    assert again.ends == closed.ends
    assert [kind for kind, _ in listed(again)] == [kind for kind, _ in listed(closed)]
    assert [value for _, value in listed(again)] == pytest.approx([value for _, value in listed(closed)], abs=1e-8)


def test_two_steps_are_one_twice(powered):
    steps = find_gait("two_steps", robots.monkeybot()).with_knobs(motor_torque=3.0)
    fixed = solve(steps, {name: powered.start[name] for name in ("dtheta1", "dtheta2")})
    assert np.sort(np.abs(fixed.multipliers)) == pytest.approx(np.sort(np.abs(powered.multipliers) ** 2), rel=1e-6)


def test_friction_has_no_collisionless_gaits():
    rough = find_gait("swing", robots.monkeybot(hand_dry=0.05))
    with pytest.raises(InputError, match="cannot rise as it fell"):
        collisionless(rough)
    with pytest.raises(SaltusError, match="no fixed point near the guess"):
        solve(rough.with_knobs(motor_torque=3.0), {"dtheta1": 0.75, "dtheta2": 11.08})


def test_collisionless_gaits_are_found_from_rest(swing):
    found = collisionless(swing)
    assert len(found) == 4  # two with the elbow below the hands at rest, two with it above
    for gait in found:
        assert gait.miss < 1e-12
        assert gait.fixed.cycle.error < 1e-20
        assert max(gait.fixed.cycle.losses.values()) < 1e-20
        assert gait.fixed.travel[1] == pytest.approx(0.0, abs=1e-12)
        assert np.abs(gait.fixed.multipliers).max() > 1.0  # why it does not last


def test_collisionless_gait_by_states_grazes(swing):
    near = collisionless(swing)[0]
    start = {name: near.fixed.start[name] for name in ("dtheta1", "dtheta2")}
    # a little more speed, so that the guard is reached at all
    fixed = run_cycle(swing, {name: value * (1 + 1e-9) for name, value in start.items()})
    assert fixed.speeds["switch"] < 1e-3


@pytest.mark.parametrize("guess", [(0.5, 11.5), (0.7, 11.0), (1.0, 11.0), (0.3, 11.8)])
def test_fixed_point_from_guesses_on_either_side_of_the_border(swing, powered, guess):
    # the end of the first phase depends on the start as on a square root; the start on the end, smoothly
    found = solve(swing, dict(zip(("dtheta1", "dtheta2"), guess, strict=True)), {"motor_torque": 3.0})
    assert found.start == pytest.approx(powered.start, abs=1e-8)


def test_fixed_points_of_a_map(swing, powered):
    axes = ("dtheta1", np.linspace(0.4, 1.2, 17)), ("dtheta2", np.linspace(10.7, 11.5, 17))
    found = fixed_points(error_map(swing.with_knobs(motor_torque=3.0), *axes), most=4)
    assert len(found) == 1
    assert found[0].start == pytest.approx(powered.start, abs=1e-8)
    # with too little torque the map leads to the gaits that lose nothing
    axes = ("dtheta1", np.linspace(1.3, 1.7, 9)), ("dtheta2", np.linspace(9.9, 10.5, 9))
    found = fixed_points(error_map(swing, *axes), most=4)
    assert [point.grazing for point in found] == [("switch",)]
    assert found[0].start["dtheta1"] == pytest.approx(collisionless(swing)[0].fixed.start["dtheta1"], abs=1e-9)


def test_with_too_little_torque_the_search_by_state_grazes(swing):
    found = solve(swing, {"dtheta1": 1.4, "dtheta2": 10.4})
    assert found.grazing == ("switch",)
    assert found.residual < 1e-10
    assert np.abs(found.multipliers_timed).max() > 1.5
    with pytest.raises(SaltusError, match="without speed"):
        found.multipliers  # noqa: B018


def test_how_the_hand_comes_to_its_catch(powered):
    (catch,) = catches(powered.cycle)
    assert catch.phase == "switch"
    assert catch.speed[1] > 0  # the guard counts upward passages
    assert catch.highest < 1e-6
    assert "up from below" in catch.about


def test_a_changed_robot_has_its_own_collisionless_gaits(swing):
    expected = collisionless(find_gait("swing", robots.monkeybot(g=5.0)))[0].fixed.start
    assert expected["dtheta1"] == pytest.approx(1.0842458, abs=1e-6)
    collisionless(swing)  # those of another robot are known already
    for gait in (swing.with_parameters(g=5.0), swing.with_knob("g").with_knobs(g=5.0)):
        assert collisionless(gait)[0].fixed.start == pytest.approx(expected, abs=1e-9)
    assert collisionless(swing.with_knob("g"), {"g": 5.0})[0].fixed.start == pytest.approx(expected, abs=1e-9)
    near = {"dtheta1": 1.5187, "dtheta2": 10.2178}
    for found in (solve(swing.with_parameters(g=9.805), near), solve(swing.with_knob("g"), near, {"g": 9.805})):
        assert found.start["dtheta1"] == pytest.approx(1.5183314, abs=1e-6)
        assert found.start["dtheta2"] == pytest.approx(10.2152081, abs=1e-6)


def test_a_weaker_motor_narrows_the_search():
    gait = find_gait("pieces", robots.monkeybot()).with_parameters(torque_limit=0.5)
    assert {(gait.knobs[name].lower, gait.knobs[name].upper) for name in gait.knobs if "torque" in name} == {
        (-0.5, 0.5)
    }
    assert (
        find_gait("swing", robots.monkeybot()).with_parameters(torque_limit=3.0).knobs["motor_torque"].upper == np.inf
    )


def test_kinetic_energy_is_that_of_the_robot_of_the_point(powered):
    point = follow(powered, "m1", (0.95, 1.05)).points[0]
    robot = robots.monkeybot(m1=point.knobs["m1"], m2=point.knobs["m1"])
    same = find_gait("swing", robot).with_knobs(motor_torque=3.0)
    start = {name: point.start[name] for name in same.free}
    expected = iterate(same, 2, start=start)
    found = iterate(point, 2)
    assert found.kinetic_start == pytest.approx(expected.kinetic_start, rel=1e-12)
    assert found.kinetic == pytest.approx(expected.kinetic, rel=1e-6)


def test_a_map_says_which_robot_it_is_of(swing):
    gait = swing.with_knob("m1").with_knob("r1")
    rates = ("dtheta2", np.linspace(9.0, 10.0, 2))
    said = error_map(gait, ("m1", np.linspace(0.9, 1.1, 2)), rates, knobs={"r1": 0.1}).to_dataset().attrs
    assert "parameter_m1" not in said
    assert "parameter_m2" not in said  # it follows m1
    assert (said["parameter_r1"], said["parameter_r2"]) == pytest.approx((0.1, robots.monkeybot().values["L2"] - 0.1))
