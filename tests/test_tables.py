"""Lanes in single precision, tables, and dynamic programming: against SciPy, the engine, and answers that are known."""

import ctypes
import itertools
import math
import pickle
from dataclasses import asdict, replace

import casadi as ca
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import types
from records import rewritten
from scipy.integrate import solve_ivp

import saltus
from saltus import _checkpoint, robots
from saltus._native import FLOATS, INTEGERS, compile_entry, ctypes_entry, pointer_to
from saltus.contact import JointUnit, World, ladder, rope
from saltus.control import Axis, Constant, Encoder, Gripper, Hardware, Imu, Policy, Reach, Table
from saltus.control._grid import grid_numbers, interpolated, nearest
from saltus.control._policy_numbers import same_in_a_mirror
from saltus.engine import _single as S
from saltus.engine._reduced import reduced
from saltus.engine._single import BLOCK, Aim, Block, sincos_single
from saltus.errors import InputError
from saltus.hybrid import HybridSystem
from saltus.mechanism import Mechanism, Prismatic, Revolute
from saltus.optimize import Discounted, RandomActions, train_table
from saltus.robots._bars import between
from saltus.studies import swings


def trigonometry(x, out, n):
    for k in range(n):
        s, c = sincos_single(x[k])
        out[2 * k], out[2 * k + 1] = s, c
    return 0


def looked_up(V, whole, real, x, out, n):
    for k in range(n):
        out[2 * k] = interpolated(V, whole, real, x[4 * k], x[4 * k + 1], x[4 * k + 2], x[4 * k + 3])
        out[2 * k + 1] = np.float32(nearest(whole, real, x[4 * k], x[4 * k + 1], x[4 * k + 2], x[4 * k + 3]))
    return 0


def called(function, pointers):
    """Call a compiled function of some arrays and their length."""
    kind = types.int32(*pointers, types.int64)
    entry = compile_entry(function, kind, f"test-{function.__name__}")
    call = ctypes_entry(entry, ctypes.c_int32, [ctypes.c_void_p] * len(pointers) + [ctypes.c_int64])
    return lambda *arrays, n: call(*map(pointer_to, arrays), n)


@pytest.fixture(scope="module")
def lookup():
    call = called(looked_up, [FLOATS, INTEGERS, FLOATS, FLOATS, FLOATS])

    def look(table, axes, points):
        x = np.ascontiguousarray(points, dtype=np.float32)
        out = np.zeros((len(x), 2), dtype=np.float32)
        call(np.ascontiguousarray(table, dtype=np.float32), *grid_numbers(axes), x, out, n=len(x))
        return out.T

    return look


def test_sine_and_cosine_in_single_precision():
    x = np.concatenate([np.linspace(-7, 7, 20001), np.linspace(-3000, 3000, 20001)]).astype(np.float32)
    out = np.zeros((len(x), 2), dtype=np.float32)
    called(trigonometry, [FLOATS, FLOATS])(x, out, n=len(x))
    exact = np.stack([np.sin(x.astype(float)), np.cos(x.astype(float))], axis=1)
    assert np.abs(out[:20001] - exact[:20001]).max() < 1.3e-7
    assert np.abs(out - exact).max() < 2e-7


# -- motion of lanes ----------------------------------------------------------------------------------


def by_hand(p):
    """Accelerations of two links that hang by hand A, written down anew; angles from straight down."""
    a = p["I1"] + p["m1"] * p["r1"] ** 2 + p["m2"] * p["L1"] ** 2
    b, c = p["I2"] + p["m2"] * p["r2"] ** 2, p["m2"] * p["L1"] * p["r2"]
    g1, g2 = (p["m1"] * p["r1"] + p["m2"] * p["L1"]) * p["g"], p["m2"] * p["r2"] * p["g"]

    def flow(t, x, u):
        q1, q2, v1, v2 = x
        M = np.array([[a + b + 2 * c * math.cos(q2), b + c * math.cos(q2)], [b + c * math.cos(q2), b]])
        bent = g2 * math.sin(q1 + q2)
        force = np.array(
            [
                c * math.sin(q2) * (2 * v1 * v2 + v2 * v2) - g1 * math.sin(q1) - bent,
                u - c * math.sin(q2) * v1 * v1 - bent,
            ]
        )
        return [v1, v2, *np.linalg.solve(M, force)]

    return flow


def moved(block, mode, states, inputs, step, steps):
    """Lanes of a block after some steps."""
    W = np.zeros((S.ROWS, BLOCK), dtype=np.float32)
    W[[S.Q0, S.Q1, S.V0, S.V1], : len(states)] = np.asarray(states).T
    W[S.U, : len(states)], W[S.HIT] = inputs, -1.0
    p = mode.values().astype(np.float32)
    block.move(pointer_to(W), pointer_to(p), step, steps)
    return W


def test_lanes_move_as_scipy_says():
    robot = robots.brachiator()
    mode = reduced(robot, "A")
    block = Block(mode, Aim(ca.SX(1), ca.SX(1)), "leapfrog", stops=False)
    draw = np.random.default_rng(3)
    states, inputs = draw.uniform([-3, -2, -2, -2], [3, 2, 2, 2], (6, 4)), draw.uniform(-4, 4, 6)
    W = moved(block, mode, states, inputs, 2.5e-4, 1200)
    for k in range(6):
        end = solve_ivp(by_hand(robot.values), (0, 0.3), states[k], args=(inputs[k],), rtol=1e-10, atol=1e-10).y[:, -1]
        np.testing.assert_allclose(W[[S.Q0, S.Q1, S.V0, S.V1], k], end, rtol=0, atol=2e-4 * (1 + np.abs(end).max()))


def test_a_stop_takes_what_it_takes_in_the_engine():
    robot = robots.brachiator(elbow_stop=1.0)
    mode = reduced(robot, "A")
    start = {**between(robot, 0), "theta1": 0.3, "theta2": 0.7}
    run = saltus.simulate(robot, start, controller=Constant(4.0), mode={"B": "open"}, until=0.3)
    assert "theta2.upper" in [event.guard for event in run.events]
    block = Block(mode, Aim(ca.SX(1), ca.SX(1)), "leapfrog")
    W = moved(block, mode, [[0.3, 0.7, 0.0, 0.0]], [4.0], 1e-4, 3000)
    end = [run.final[name] for name in ("theta1", "theta2", "dtheta1", "dtheta2")]
    np.testing.assert_allclose(W[[S.Q0, S.Q1, S.V0, S.V1], 0], end, rtol=0, atol=5e-3)


