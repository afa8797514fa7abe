"""Figures of gaits and studies show their curves, cells, marks and names: what is missing in the picture is noticed."""

import math
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest
from picture import Picture

import saltus
from saltus import gaits, robots, show
from saltus.errors import InputError
from saltus.gaits import Change, Family
from saltus.hybrid import painleve
from saltus.robots import find_robot
from saltus.show._figure import BLACK, BLUE, GREY, ORANGE, RED, SKY
from saltus.show._maps import GREYS, lowest_minima


@pytest.fixture(scope="module")
def gait():
    return gaits.find_gait("swing", find_robot("monkeybot"))


@pytest.fixture(scope="module")
def found(gait):
    return gaits.error_map(gait, ("dtheta1", np.linspace(0.0, 4.0, 24)), ("dtheta2", np.linspace(6.0, 14.0, 24)))


@pytest.fixture(scope="module")
def iterates(gait):
    return gaits.iterate(gait, 12)


@pytest.fixture(scope="module")
def family(gait):
    values, radii = [1.0, 2.0, 3.0, 2.75, 2.5, 2.0], [0.5, 0.8, 1.0, 1.0, 2.0, 4.0]
    places = [0, 1, 2, 2.5, 3, 4]
    points = [
        SimpleNamespace(
            gait=gait, knobs={"motor_torque": value}, multipliers=np.array([radius, 0.1]),
            start={"theta1": 0.0, "theta2": 0.0, "dtheta1": 0.1 * k, "dtheta2": 11.0 + k},
        )
        for k, value, radius in zip(places, values, radii, strict=True)
    ]  # fmt: skip
    fold = Change("fold", 3.0, points[2], 2, 1.0, 0, 0, "motor_torque turns back at 3")
    doubling = Change("period doubling", 2.75, points[3], 3, -1.0, 0, 1, "a multiplier passes minus one at 2.75")
    return Family("motor_torque", tuple(points), (fold, doubling), ("", ""))


def along(x, y, count=60):
    """Places along a line through corners."""
    at = np.linspace(0.0, len(x) - 1.0, count)
    return np.interp(at, np.arange(len(x)), x), np.interp(at, np.arange(len(y)), y)


# -- gaits -------------------------------------------------------------------------------------------------


def test_a_family_is_drawn(family):
    picture = Picture(show.family_figure(family))
    first, second, last = picture.figure.axes
    for axes, start, step in ((first, 0.0, 0.1), (second, 11.0, 1.0)):
        solid = along([1.0, 2.0, 3.0], [start, start + step, start + 2 * step])
        dashed = along([2.75, 2.5, 2.0], [start + 2.5 * step, start + 3 * step, start + 4 * step])
        assert picture.share(axes, *solid, BLUE) > 0.9
        assert 0.4 < picture.share(axes, *dashed, ORANGE, reach=1) < 0.98
    assert picture.share(last, *along([1.0, 2.0], [0.5, 0.8], 2), BLUE) == 1.0
    assert picture.share(last, np.linspace(1.1, 1.9, 20), np.ones(20), GREY) > 0.9
    assert picture.near(first, [3.0], [0.2], RED, reach=6).all()
    assert picture.near(first, [2.75], [0.25], RED, reach=6).all()
    assert {"a", "b", "stable", "unstable", "motor torque (N m)", "largest multiplier"} <= set(picture.texts)
    picture.check_texts()


def test_cells_of_a_map_have_their_colours(found):
    picture = Picture(show.intensity_figure(found))
    axes = picture.figure.axes[0]
    scale = matplotlib.colormaps["viridis"]
    good = [(i, k) for i in range(24) for k in range(24) if found.reason[i, k] == ""]
    seen = [
        picture.near(
            axes, [found.x[k]], [found.y[i]], scale(min(found.error[i, k], 5.0) / 5.0), reach=1, tolerance=0.03
        )
        for i, k in good
    ]
    assert np.mean(seen) > 0.95  # some are under a number
    most = max(found.reasons, key=lambda reason: int((found.reason == reason).sum()))
    missing = np.argwhere(found.reason == most)
    greys = picture.near(axes, found.x[missing[:, 1]], found.y[missing[:, 0]], GREYS[0], reach=1, tolerance=0.03)
    assert greys.mean() > 0.95
    marked = lowest_minima(found, 5.0)
    assert picture.near(axes, [one.x for one in marked], [one.y for one in marked], RED, reach=9).all()
    assert {str(k) for k in range(1, len(marked) + 1)} <= set(picture.texts)
    picture.check_texts()


def test_a_surface_is_drawn(found):
    picture = Picture(show.surface_figure(found))
    scale = matplotlib.colormaps["viridis"]
    height = np.sqrt(np.minimum(found.error[found.reason == ""], 5.0) / 5.0)
    box = picture.figure.axes[0].get_window_extent()
    inside = picture.pixels[int(box.y0) : int(box.y1), int(box.x0) : int(box.x1)].reshape(-1, 3)
    for share in (0.05, 0.5, 0.95):
        rgb = np.array(scale(float(np.quantile(height, share)))[:3])
        assert (np.abs(inside - rgb).max(axis=1) < 0.04).sum() > 20
    for colour in (RED, GREYS[0]):
        assert (np.abs(inside - matplotlib.colors.to_rgb(colour)).max(axis=1) < 0.04).sum() > 50
    marked = lowest_minima(found, 5.0)
    assert {str(k) for k in range(1, len(marked) + 1)} <= set(picture.texts)
    assert r"$\dot{\theta}_{1}$ (rad/s)" in picture.texts


