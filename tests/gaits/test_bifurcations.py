"""Bifurcations of maps that are known in closed form, found along their branches."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.linalg import block_diag

from saltus.errors import SaltusError
from saltus.gaits._bifurcations import bifurcations
from saltus.gaits._branch import Branch, Evaluation, Walk

# what root finding promises in the parameter
LOCATED = 1e-10

STEPS = [(0.05, 0.05), (0.2, 0.2), (0.003, 0.011), (1e-5, 0.1)]


def map_of(f, A, by):
    """A map x -> f(x, p) with its derivatives by x and by p, as a problem for a branch."""

    def at(z):
        x, p = z[:-1], z[-1]
        matrix = np.atleast_2d(A(x, p)).astype(float)
        slope = np.column_stack([matrix - np.eye(len(x)), by(x, p)])
        return Evaluation(z, np.asarray(f(x, p)) - x, slope, matrix)

    return at


def linear(multipliers):
    """A map with its fixed point at zero, and a matrix that depends on the parameter."""
    size = len(np.atleast_2d(multipliers(0.0)))
    return map_of(
        lambda x, p: np.atleast_2d(multipliers(p)) @ x, lambda x, p: multipliers(p), lambda x, p: np.zeros(size)
    )


LOGISTIC = map_of(lambda x, r: r * x * (1 - x), lambda x, r: [[r * (1 - 2 * x[0])]], lambda x, r: [x[0] * (1 - x[0])])
HENON = map_of(
    lambda x, a: [1 - a * x[0] ** 2 + x[1], 0.3 * x[0]],
    lambda x, a: [[-2 * a * x[0], 1.0], [0.3, 0.0]],
    lambda x, a: [-(x[0] ** 2), 0.0],
)
DELAYED = map_of(
    lambda x, a: [a * x[0] * (1 - x[1]), x[0]],
    lambda x, a: [[a * (1 - x[1]), -a * x[0]], [1.0, 0.0]],
    lambda x, a: [x[0] * (1 - x[1]), 0.0],
)
# fixed points on a circle, multiplier 1 + 4 x
CIRCLE = map_of(lambda x, p: x + 2 * (x**2 + p**2 - 1), lambda x, p: [[1 + 4 * x[0]]], lambda x, p: [4 * p])


def walked(problem, z, limits, step=0.05, longest=0.05, most=400, first=-1.0):
    """Everything that happens on the branch through a point, both ways."""
    branch, up = Branch(problem), np.eye(len(z))[-1]
    start = branch.sample(problem(np.array(z, dtype=float)), up, 0.0)
    assert np.abs(start.at.residual).max() < 1e-12
    one = Walk(branch, start.reversed() if first < 0 else start, limits, step, longest)
    before, _ = one.go(most)
    if one.closed:
        return bifurcations(branch, before, closed=True)
    after, _ = Walk(branch, start if first < 0 else start.reversed(), limits, step, longest).go(most)
    return bifurcations(branch, [s.reversed() for s in reversed(before[1:])] + after)


def kinds(found):
    return [(change.kind, change.before, change.after) for change in found.changes]


def values(found):
    return [change.sample.value for change in found.changes]


@pytest.mark.parametrize(("step", "longest"), STEPS)
def test_logistic_map(step, longest):
    found = walked(LOGISTIC, [0.6, 2.5], (0.5, 3.9), step, longest)
    assert kinds(found) == [("branch point", 1, 0), ("period doubling", 0, 1)]
    assert values(found) == pytest.approx([1.0, 3.0], abs=LOCATED)
    assert found.changes[1].multiplier == pytest.approx(-1.0, abs=1e-9)
    assert found.resolution <= longest * 1.01


@pytest.mark.parametrize(("step", "longest"), STEPS)
def test_henon_map(step, longest):
    x = (-0.7 + math.sqrt(0.49 + 4.0)) / 2.0
    found = walked(HENON, [x, 0.3 * x, 1.0], (-1.0, 2.0), step, longest, most=300)
    assert kinds(found) == [("fold", 1, 0), ("period doubling", 0, 1)]
    assert values(found) == pytest.approx([-(0.7**2) / 4, 3 * 0.7**2 / 4], abs=LOCATED)
    assert found.changes[0].multiplier == pytest.approx(1.0, abs=1e-6)
    assert found.changes[0].partner is None


@pytest.mark.parametrize(("step", "longest"), STEPS)
def test_delayed_logistic_map(step, longest):
    found = walked(DELAYED, [1 / 3, 1 / 3, 1.5], (0.5, 2.5), step, longest)
    assert kinds(found) == [("branch point", 1, 0), ("Neimark-Sacker", 0, 2)]
    assert values(found) == pytest.approx([1.0, 2.0], abs=LOCATED)
    assert found.changes[1].multiplier == pytest.approx(complex(0.5, math.sqrt(0.75)), abs=1e-9)


@pytest.mark.parametrize(("step", "longest", "first"), [(0.05, 0.05, -1.0), (0.2, 0.2, 1.0), (1e-5, 0.1, -1.0)])
@pytest.mark.parametrize("angle", [0.3, 3.4, math.pi / 2, 2 * math.pi / 3, -2 * math.pi / 3])
def test_closed_branch(step, longest, first, angle):
    # the last three angles begin at a fold and at a period doubling
    found = walked(CIRCLE, [math.cos(angle), math.sin(angle)], (-2.0, 2.0), step, longest, 700, first)
    assert sorted(kinds(found)) == [
        ("fold", 0, 1), ("fold", 1, 0), ("period doubling", 0, 1), ("period doubling", 1, 0),
    ]  # fmt: skip
    half = math.sqrt(0.75)
    assert sorted(values(found)) == pytest.approx([-1.0, -half, half, 1.0], abs=LOCATED)
    assert found.samples[-1].place == pytest.approx(2 * math.pi, rel=1e-3)


@pytest.mark.parametrize("width", [0.05, 0.01, 0.003])
@pytest.mark.parametrize("middle", [0.0, 0.013, 0.0317, 0.044])
def test_windows_narrower_than_a_step_are_found(width, middle):
    # stable but for a window, and all of it within one step of 0.1
    found = walked(
        linear(lambda p: [[-1.0 - 4 * (width**2 / 4 - (p - middle) ** 2)]]), [0.0, -0.3], (-0.5, 0.5), 0.1, 0.1
    )
    assert kinds(found) == [("period doubling", 0, 1), ("period doubling", 1, 0)]
    assert values(found) == pytest.approx([middle - width / 2, middle + width / 2], abs=LOCATED)


@pytest.mark.parametrize("width", [0.05, 0.01])
def test_narrow_windows_of_a_pair(width):
    def turned(p):
        radius, angle = 1.0 + 4 * (width**2 / 4 - (p - 0.03) ** 2), 1.0 + p
        return radius * np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])

    found = walked(linear(turned), [0.0, 0.0, -0.3], (-0.5, 0.5), 0.1, 0.1)
    assert kinds(found) == [("Neimark-Sacker", 0, 2), ("Neimark-Sacker", 2, 0)]
    assert values(found) == pytest.approx([0.03 - width / 2, 0.03 + width / 2], abs=LOCATED)


def test_two_kinds_in_one_step():
    found = walked(
        linear(lambda p: np.diag([-1.0 + p - 0.031, 1.0 + p - 0.033])), [0.0, 0.0, -0.25], (-0.5, 0.5), 0.1, 0.1
    )
    assert kinds(found) == [("period doubling", 1, 0), ("branch point", 0, 1)]
    assert values(found) == pytest.approx([0.031, 0.033], abs=LOCATED)


def test_two_doublings_in_one_step():
    # the test function has the same sign at both ends, and hardly bends
    found = walked(
        linear(lambda p: np.diag([-1.0 - p + 0.031, -1.0 - p + 0.034])), [0.0, 0.0, -0.25], (-0.5, 0.5), 0.1, 0.1
    )
    assert kinds(found) == [("period doubling", 0, 1), ("period doubling", 1, 2)]
    assert values(found) == pytest.approx([0.031, 0.034], abs=LOCATED)


def test_a_neutral_saddle_is_no_change():
    found = walked(linear(lambda p: np.diag([2.0 + p, 0.5])), [0.0, 0.0, -0.3], (-0.5, 0.5))
    assert found.changes == ()


def test_what_is_kept_is_no_change():
    # one of each: a multiplier of one, and a pair of multipliers whose product is one
    def kept(p):
        return np.array([[1.0, 0, 0], [0, math.cos(1 + p), -math.sin(1 + p)], [0, math.sin(1 + p), math.cos(1 + p)]])

    assert walked(linear(kept), [0.0, 0.0, 0.0, -0.3], (-0.5, 0.5)).changes == ()


@pytest.mark.parametrize("share", [0.0, 0.01, 0.1])
def test_a_fold_beside_its_multiplier_is_one_change(share):
    # x' = x + p - x^2 + e keeps e; with h = e - share x held, p turns at -share^2/4, and a multiplier is one at p = 0
    def f(z):
        x, h, p = z[0], 0.0, z[-1]
        e = h + share * x
        moved = x + p - x * x + e
        by_x = 1 - 2 * x + share
        matrix = np.array([[by_x, 1.0], [share - share * by_x, 1 - share]])
        slope = np.array([[by_x - 1, 1.0], [share - share * by_x, -share]])
        return Evaluation(z, np.array([moved - x, e - share * moved - h]), slope, matrix)

    found = walked(f, [share / 2 + 0.5, 0.25 - share * share / 4], (-1.0, 0.5), most=40)
    (fold,) = found.changes
    assert (fold.kind, fold.before, fold.after) == ("fold", 1, 0)
    assert fold.sample.value == pytest.approx(-(share**2) / 4, abs=LOCATED)
    assert (fold.partner or fold.sample).value == pytest.approx(0.0, abs=LOCATED)


def test_a_jump_of_the_derivative_is_named():
    found = walked(linear(lambda p: [[0.5 if p < 0.123 else -3.0]]), [0.0, -0.3], (-0.5, 0.5))
    assert kinds(found) == [("jump", 0, 1)]
    assert values(found) == pytest.approx([0.123], abs=1e-8)


@pytest.mark.parametrize(("limits", "expected"), [
    ((-0.5, 0.03), [0.025]),  # ends in the window
    ((-0.5, 0.025), [0.025]),  # ends where the window begins
    ((0.025, 0.5), [0.025, 0.035]),
    ((0.035, 0.5), [0.035]),
    ((-0.5, 0.0249), []),
])  # fmt: skip
@pytest.mark.parametrize("step", [0.1, 0.011])
def test_ends_at_and_in_a_window(limits, expected, step):
    start = min(max(-0.2, limits[0]), limits[1]) if limits[0] < 0 else 0.4
    found = walked(linear(lambda p: [[-1.0 - 2 * (0.005**2 - (p - 0.03) ** 2)]]), [0.0, start], limits, step, step)
    assert values(found) == pytest.approx(expected, abs=LOCATED)


def test_a_fold_outside_the_limits_ends_the_branch():
    # the turn at p = 1 is beyond the limit, though both ends of the step are within
    found = walked(CIRCLE, [math.cos(1.0), math.sin(1.0)], (-2.0, 0.9999), 0.2, 0.2)
    assert max(sample.value for sample in found.samples) == pytest.approx(0.9999, abs=1e-12)
    assert sorted(values(found)) == pytest.approx([-1.0, -math.sqrt(0.75), math.sqrt(0.75)], abs=LOCATED)


def test_a_branch_that_cannot_go_on_ends():
    def f(z):
        if z[-1] > 0.2:
            raise SaltusError("no cycle")
        return linear(lambda p: [[0.5]])(z)

    branch = Branch(f)
    start = branch.sample(f(np.array([0.0, 0.0])), np.array([0.0, 1.0]), 0.0)
    samples, why = Walk(branch, start, (-1.0, 1.0), 0.05, 0.05).go(100)
    assert why == ""
    assert samples[-1].value == pytest.approx(0.2, abs=1e-4)


def rotation(angle):
    return np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])


def steep(middle, width):
    """A multiplier that passes one, or minus one, within a width."""
    return lambda p: 0.5 * math.tanh((p - middle) / width)


def pitchfork(middle, width):
    """x -> x + s(p) x - x^3."""
    s = steep(middle, width)
    return map_of(
        lambda x, p: x + s(p) * x - x**3,
        lambda x, p: [[1 + s(p) - 3 * x[0] ** 2]],
        lambda x, p: [0.5 / width / math.cosh((p - middle) / width) ** 2 * x[0]],
    )


@pytest.mark.parametrize("middle", [0.0131, 0.47, 0.4999])
@pytest.mark.parametrize(("width", "step"), [(0.3, 0.05), (0.2, 0.2), (0.05, 0.1), (0.02, 0.2), (0.005, 0.1)])
def test_branch_points_of_any_steepness(middle, width, step):
    found = walked(pitchfork(middle, width), [0.0, -0.3], (-0.5, 0.5), step, step)
    assert kinds(found) == [("branch point", 0, 1)]
    assert values(found) == pytest.approx([middle], abs=LOCATED)
    assert found.changes[0].error <= LOCATED


@pytest.mark.parametrize("middle", [0.0131, 0.05])
def test_a_branch_point_of_a_map_that_rounds_says_how_exact_it_is(middle):
    # the residual is off by 1e-11 in no pattern: beside the branch point corrections are off by that over the distance
    exact = pitchfork(middle, 0.1)

    def rounded(z):
        at = exact(z)
        return replace(at, residual=at.residual + 1e-11 * np.sin(1e9 * z.sum()))

    branch = Branch(rounded)
    up = np.array([0.0, 1.0])
    start = branch.sample(rounded(np.array([0.0, -0.3])), up, 0.0)
    samples, _ = Walk(branch, start, (-0.5, 0.5), 0.05, 0.05).go(100)
    (one,) = bifurcations(branch, samples).changes
    assert one.kind == "branch point"
    assert abs(one.sample.value - middle) <= max(one.error, LOCATED)
    assert 0 < one.error < 1e-8


def test_the_turning_branch_of_a_pitchfork():
    # x' = x + x (p - x^2): its branch p = x^2 turns where the other one crosses
    f = map_of(lambda x, p: x + p * x - x**3, lambda x, p: [[1 + p - 3 * x[0] ** 2]], lambda x, p: [x[0]])
    found = walked(f, [0.5, 0.25], (-0.5, 0.5), 0.05, 0.05)
    assert [kind for kind, _, _ in kinds(found)] == ["branch point"]
    assert values(found) == pytest.approx([0.0], abs=LOCATED)


@pytest.mark.parametrize("gap", [1e-3, 1e-5, 1e-7])
def test_a_branch_that_another_one_comes_near_has_no_branch_point(gap):
    # where the gap is narrower than a step, the walk leaps over it
    f = map_of(lambda x, p: x + p * x - x**3 + gap, lambda x, p: [[1 + p - 3 * x[0] ** 2]], lambda x, p: [x[0]])
    x = min(np.roots([-1, 0, -0.3, gap]), key=lambda r: abs(r.imag)).real
    found = walked(f, [x, -0.3], (-0.5, 0.5), 0.05, 0.05)
    assert "branch point" not in {change.kind for change in found.changes}


@pytest.mark.parametrize("at", [0.0, 0.0131])
@pytest.mark.parametrize(("beside", "size"), [
    ([], 0),
    ([lambda p: rotation(1 + p)], 2),  # a pair that is on the circle all along
    ([lambda p: (1 + 3e-5) * rotation(1 + p)], 2),  # one that is near it
    ([lambda p: np.diag([4.0 + p**2, 1 / (4.0 + p**2)])], 2),  # a neutral saddle all along
    ([lambda p: rotation(1 + p), lambda p: np.diag([4.0 + p**2, 1 / (4.0 + p**2)])], 4),
])  # fmt: skip
def test_a_neutral_saddle_is_no_change_beside_other_pairs(at, beside, size):
    def with_saddle(p):
        return block_diag(*(one(p) for one in beside), np.diag([2.0 + p - at, 0.5]))

    def with_pair(p):
        return block_diag(*(one(p) for one in beside), (1 + p - at) * rotation(2.0))

    start = [0.0] * (size + 2) + [-0.3]
    assert walked(linear(with_saddle), start, (-0.5, 0.5)).changes == ()
    (one,) = walked(linear(with_pair), start, (-0.5, 0.5)).changes
    assert (one.kind, one.after - one.before) == ("Neimark-Sacker", 2)
    assert one.sample.value == pytest.approx(at, abs=LOCATED)
    assert abs(np.angle(one.multiplier)) == pytest.approx(2.0, abs=1e-6)


@pytest.mark.parametrize("step", [0.05, 0.1, 0.02])
@pytest.mark.parametrize("at", [0.0, 0.0131])
@pytest.mark.parametrize(("multipliers", "kind", "count"), [
    (lambda p: np.diag([-1 - p, -1 - p]), "period doubling", 2),
    (lambda p: np.diag([-1 - p, -1 - 3 * p]), "period doubling", 2),
    (lambda p: (1 + p) * rotation(math.pi), "period doubling", 2),
    (lambda p: [[-1 - p, 1.0], [0.0, -1 - p]], "period doubling", 2),  # one eigenvector
    (lambda p: np.diag([-1 - p, -1 - 2 * p, -1 - 3 * p]), "period doubling", 3),
    (lambda p: np.diag([-1 - p, -1 - 2 * p, -1 - 3 * p, -1 - 3.5 * p]), "period doubling", 4),
    (lambda p: block_diag((1 + p) * rotation(1.0), (1 + p) * rotation(2.0)), "Neimark-Sacker", 4),
    (lambda p: block_diag((1 + p) * rotation(1.0), (1 + 2 * p) * rotation(1.0)), "Neimark-Sacker", 4),
    (lambda p: np.diag([1 + p, 1 + 2 * p]), "branch point", 2),
])  # fmt: skip
def test_several_multipliers_at_one_place_are_one_change(multipliers, kind, count, at, step):
    f = linear(lambda p: np.array(multipliers(p - at), dtype=float))
    found = walked(f, [0.0] * len(multipliers(0.0)) + [-0.3], (-0.5, 0.5), step, step)
    assert kinds(found) == [(kind, 0, count)]
    assert values(found) == pytest.approx([at], abs=LOCATED)


def test_two_doublings_beside_one():
    # all within one step, and the two at one place
    f = linear(lambda p: np.diag([-1 - p, -1 - p, -1 - p + 0.0003]))
    found = walked(f, [0.0, 0.0, 0.0, -0.31], (-0.5, 0.5), 0.1, 0.1)
    assert kinds(found) == [("period doubling", 0, 2), ("period doubling", 2, 3)]
    assert values(found) == pytest.approx([0.0, 0.0003], abs=LOCATED)


def test_two_doublings_nearer_than_the_finest_step():
    f = linear(lambda p: np.diag([-1 - p, -1 - p + 0.0002]))
    found = walked(f, [0.0, 0.0, -0.3101], (-0.5, 0.5), 0.1, 0.1)
    assert kinds(found) == [("period doubling", 0, 1), ("period doubling", 1, 2)]
    assert values(found) == pytest.approx([0.0, 0.0002], abs=LOCATED)


@pytest.mark.parametrize("angle", [0.3, math.pi / 2, 2 * math.pi / 3, -2 * math.pi / 3])
def test_two_doublings_of_a_closed_branch(angle):
    # the circle with a second unknown, whose multiplier is at minus one where the first is; the last two begin there
    def f(z):
        one, second = CIRCLE(z[[0, 2]]), -0.5 + z[0]
        slope = np.array([[one.slope[0, 0], 0.0, one.slope[0, 1]], [z[1], second - 1, 0.0]])
        matrix = np.array([[one.matrix[0, 0], 0.0], [z[1], second]])
        return Evaluation(z, np.array([one.residual[0], (second - 1) * z[1]]), slope, matrix)

    found = walked(f, [math.cos(angle), 0.0, math.sin(angle)], (-2.0, 2.0), 0.05, 0.05, 700)
    assert sorted(kinds(found)) == [
        ("fold", 0, 1), ("fold", 1, 0), ("period doubling", 0, 2), ("period doubling", 2, 0),
    ]  # fmt: skip
    half = math.sqrt(0.75)
    assert sorted(values(found)) == pytest.approx([-1.0, -half, half, 1.0], abs=LOCATED)


def test_a_multiplier_that_hardly_moves_where_it_passes():
    found = walked(linear(lambda p: [[-1 - p**3]]), [0.0, -0.3], (-0.5, 0.5), 0.1, 0.1)
    assert kinds(found) == [("period doubling", 0, 1)]


@pytest.mark.parametrize("beside", [0.4, 0.01, -0.01, 1e-4])
def test_branch_points_at_the_seam_of_a_closed_branch(beside):
    # the circle with a second unknown, which may leave zero where x = 0.3; the walk begins and ends near there
    def f(z):
        one, second = CIRCLE(z[[0, 2]]), 0.7 + z[0]
        slope = np.array([[one.slope[0, 0], 0.0, one.slope[0, 1]], [z[1], second - 1, 0.0]])
        matrix = np.array([[one.matrix[0, 0], 0.0], [z[1], second]])
        return Evaluation(z, np.array([one.residual[0], (second - 1) * z[1]]), slope, matrix)

    angle = math.acos(0.3) + beside
    found = walked(f, [math.cos(angle), 0.0, math.sin(angle)], (-2.0, 2.0), 0.05, 0.05, 700)
    points = [change for change in found.changes if change.kind == "branch point"]
    assert sorted(point.sample.value for point in points) == pytest.approx(
        [-math.sqrt(0.91), math.sqrt(0.91)], abs=LOCATED
    )
    assert sorted((point.before, point.after) for point in points) == [(1, 2), (2, 1)]
    assert len(found.changes) == 6