@pytest.mark.parametrize("hand", ["A", "B"])
def test_a_reduced_mode_moves_as_the_whole_robot(hand):
    """Held by either hand, with friction about it, through the angles of that hand."""
    robot = robots.brachiator(hand_viscous=0.2, elbow_viscous=0.1)
    mode, m = reduced(robot, hand), robot.mechanism
    place = ca.Function("place", [m.q, m.p], [m.points[hand].position])
    rates = ca.Function("rates", [m.q, m.p], [ca.jacobian(m.points[hand].position, m.q)])
    turned = {"theta1": 0.4 if hand == "A" else 2.5, "theta2": 0.5}
    q = np.array([0.0, 0.0, *turned.values()])
    q[:2] = -np.array(place(q, robot.parameter_values)).ravel()
    v = np.array([0.0, 0.0, 0.7, -1.1])
    v[:2] = -np.array(rates(q, robot.parameter_values) @ v).ravel()
    start = dict(zip(robot.state_names, [*q, *v], strict=True))
    other = "B" if hand == "A" else "A"
    run = saltus.simulate(robot, start, controller=Constant(1.5), mode={hand: "closed", other: "open"}, until=0.25)
    flow = ca.Function("flow", [mode.q, mode.v, mode.u, mode.p], [mode.acceleration])

    def rate(t, x):
        return [*x[2:], *np.array(flow(x[:2], x[2:], 1.5, mode.values())).ravel()]

    end = solve_ivp(rate, (0, 0.25), [*turned.values(), *v[2:]], rtol=1e-10, atol=1e-12).y[:, -1]
    np.testing.assert_allclose(
        end, [run.final[name] for name in ("theta1", "theta2", "dtheta1", "dtheta2")], rtol=0, atol=1e-7
    )


# -- tables -------------------------------------------------------------------------------------------

numbers = st.floats(-2, 2)


@settings(max_examples=40, deadline=None)
@given(
    st.lists(numbers, min_size=16, max_size=16),
    st.lists(st.integers(3, 6), min_size=4, max_size=4),
    st.lists(st.tuples(*[st.floats(-1.5, 2.5)] * 4), min_size=1, max_size=5),
)
def test_interpolation_is_exact_for_what_is_linear_in_each(lookup, weights, counts, points):
    """Within the grid; beyond it, the value is that at its edge."""
    axes = tuple(Axis(f"x{k}", -1.5 + k, 2.5 + k / 2, count) for k, count in enumerate(counts))
    w = np.array(weights).reshape(2, 2, 2, 2)

    def f(*x):
        total = 0.0
        for index in np.ndindex(2, 2, 2, 2):
            total = total + w[index] * np.prod([one**k for one, k in zip(x, index, strict=True)], axis=0)
        return total

    table = f(*np.meshgrid(*(axis.places for axis in axes), indexing="ij"))
    clamped = [
        np.clip(np.array(column), axis.lower, axis.upper)
        for column, axis in zip(zip(*points, strict=True), axes, strict=True)
    ]
    found, _ = lookup(table, axes, points)
    np.testing.assert_allclose(found, f(*clamped), rtol=0, atol=3e-5 * (1 + np.abs(table).max()))


def test_an_axis_that_closes_on_itself_and_nearest_states(lookup):
    axes = (Axis("a", -math.pi, math.pi, 8, periodic=True), *(Axis(name, -1, 1, 3) for name in "bcd"))
    table = np.zeros((8, 3, 3, 3))
    table[0], table[7] = 1.0, 3.0
    spacing = math.pi / 4
    points = [
        (math.pi - share * spacing + turns * 2 * math.pi, 0, 0, 0) for share in (0.25, 0.75) for turns in (-3, 0, 2)
    ]
    found, at = lookup(table, axes, points)
    np.testing.assert_allclose(found, [1.5] * 3 + [2.5] * 3, rtol=0, atol=1e-4)
    middle = (1 * 3 + 1) * 3 + 1
    assert at.tolist() == [middle] * 3 + [7 * 27 + middle] * 3
    assert lookup(table, axes, [(math.nan,) * 4]).shape == (2, 1)  # no number comes from somewhere in the table


def small(**options):
    given = {"robot": robots.brachiator(), "goal": ("B", (0.55, 0.0)), "holds": "A", "grid": 9, **options}
    return Reach(**given)


RECIPES = [Discounted(sweeps=5), RandomActions(sweeps=6, seed=3)]
RECIPE = pytest.mark.parametrize("recipe", RECIPES, ids=lambda recipe: recipe.name)


@RECIPE
def test_threads_make_no_difference(recipe):
    one, two, three = (train_table(small(), recipe, threads=n) for n in (1, 2, 3))
    for other in (two, three):
        assert one.values.tobytes() == other.values.tobytes()
        assert one.residual == other.residual
        assert one.actions is None or one.actions.tobytes() == other.actions.tobytes()
    assert one.values.max() > one.values.min()


@RECIPE
def test_a_table_in_two_goes_is_the_same(recipe, tmp_path, press_ctrl_c):
    """Broken off in the middle of a sweep, by a callback or by Ctrl-C."""
    whole = train_table(small(), recipe)

    def stop(sweep):
        if sweep.number == 2:
            raise KeyboardInterrupt

    pressed = []

    def press(sweep):
        if sweep.number == 1 and not pressed:
            pressed.append(True)
            press_ctrl_c()

    for k, progress in enumerate((stop, press)):
        path = tmp_path / f"{k}.npz"
        with pytest.raises(KeyboardInterrupt):
            train_table(small(), recipe, progress=progress, checkpoint=path)
        kept = Table.load(path)
        assert kept.sweeps < recipe.sweeps
        assert kept.begun[0] > 0 or k == 1
        again = train_table(small(), recipe, checkpoint=path, resume=True, threads=1)
        assert again.values.tobytes() == whole.values.tobytes()
        assert (again.sweeps, again.residual) == (whole.sweeps, whole.residual)