def test_iterates_are_drawn(iterates):
    t, error = iterates.cycle, np.maximum(iterates.error, 1e-30)
    heights = [(0.0, *iterates.y)]
    for draw, x, y in (
        (show.error_figure, t, error),
        (show.kinetic_figure, range(iterates.count + 1), [iterates.kinetic_start, *iterates.kinetic]),
        (show.height_figure, range(iterates.count + 1), *heights),
    ):
        picture = Picture(draw({"one": iterates}))
        (axes,) = picture.figure.axes
        assert picture.share(axes, list(x), list(y), BLUE) > 0.9
        assert "cycle" in picture.texts
        picture.check_texts()
    picture = Picture(show.iterates_figure({"one": iterates, "two": iterates}))
    assert len(picture.figure.axes) == 3
    for axes, values in zip(picture.figure.axes, (error, iterates.kinetic, iterates.y), strict=True):
        assert picture.share(axes, t, values, ORANGE) > 0.9  # the second lies upon the first
    assert any(text.startswith("one") for text in picture.texts)
    assert any(text.startswith("two") for text in picture.texts)
    picture.check_texts()


def test_postures_of_alpha_are_drawn():
    degrees = np.linspace(-180.0, 180.0, 19)
    found = painleve(robots.hopper(), ("theta1", np.radians(degrees)), ("theta2", np.radians(degrees)))
    picture = Picture(show.painleve_figure(found))
    axes = picture.figure.axes[0]
    colours = axes.collections[0]
    seen = [
        picture.near(axes, [degrees[k]], [degrees[i]], colours.cmap(colours.norm(found.alpha[i, k])), tolerance=0.05)
        for i in range(1, 18)
        for k in range(1, 18)
    ]
    assert np.mean(seen) > 0.95
    smallest = found.smallest.at
    assert picture.near(
        axes, [math.degrees(smallest["theta1"])], [math.degrees(smallest["theta2"])], BLACK, reach=12
    ).all()  # fmt: skip
    assert {"hatched: not possible", "hopper: alpha at friction 0.3"} <= set(picture.texts)
    picture.check_texts()


def test_runs_side_by_side_are_drawn():
    hopper = robots.hopper()
    run = saltus.simulate(hopper, controller=hopper.profiles["paper"].controller)
    picture = Picture(show.side_by_side_figure({"one": run, "two": run}))
    for axes, name in zip(picture.figure.axes, ("one", "two"), strict=True):
        for x, y, theta, *_ in run.at(show.snapshot_times(run)):
            shank = np.linspace((x, y), (x + 0.3 * math.cos(theta), y + 0.3 * math.sin(theta)), 20)[2:-2]
            white = picture.share(axes, *shank.T, "white", reach=0, tolerance=0.02)
            assert white < 0.2
        assert axes.get_title(loc="left").startswith(name)
        assert picture.share(axes, np.linspace(*axes.get_xlim(), 30)[1:-1], np.zeros(28), GREY) > 0.4
    assert set("12345678") <= set(picture.texts)
    picture.check_texts()


def test_a_trade_is_drawn():
    points = {
        size: SimpleNamespace(value=value, kept=kept, fell=fell, share=0.9)
        for size, value, kept, fell in ((0.0, 0.5, 0.1, 0.8), (0.5, 0.45, 0.6, 0.2), (1.0, 0.4, 0.95, 0.01))
    }
    picture = Picture(show.trade_figure(points))
    (axes,) = picture.figure.axes
    assert picture.share(axes, *along([10.0, 60.0, 95.0], [0.5, 0.45, 0.4]), BLUE) > 0.95
    assert picture.share(axes, *along([80.0, 20.0, 1.0], [0.5, 0.45, 0.4]), ORANGE) > 0.25
    assert {"0", "0.5", "1", "kept, of 100 mixes", "came to nothing, of 100 mixes"} <= set(picture.texts)
    assert picture.share(axes, np.full(50, 90.0), np.linspace(0.02, 0.3, 50), GREY, tolerance=0.2) > 0.3


# -- multipliers -------------------------------------------------------------------------------------------