def test_only_the_same_is_gone_on_with(tmp_path):
    path = train_table(small(), Discounted(sweeps=1)).save(tmp_path / "one.npz")
    for task, recipe, match in [
        (small(), RandomActions(), "name = saltus, and wanted is thesis"),
        (small(), Discounted(effort=0.5), r"effort = 0.0, and wanted is 0.5"),
        (small(grid=10), Discounted(), "another grid: theta1 .* 9 places"),
        (small(stops=False), Discounted(), "stops = True"),
        (Reach(robots.brachiator(), ("B", (0.5, 0)), holds="A", grid=9), Discounted(), r"goal .*x=0.55"),
        (Reach(robots.brachiator(), ("A", (0.55, 0)), holds="B", grid=9), Discounted(), "held by A"),
        (Reach(robots.brachiator(m1=2.0), ("B", (0.55, 0)), holds="A", grid=9), Discounted(), "m1 = 1.77705, and .* 2"),
    ]:
        with pytest.raises(InputError, match=match):
            train_table(task, recipe, checkpoint=path, resume=True)


def test_what_a_reversal_costs():
    """A double integrator has one reversal on its fastest way: after an input to the wrong side it is worth less."""
    robot = cart()
    m = robot.mechanism
    grid = {
        "a": Axis("a", -2, 2, 41), "b": Axis("b", -1, 1, 3), "da": Axis("da", -3, 3, 41), "db": Axis("db", -1, 1, 3),
    }  # fmt: skip
    a, da = m.coordinate("a").symbol, m.v[m.velocity_index("a")]
    task = Reach(robot, ca.fmax(ca.fabs(a), ca.fabs(da)) - 0.15, worth=ca.SX(1), grid=grid)
    left = 0.7
    free, costly = (
        train_table(task, Discounted(tolerance=1e-4, sweeps=200, reversal=reversal)) for reversal in (0.0, 1 - left)
    )
    assert (free.sides, costly.sides) == (1, 2)
    minus, plus = costly.values[:, :, 1, :, 1]
    plain = free.values[:, 1, :, 1]
    known = plain > 0.05
    # nothing is worth more than without the cost, nor is one side worth less than the other with one more reversal
    assert (np.maximum(minus, plus) <= plain + 1e-5).all()
    assert (minus >= left * plus - 1e-5).all()
    assert (plus >= left * minus - 1e-5).all()
    # in a mirror the sides change places
    np.testing.assert_allclose(minus, plus[::-1, ::-1], rtol=0, atol=2e-3)
    # at rest on the right: it is pushed left and then stopped, so that a push to the left before costs one reversal
    # less than one to the right: what is lost is one and two of them
    right = known & (np.abs(free.axes[2].places) < 1e-9) & (free.axes[0].places[:, None] > 0.5)
    assert right.sum() > 10
    np.testing.assert_allclose(plus[right] / minus[right], left, rtol=0.03)
    np.testing.assert_allclose(minus[right], left * plain[right], rtol=0.02)