def test_multipliers_stand_about_the_unit_circle():
    picture = Picture(show.multipliers_figure({"by state": [0.3 + 0.6j, 0.3 - 0.6j], "by the clock": [-1.4, 0.1]}))
    (axes,) = picture.figure.axes
    turn = np.linspace(0.1, 6.2, 90)
    assert picture.share(axes, np.cos(turn), np.sin(turn), GREY, tolerance=0.2) > 0.9
    assert picture.near(axes, [0.3, 0.3], [0.6, -0.6], BLUE, reach=0).all()
    assert picture.near(axes, [0.1], [0.0], ORANGE, reach=0).all()
    # one that is outside is open
    assert picture.near(axes, [-1.4], [0.0], "white", reach=0).all()
    assert picture.near(axes, [-1.4], [0.0], ORANGE, reach=8).all()
    assert {"0.3 ± 0.6i", "-1.4", "by state (largest 0.6708)", "by the clock (largest 1.4)"} <= set(picture.texts)
    box = axes.get_window_extent()
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()
    assert box.width / (right - left) == pytest.approx(box.height / (top - bottom), rel=1e-3)
    picture.check_texts()


def test_large_multipliers_stand_by_their_logarithm():
    picture = Picture(show.multipliers_figure([100.0, -0.5]))
    (axes,) = picture.figure.axes
    assert picture.near(axes, [3.0], [0.0], BLUE, reach=8).all()
    assert picture.near(axes, [-0.5], [0.0], BLUE, reach=0).all()
    assert {"100", "10", "real part; beyond the circle by the logarithm"} <= set(picture.texts)
    picture.check_texts()


def test_multipliers_of_a_fixed_point(gait):
    fixed = gaits.solve(gait)
    picture = Picture(show.multipliers_figure(fixed))
    assert fixed.grazing
    timed = fixed.multipliers_timed
    assert f"by the clock (largest {abs(timed[0]):.4g})" in picture.texts
    assert picture.near(picture.figure.axes[0], timed.real, timed.imag, BLUE, reach=8).all()
    assert "monkeybot, swing: multipliers" in picture.texts
    assert any(text.startswith("by state: none") for text in picture.texts)


@pytest.mark.parametrize("given", [[], [math.nan], "abc", {}, {"a": []}])
def test_what_is_no_multiplier_is_refused(given):
    with pytest.raises(InputError, match="multipliers must be"):
        show.multipliers_figure(given)


# -- bars --------------------------------------------------------------------------------------------------


def test_bars_have_whiskers_and_numbers():
    picture = Picture(show.bars_figure({"low": (2.0, 1.0, 4.0), "high": (6.0, 5.0, 8.0)}, what="length", unit="m"))
    (axes,) = picture.figure.axes
    for y, value, low, high in ((1.0, 2.0, 1.0, 4.0), (0.0, 6.0, 5.0, 8.0)):
        assert picture.share(axes, np.linspace(0.1, value - 0.1, 30), np.full(30, y + 0.2), SKY, reach=0) == 1.0
        assert picture.share(axes, np.linspace(value + 0.1, high, 30), np.full(30, y + 0.2), SKY) == 0.0
        assert picture.share(axes, np.linspace(low, high, 40), np.full(40, y), BLACK, reach=1) == 1.0
        assert picture.share(axes, [high + 0.1], [y], BLACK, reach=0) == 0.0
    assert {"low", "high", "2  (1 to 4)", "6  (5 to 8)", "length (m)"} <= set(picture.texts)
    picture.check_texts()


def test_rates_are_shown_in_percent():
    picture = Picture(show.bars_figure({"kept": show.wilson_interval(190, 200)}, what="mixes", percent=True))
    assert "95 %  (91 to 97.3)" in picture.texts
    assert "mixes (%)" in picture.texts
    assert "120" not in picture.texts
    picture.check_texts()


@pytest.mark.parametrize(("kept", "of"), [(190, 200), (1, 3), (0, 10), (10, 10), (50, 100)])
def test_ends_of_wilsons_interval_are_as_far_as_allowed(kept, of):
    rate, low, high = show.wilson_interval(kept, of)
    assert rate == kept / of
    assert 0.0 <= low <= rate <= high <= 1.0
    # at each end the rate that was found is just as unlikely as the confidence allows
    for end in (low, high):
        if 0.0 < end < 1.0:
            assert abs(rate - end) == pytest.approx(1.959964 * math.sqrt(end * (1 - end) / of), rel=1e-6)


def test_the_interval_of_a_mean():
    # by hand: the mean of 1, 2, 3, 4 is 2.5, its error 0.6455, and Student's factor for 3 degrees 3.18245
    assert show.mean_interval([1.0, 2.0, 3.0, 4.0]) == pytest.approx((2.5, 2.5 - 2.05426, 2.5 + 2.05426), abs=1e-4)
    picture = Picture(show.bars_figure({"a": np.array([1.0, 2.0, 3.0, 4.0])}))
    assert "2.5  (0.446 to 4.55)" in picture.texts


@pytest.mark.parametrize("given", [{}, {"a": (1.0, 2.0, 3.0)}, {"a": [1.0]}, {"a": [1.0, math.nan]}, {"a": "abc"}])
def test_what_is_no_interval_is_refused(given):
    with pytest.raises(InputError):
        show.bars_figure(given)
    for kept, of in ((1, 0), (3, 2), (-1, 2)):
        with pytest.raises(InputError, match="of"):
            show.wilson_interval(kept, of)
    with pytest.raises(InputError, match="confidence"):
        show.wilson_interval(1, 2, confidence=95)