def test_files_are_the_same_again_and_damage_is_seen(tmp_path):
    table = train_table(small(grid={"theta1": 7, "theta2": 5, "dtheta1": 6, "dtheta2": 4}), RandomActions(sweeps=2))
    path = table.save(tmp_path / "table.npz")
    again = Table.load(path, robots.brachiator())
    for name in ("axes", "goal", "holds", "robot", "parameters", "sweeps", "residual"):
        assert getattr(again, name) == getattr(table, name)
    assert again.values.tobytes() == table.values.tobytes()
    assert again.actions.tobytes() == table.actions.tobytes()
    content = path.read_bytes()
    for k in np.linspace(40, len(content) - 40, 12).astype(int):
        bad = tmp_path / "bad.npz"
        bad.write_bytes(content[:k] + bytes([content[k] ^ 0xFF]) + content[k + 1 :])
        try:
            read = Table.load(bad)
        except InputError:
            continue
        assert read.values.tobytes() == table.values.tobytes()  # it was a byte that says nothing, such as a date
        assert read.parameters == table.parameters
    for content_of_another in (content[: len(content) // 2], b"", b"hello"):
        bad.write_bytes(content_of_another)
        with pytest.raises(InputError, match="not a file of 'saltus table 3', or damaged"):
            Table.load(bad)
    with pytest.raises(InputError, match=r"table.npz: .* L1 = 0.4, and here L1 = 0.41"):
        Table.load(path, robots.brachiator(L1=0.41))
    with pytest.raises(InputError, match="of brachiator, not of double_pendulum"):
        Table.load(path, robots.double_pendulum())


def edited(path, target, *, whole=True, **changes):
    """A file with other words or arrays; with a digest that fits, if it is to be whole."""

    def change(head, arrays):
        arrays |= {name: value for name, value in changes.items() if isinstance(value, np.ndarray)}
        head |= {name: value for name, value in changes.items() if not isinstance(value, np.ndarray)}

    return rewritten(path, target, change, whole=whole)


def test_words_of_a_file_are_as_safe_as_its_numbers(tmp_path):
    table = train_table(small(grid=5), Discounted(sweeps=1))
    path, bad = table.save(tmp_path / "table.npz"), tmp_path / "bad.npz"
    assert Table.load(edited(path, bad)).values.tobytes() == table.values.tobytes()
    for changes in [
        {"holds": "B"}, {"parameters": {}}, {"goal": None}, {"sweeps": 9}, {"values": np.asfortranarray(table.values)},
        {"values": table.values.view(np.int32)},
    ]:  # fmt: skip
        with pytest.raises(InputError, match="damaged: its numbers are not those"):
            Table.load(edited(path, bad, whole=False, **changes))
    recipe = dict(table.recipe)
    for changes, match in [
        ({"recipe": recipe | {"name": "thesis"}}, "by thesis with its actions"),
        ({"recipe": recipe | {"name": "other"}}, "not by 'other'"),
        ({"recipe": recipe | {"patience": 0}}, "patience is a positive number, not 0"),
        ({"recipe": None}, "not by None"),
        ({"parameters": {"m2": "x"}}, "m2 is 'x'"),
        ({"parameters": [1]}, "damaged"),
        ({"begun": [-5, 0]}, "how much of another"),
        ({"axes": [{"name": "theta1", "lower": 0, "upper": 1, "count": 5}] * 3}, "four axes"),
        ({"values": table.values.astype(float)}, "numbers of 32 bits"),
        ({"values": table.values.astype(">f4")}, "numbers of 32 bits"),
        ({"values": table.values[:, :3]}, "as many as its grid"),
        ({"actions": np.zeros(3, dtype=np.float32)}, "actions are as many"),
        ({"recipe": {k: v for k, v in recipe.items() if k != "stops"}}, "whether joints have stops"),
        ({"recipe": recipe | {"reversal": 1.0}}, "reversal a share below 1"),
        ({"recipe": recipe | {"reversal": 0.0}}, r"has not 2 value\(s\)"),
        ({"recipe": recipe | {"effort": "a"}}, "effort is not negative"),
        ({"values": table.values[0].copy()}, r"has not 1 value\(s\)"),
        ({"values": table.values * np.float32(math.nan)}, "some of its numbers are none"),
        ({"holds": ["A"]}, "a name of what holds"),
        ({"goal": {"point": "B", "x": "a", "y": 0, "radius": 0.1}}, "a place is a point"),
        ({"goal": {"point": "B", "x": 0.5, "y": 0, "radius": None}}, "a place is a point"),
        ({"axes": [asdict(axis) | {"periodic": "no"} for axis in table.axes]}, "closes on itself or does not"),
        ({"sweeps": 10**400}, "at most 300 digits"),
        ({"sweeps": math.inf}, "damaged"),
    ]:  # fmt: skip
        with pytest.raises(InputError, match=match):
            Table.load(edited(path, bad, **changes))


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: small(soft=0), "soft must be positive"),
        (lambda: small(goal=None), "goal is an expression of one number"),
        (lambda: small(goal="B"), "or a place; got 'B'"),
        (lambda: small(goal=(["B"], (0.5, 0))), "unknown point"),
        (lambda: small(goal=ca.SX.sym("z")), "unknown symbols z"),
        (lambda: small(goal=robots.brachiator().mechanism.points["B"].position), "got 2 numbers"),
        (lambda: small(goal=ca.MX.sym("z")), "goal is an expression"),
        (lambda: small(grid={"theta1": Axis("theta1", -1, 1, 8, periodic=True)}).axes(), "over a whole turn"),
        (
            lambda: small(grid={"theta2": Axis("theta2", -math.pi, math.pi, 8, periodic=True)}).axes(),
            "without stops closes on itself",
        ),
        (lambda: train_table(small(goal=lambda a, b, c, d: (c - 50.0) ** 2 - 1.0)), "outside the grid: 1599 is"),
        (lambda: train_table(small(worth=lambda a, b, c, d: 5.0), Discounted(sweeps=2)), "and values of 0 to 4"),
        (lambda: train_table(small(worth=lambda a, b, c, d: -1.0), Discounted(sweeps=2)), "and values of -"),
        (lambda: small(goal=lambda a, b: a), "tells one number; with .* it fails"),
        (lambda: small(goal=lambda a, b, c, d: "x"), "it tells 'x'"),
        (lambda: small(goal=ca.Function("two", [ca.SX.sym("x")], [ca.SX(1)])), "tells one number; got two"),
        (lambda: train_table(small(), checkpoint="x.dat"), "ends with .npz, got x.dat"),
        (lambda: train_table(small(worth=lambda a, b, c, d: math.nan), Discounted(sweeps=2)), "not a number somewhere"),
        (lambda: Discounted(reversal=1.0), "reversal is a share"),
        (lambda: train_table(small(grid=600)), r"needs 1.04e\+03 GB, and [\d.]+ GB are available"),
        (lambda: train_table(small(grid=2)), "at least 3 places, got 2"),
        (lambda: train_table(small(grid={"theta3": 5})), "unknown axis"),
        (lambda: train_table(small(robot=robots.brachiator(torque_limit=0))), "it is 0; there are no inputs"),
        (lambda: Discounted(inputs=(0.0, 0.0)), "all inputs are zero"),
        (lambda: Discounted(inputs=(1.5,)), "from -1 to 1, got 1.5"),
        (lambda: train_table(small(goal=("B", (1.2, 0)))), "nearest that it comes is 0.4 m, and 0.025 m is wanted"),
        (lambda: train_table(small(goal=("B", (math.nan, 0)))), "finite"),
        (lambda: train_table(small(goal=("B", 0.5))), "is \\(point, \\(x, y\\)\\)"),
        (lambda: train_table(small(goal=("C", (0.5, 0)))), "unknown point"),
        (lambda: train_table(small(holds=None)), "has 4 degrees of freedom"),
        (lambda: train_table(small(robot=robots.five_link_brachiator())), "has 5 degrees of freedom"),
        (lambda: train_table(small(robot=robots.hopper(), holds=None)), "hopper"),
        (lambda: train_table(small(), threads=0), "threads"),
        (lambda: train_table(small(), resume=True), "which checkpoint"),
        (lambda: RandomActions(seed=-1), "seed"),
    ],
)  # fmt: skip
def test_what_cannot_be_trained_is_refused_at_once(make, match):
    with pytest.raises(InputError, match=match):
        make()


def test_a_goal_that_only_a_closer_look_finds_is_on_the_grid():
    assert len(small(radius=1e-4).check()) == 4
    fast = lambda a, b, c, d: (a - 0.5) ** 2 + (b - 0.5) ** 2 + (c - 4) ** 2 + (d - 4) ** 2 - 0.01  # noqa: E731
    assert len(small(goal=fast).check()) == 4


def test_numbers_of_numpy_are_written_and_gone_on_with(tmp_path):
    recipe = Discounted(inputs=np.array([-1.0, 0.0, 1.0]), effort=np.float32(0.5), sweeps=1)
    path = train_table(small(soft=np.float32(1.5)), recipe).save(tmp_path / "one.npz")
    assert train_table(small(), replace(recipe, sweeps=2), checkpoint=path, resume=True).sweeps == 2
    with pytest.raises(InputError, match="another worth"):
        train_table(small(worth=ca.SX(1)), replace(recipe, sweeps=2), checkpoint=path, resume=True)


@RECIPE
@pytest.mark.parametrize("threads", [1, 3])
def test_whenever_a_training_is_killed_it_is_resumed_bit_for_bit(recipe, threads, tmp_path, monkeypatch):
    """Each checkpoint as it was on the disk at some time: also those in the middle of a sweep."""
    monkeypatch.setattr(_checkpoint, "LONGEST", 0.0)
    monkeypatch.setattr(_checkpoint, "SHARE", 1.0)
    path, found = tmp_path / "stored.npz", []
    task, store = small(), _checkpoint.Checkpoint.try_to_save

    def copied(self):
        store(self)
        found.append(path.read_bytes())

    monkeypatch.setattr(_checkpoint.Checkpoint, "try_to_save", copied)
    whole = train_table(task, recipe, checkpoint=path, threads=threads)
    monkeypatch.undo()
    began = []
    for content in found[:: max(1, len(found) // 8)]:
        path.write_bytes(content)
        began.append(Table.load(path).begun[0])
        again = train_table(task, recipe, checkpoint=path, resume=True, threads=2)
        assert again.values.tobytes() == whole.values.tobytes()
        assert again.actions is None or again.actions.tobytes() == whole.actions.tobytes()
        assert (again.sweeps, again.residual, again.ahead) == (whole.sweeps, whole.residual, None)
    assert any(0 < slices < 9 for slices in began)


# -- a problem with a known answer ----------------------------------------------------------------------


def cart():
    """Two wheels beside each other, of which one is driven: its angle is a double integrator."""
    m = Mechanism("cart")
    m.gravity = 0.0
    limit = m.parameter("torque_limit", 2.0, "N m", "of the motor", lower=0)
    m.body("one", Revolute("a"), mass=1.0, inertia=1.0, com=(0, 0))
    m.body("two", Revolute("b"), mass=1.0, inertia=1.0, com=(0, 0))
    m.actuator("motor", "a", limit=limit)
    return HybridSystem(m, about="two wheels")


def near_rest(q0, q1, v0, v1):
    return max(abs(q0), abs(v0)) - 0.15


def certain(q0, q1, v0, v1):
    return 1.0 + 0.0 * q0


def fastest(q, v, most, size):
    """The least time of a double integrator from (q, v) into a square about rest, from one full input to the other."""
    least = np.full(np.shape(q), np.inf)
    for end, speed in itertools.product(np.linspace(-size, size, 13), repeat=2):
        for side in (1.0, -1.0):
            # as if to the right; the rate at which the input changes its sign
            v0, v1, way = side * v, side * speed, side * (end - q)
            square = (v0**2 + v1**2) / 2 + most * way
            turn = np.sqrt(np.maximum(square, 0))
            there = (square >= 0) & (turn >= np.maximum(v0, v1))
            least = np.where(there, np.minimum(least, (2 * turn - v0 - v1) / most), least)
    return least


def test_the_fastest_way_of_a_double_integrator():
    robot = cart()
    m = robot.mechanism
    grid = {
        "a": Axis("a", -2, 2, 61), "b": Axis("b", -1, 1, 3), "da": Axis("da", -3, 3, 61), "db": Axis("db", -1, 1, 3),
    }  # fmt: skip
    a, da = m.coordinate("a").symbol, m.v[m.velocity_index("a")]
    goal = ca.fmax(ca.fabs(a), ca.fabs(da)) - 0.15
    recipe = Discounted(tolerance=1e-3, sweeps=100, reversal=0.0)
    told = train_table(Reach(robot, goal, worth=ca.SX(1), grid=grid), recipe)
    made = train_table(Reach(robot, near_rest, worth=certain, grid=grid), recipe)
    np.testing.assert_allclose(told.values, made.values, rtol=0, atol=1e-6)
    places, rates = np.meshgrid(told.axes[0].places, told.axes[2].places, indexing="ij")
    exact = fastest(places, rates, 2.0, 0.15)
    # what leaves the grid on the way is worth nothing, whatever there leaves it
    inside = (np.abs(places) + rates**2 / 4 < 1.65) & (np.abs(rates) < 2) & (exact > 0.1)
    late = (-np.log(np.maximum(told.values[:, 1, :, 1], 1e-9)) - exact)[inside]
    assert len(late) > 800
    assert late.min() > -0.12
    assert np.median(late) < 0.15
    assert late.max() < 0.3
    with pytest.raises(InputError, match=r"0\.85 is the least value of it that was found there"):
        train_table(Reach(robot, goal + 1, worth=ca.SX(1), grid=grid), recipe)


# -- the policy -----------------------------------------------------------------------------------------


def upright(robot):
    """Near upright, slowly."""
    q, v = robot.mechanism.q, robot.mechanism.v
    return ca.fmax((1 + ca.cos(q[0])) + (1 - ca.cos(q[1])) - 0.3, ca.sumsqr(v) - 9)


def test_a_robot_without_hands_and_a_goal_that_is_an_expression(tmp_path):
    robot = robots.double_pendulum(torque_limit=25.0)
    task = Reach(robot, upright(robot), worth=ca.SX(1), grid={"theta1": 15, "theta2": 15, "dtheta1": 15, "dtheta2": 15})
    table = train_table(task, Discounted(patience=2.0, sweeps=12))
    policy = Policy(table)
    goal = ca.Function("goal", [robot.mechanism.q, robot.mechanism.v], [upright(robot)])
    run = saltus.simulate(robot, {"theta1": 1.5, "theta2": 0.0}, controller=policy, until=4.0)
    assert min(float(goal(x[:2], x[2:])) for x in run.at(np.linspace(0, 4, 801))) <= 0.0
    assert float(goal([1.5, 0.0], [0.0, 0.0])) > 0.5
    path = table.save(tmp_path / "one.npz")
    for lost in (pickle.loads(pickle.dumps(policy)), Policy(str(path))):
        with pytest.raises(InputError, match=r"tell it again, by Table\.load"):
            lost.bind(robot)
    again = saltus.simulate(
        robot, {"theta1": 1.5, "theta2": 0.0}, controller=Policy(Table.load(path, task=task)), until=4.0
    )
    assert again.final == run.final
    for other, match in [
        (replace(task, goal=upright(robot) - 0.1), "another goal"),
        (replace(task, worth=None), "another worth"),
        (replace(task, soft=99.0), "with soft = 1.5, and told is 99"),
        (replace(task, stops=False), "with stops = True"),
        (replace(task, grid=9), "another grid"),
        (5, "told by a saltus.control.Reach, got 5"),
        (replace(task, robot=robots.double_pendulum(torque_limit=20.0)), "torque_limit = 25"),
    ]:
        with pytest.raises(InputError, match=match):
            Table.load(path, task=other)


def near_upright(q0, q1, v0, v1):
    return max((1 + math.cos(q0)) + (1 - math.cos(q1)) - 0.3, v0 * v0 + v1 * v1 - 9)


def test_functions_of_casadi_and_of_python_and_expressions_are_the_same_goal():
    robot = robots.double_pendulum(torque_limit=25.0)
    q, v = ca.SX.sym("q", 2), ca.SX.sym("v", 2)
    same = ca.Function("upright", [q[0], q[1], v[0], v[1]], [ca.fmax((1 + ca.cos(q[0])) + (1 - ca.cos(q[1])) - 0.3,
                                                                     ca.sumsqr(v) - 9)])  # fmt: skip
    made = [
        train_table(Reach(robot, goal, worth=ca.SX(1), grid=7), Discounted(sweeps=4)).values
        for goal in (upright(robot), near_upright, same)
    ]
    assert made[0].max() > 0.5
    for other in made[1:]:
        np.testing.assert_allclose(other, made[0], rtol=0, atol=1e-5)


@pytest.mark.parametrize(
    ("robot", "holds", "goal", "start"),
    [
        (robots.monkeybot, "A", ("B", (0.6, 0.0)), {"theta1": 0.3, "dtheta1": 0.0, "dtheta2": 0.0}),
        (robots.arm, "hand", ("tip", (0.7, 0.0)), {"theta1": 0.3, "theta2": 0.0}),
    ],
)
def test_where_there_are_no_bars_a_hand_closes_at_its_goal(robot, holds, goal, start):
    """From both hands closed: the free one lets go, swings there, takes hold and stays."""
    system, (free, place) = robot(), goal
    table = train_table(Reach(system, goal, holds, radius=0.03, grid=24))
    run = saltus.simulate(system, start, controller=Policy(table), mode={free: "closed"}, until=8.0)
    commands = [event for event in run.events if event.guard == "command"]
    assert len(commands) == 2
    hand = ca.Function("hand", [system.mechanism.q, system.mechanism.p], [system.mechanism.points[free].position])
    end = np.array(hand(list(run.final.values())[:4], system.parameter_values)).ravel()
    assert np.hypot(*(end - place)) <= 0.03 + 1e-9
    assert not run.samples.inputs[-10:].any()
    assert run.check().ok


def test_hand_over_hand_along_a_rope(tables):
    robot = robots.brachiator(world=rope())
    run = saltus.simulate(robot, controller=Policy(tables), until=4.0)
    made = [swing for swing in swings(run) if swing.caught]
    assert len(made) >= 3
    assert run.final["x"] > 0.9
    assert run.check().ok
    alone = saltus.simulate(robot, controller=Policy(tables[0]), until=4.0)
    assert len([event for event in alone.events if event.guard == "command"]) == 1
    assert not alone.samples.inputs[-100:].any()


def test_a_foot_that_sticks_holds_as_a_hand_does():
    """The hopper brings its knee from its start to another pose while its foot sticks."""
    robot = robots.hopper(mu=20.0, tau_max=0.8)
    q, v = robot.mechanism.q, robot.mechanism.v
    pose = ca.fmax(ca.sumsqr(q[2:] - ca.vertcat(1.7, -1.6)) - 0.02, ca.sumsqr(v[2:]) - 4)
    grid = {
        "theta1": Axis("theta1", 1.0, 2.6, 19), "theta2": Axis("theta2", -3.0, -0.6, 19),
        "dtheta1": Axis("dtheta1", -12, 12, 19), "dtheta2": Axis("dtheta2", -20, 20, 19),
    }  # fmt: skip
    table = train_table(Reach(robot, pose, "P", worth=ca.SX(1), grid=grid), Discounted(step=0.02, patience=0.3))
    run = saltus.simulate(robot, controller=Policy(table, ahead=0.02, period=0.005), until=0.3)
    goal = ca.Function("pose", [q, v], [pose])
    assert not run.events
    assert min(float(goal(x[:4], x[4:])) for x in run.at(np.linspace(0, 0.3, 301))) <= 0.0
    assert float(goal(*np.split(run.at(np.array([0.0]))[0], 2))) > 0.1


def slide():
    """A pendulum under a cart that is pushed along a rail with ends."""
    m = Mechanism("slide")
    m.gravity = 9.81
    limit = m.parameter("push", 20.0, "N", "of the motor", lower=0)
    cart = m.body("cart", Prismatic("s"), mass=1.0)
    m.body("rod", Revolute("a"), parent=cart, mass=0.3, inertia=0.01, com=(0, -0.4))
    m.actuator("push", "s", limit=limit)
    return HybridSystem(m, units=(JointUnit(m.coordinate("s"), lower=-0.6, upper=0.6),), about="a cart")


def test_coordinates_in_metres():
    robot = slide()
    q, v = robot.mechanism.q, robot.mechanism.v
    goal = ca.fmax((q[0] - 0.4) ** 2 + 0.2 * q[1] ** 2 - 0.01, ca.sumsqr(v) - 0.5)
    rates = {"ds": Axis("ds", -3, 3, 15), "da": Axis("da", -8, 8, 15)}
    with pytest.raises(InputError, match="ds of slide is no rate of an angle: give its axis"):
        train_table(Reach(robot, goal, worth=ca.SX(1), grid=9))
    task = Reach(robot, goal, worth=ca.SX(1), grid={"s": 15, "a": 15, **rates})
    assert task.axes()[0] == Axis("s", -0.6, 0.6, 15)  # its stops
    table = train_table(task)
    run = saltus.simulate(robot, {"s": -0.4}, controller=Policy(table), until=4.0)
    reached = ca.Function("goal", [q, v], [goal])
    assert min(float(reached(x[:2], x[2:])) for x in run.at(np.linspace(0, 4, 801))) <= 0.0


def test_beyond_a_narrow_axis_nothing_is_known():
    """A goal near the edge of the grid: no state gains by leaving it."""
    robot = robots.double_pendulum(torque_limit=25.0)

    def values(end, count):
        grid = {name: Axis(name, -end, end, count) for name in ("theta1", "theta2")} | {"dtheta1": 7, "dtheta2": 7}
        goal = lambda a, b, c, d: (a - 0.45) ** 2 + (b - 0.45) ** 2 - 0.01  # noqa: E731
        return train_table(Reach(robot, goal, worth=certain, grid=grid), Discounted(tolerance=0, sweeps=8)).values

    narrow, wide = values(0.5, 11), values(3.0, 61)
    middle = wide[:, 25:36, 25:36]
    assert (narrow > 0).any()
    assert (narrow - middle).max() < 0.02


@pytest.fixture(scope="module")
def tables():
    """Of both hands, coarse."""
    return [
        train_table(Reach(robots.brachiator(), (free, (0.55, 0.0)), holds=hand, grid=22))
        for hand, free in (("A", "B"), ("B", "A"))
    ]


def up(x):
    robot = robots.brachiator(world=World(((0.0, 0.0), (x, 0.0))))
    return robot.with_start(between(robot, 0))


def test_to_either_side_it_is_the_same_in_a_mirror(tables):
    right, left = (
        saltus.simulate(robots.brachiator(world=World(((0.0, 0.0), (x, 0.0), (2 * x, 0.0)))), controller=Policy(tables))
        for x in (0.55, -0.55)
    )
    catches = [[event for event in run.events if event.guard.endswith(".catch")] for run in (right, left)]
    assert len(catches[0]) == len(catches[1]) == 1
    assert catches[0][0].t == pytest.approx(catches[1][0].t, abs=1e-6)
    assert right.final["theta2"] == pytest.approx(-left.final["theta2"], abs=1e-6)


def test_a_ladder_from_hand_to_hand_and_no_further_than_the_tables(tables):
    robot = robots.brachiator(world=ladder(0.55, 4))
    run = saltus.simulate(robot, controller=Policy(tables), until=12.0)
    caught = [event.guard for event in run.events if event.guard.endswith(".catch")]
    assert len(caught) >= 2
    one = saltus.simulate(robot, controller=Policy(tables, release_delay=0.1), until=0.5)
    assert next(event.t for event in one.events) == pytest.approx(0.1, abs=1e-9)
    # hand B is ahead at the start, so that A has to let go; without a table for B nothing does
    hands = {"A": tables[0], "B": tables[1]}
    ahead = "A" if float(robot.start_values["x"]) > 0.3 else "B"
    other = "B" if ahead == "A" else "A"
    still = saltus.simulate(robot, controller=Policy(hands[other]), until=0.5)
    assert not [event for event in still.events if "release" in event.guard or event.guard == "command"]
    moving = saltus.simulate(robot, controller=Policy(hands[ahead]), until=0.5)
    assert moving.final["theta2"] != still.final["theta2"]


def test_a_policy_in_a_batch_with_parts_and_in_another_process(tables):
    policy = Policy([tables[0]], blend=True)
    many = saltus.simulate_many(up(0.568), {"theta1": [0.1, -0.2]}, controllers=policy, mode={"B": "open"}, until=1.0)
    for k, theta in enumerate((0.1, -0.2)):
        alone = saltus.simulate(up(0.568), {"theta1": theta}, controller=policy, mode={"B": "open"}, until=1.0)
        assert many["theta2"][k] == pytest.approx(alone.final["theta2"], abs=1e-9)
    copy = pickle.loads(pickle.dumps(policy))
    behind = [Hardware(one, encoder=Encoder(), imu=Imu(), seed=4) for one in (policy, copy)]
    ends = [saltus.simulate(up(0.568), controller=one, mode={"B": "open"}, until=1.0).final["theta2"] for one in behind]
    assert ends[0] == ends[1]
    assert ends[0] != alone.final["theta2"]


def test_the_model_is_what_the_tables_were_made_for(tables):
    heavy = up(0.568).with_parameters(m2=2.1)
    with pytest.raises(InputError, match=r"m2 = 2.00899, and here m2 = 2.1"):
        Policy(tables[0]).bind(heavy)
    believing = Policy(tables[0], model=robots.brachiator().values)
    run = saltus.simulate(heavy, controller=believing, mode={"B": "open"}, until=0.5)
    assert np.abs(run.samples.inputs).max() > 0


@pytest.mark.parametrize("share", [1e-3, -1e-6, 1e-11])
def test_a_parameter_that_differs_by_more_than_rounding_is_another(tables, share):
    robot = up(0.568)
    for name in ("m2", "L1"):
        other = robot.with_parameters(**{name: tables[0].parameters[name] * (1 + share)})
        with pytest.raises(InputError, match=f"with {name} = .*, and here {name} = "):
            tables[0].check(other)
    rounded = robot.with_parameters(m2=tables[0].parameters["m2"] * (1 + 4e-16))
    assert tables[0].check(rounded) is tables[0]


def test_tables_of_other_worlds_steer_alike(tables):
    """The places of parameters of a robot among other bars are others."""
    robot = robots.brachiator(world=ladder(0.55, 4))
    mine = [train_table(replace(table.task, robot=robot)) for table in tables]
    ends = []
    for mixed in (tables, mine, [tables[0], mine[1]], [mine[0], tables[1]]):
        ends.append(saltus.simulate(robot, controller=Policy(mixed), until=2.5).final)
    assert all(end == ends[0] for end in ends[1:])


def test_where_nothing_is_known_nothing_is_done():
    table = replace(train_table(small(grid=5), Discounted(sweeps=1)), values=np.zeros((2, 5, 5, 5, 5), np.float32))
    for start in ({"theta1": 1.0}, {}):
        run = saltus.simulate(up(0.55), start, controller=Policy(table), mode={"B": "open"}, until=1.2)
        assert not run.samples.inputs.any()


def test_what_has_stalled_is_kicked(tables):
    """By a table that is worth most where the robot hangs: without a kick it would hang there for ever."""
    axes = tables[0].axes
    rest = sum((np.abs(axis.places) / axis.upper).reshape([-1 if k == n else 1 for n in range(4)])
               for k, axis in enumerate(axes))  # fmt: skip
    values = np.stack([np.exp(-rest).astype(np.float32)] * 2)
    table = replace(tables[0], values=np.ascontiguousarray(values))
    run = saltus.simulate(up(0.55), controller=Policy(table), mode={"B": "open"}, until=1.0)
    at = run.samples
    assert not at.inputs[at.t < 0.5].any()
    kicked = (at.t > 0.53) & (at.t < 0.71)
    assert (np.abs(at.inputs[kicked]) == 10.0).all()


def test_what_was_bound_before_makes_no_difference():
    """A look at other points of the same robot is another look."""
    one, two = (
        train_table(Reach(robots.monkeybot(), (free, (0.6, 0.0)), hand, radius=0.03, grid=16))
        for hand, free in (("A", "B"), ("B", "A"))
    )
    start = {"theta1": 0.3, "dtheta1": 0.0, "dtheta2": 0.0}

    def ends(tables):
        return saltus.simulate(robots.monkeybot(), start, controller=Policy(tables), until=1.5).final

    first = ends(one)
    Policy(two).bind(robots.monkeybot())
    goal = robots.monkeybot()
    other = train_table(Reach(goal, goal.mechanism.q[3] - 1, "A", worth=ca.SX(1), grid=7), Discounted(sweeps=1))
    Policy(other).bind(goal)
    assert ends(one) == first


def test_bars_that_are_far_from_all_tables_are_refused(tables):
    for robot, match in [
        (up(0.62), r"bar 1 is 0.62, 0 m .* for 0.55, 0 m: that is 0.07 m off, and 0.05 m"),
        (robots.brachiator(world=World(((0.0, 0.0), (0.55, 0.0), (1.1, 0.09)))), "bar 2 is 0.55, 0.09 m"),
    ]:
        with pytest.raises(InputError, match=match):
            Policy(tables).bind(robot)
    Policy(tables, far=0.1).bind(up(0.62))
    Policy(tables).bind(up(-0.6))  # in a mirror
    # nothing swings from bar 0 to bar 1 where both are held at the start
    Policy(tables).bind(robots.brachiator(world=World(((-0.42, 0.0), (0.0, 0.0), (0.55, 0.0)))))
    # each hand needs its own
    other = replace(tables[1], goal=replace(tables[1].goal, x=0.65))
    with pytest.raises(InputError, match=r"table of hand B is for 0\.65, 0 m"):
        Policy([tables[0], other]).bind(robots.brachiator(world=ladder(0.55, 4)))


def test_a_policy_knows_the_hardware_that_it_stands_behind(tables):
    policy = Policy(tables[0])
    behind = policy.suited(Hardware(policy, encoder=Encoder(), gripper=Gripper()))
    assert (behind.period, behind.near) == (1e-3, 0.25)
    kept = policy.suited(Hardware(policy, encoder=Encoder(), gripper=Gripper()), keep=["period"])
    assert (kept.period, kept.near) == (0.02, 0.25)
    assert policy.suited(Hardware(policy, imu=Imu())) == policy


def test_tables_that_do_not_go_together():
    for options, name in [({"soft": 0.5}, "soft is 1.5 in .* 0.5 in"), ({"radius": 0.1}, "radius")]:
        one, two = (train_table(small(grid=5, **more), Discounted(sweeps=1)) for more in ({}, options))
        with pytest.raises(InputError, match=f"made alike, and {name}"):
            Policy([one, two])
    two = train_table(small(grid=5), Discounted(sweeps=1, effort=1.0))
    with pytest.raises(InputError, match=r"made alike, and effort is 0.0 .* 1.0 in"):
        Policy([one, two])
    for options in ({"then": 2}, {"inputs": 22, "then": 3}, {"reversal": 1.5}, {"change": -0.1}, {"far": 0.0}):
        with pytest.raises(InputError, match="policy: "):
            Policy(one, **options)
    one = train_table(small(grid=5), Discounted(sweeps=1))
    two = train_table(small(grid=6), Discounted(sweeps=1))
    with pytest.raises(InputError, match=r"one grid and one recipe, got <table .*5 x 5.* and <table .*6 x 6"):
        Policy([one, two])
    with pytest.raises(InputError, match=r"tables are saltus\.control\.Table"):
        Policy([])
    with pytest.raises(InputError, match="limit must be positive and finite"):
        Policy(one, model=robots.brachiator().values).bind(robots.brachiator(torque_limit=0.0))


def leaning(aside):
    """Two links, the upper with its centre of mass so far beside its axis."""
    m = Mechanism("leaning")
    m.gravity = 9.81
    limit = m.parameter("torque_limit", 5.0, "N m", "of the motor", lower=0)
    upper = m.body("upper", Revolute("a"), mass=1.0, inertia=0.1, com=(aside, -0.5))
    lower = m.body("lower", Revolute("b", at=(0, -1.0)), parent=upper, mass=1.0, inertia=0.1, com=(0, -0.5))
    m.actuator("elbow", "b", limit=limit)
    m.point("tip", lower, (0, -1.0))
    return Reach(HybridSystem(m, about="two links"), ("tip", (0.5, 0.0)), radius=0.1)


def test_only_robots_that_are_the_same_in_a_mirror_get_mirrored_tables():
    assert same_in_a_mirror(small())
    assert same_in_a_mirror(Reach(robots.brachiator(), ("A", (0.55, 0.0)), holds="B"))
    assert same_in_a_mirror(leaning(0.0))
    assert not same_in_a_mirror(leaning(0.1))
