"""Figures of runs, maps, iterates and families say what they should."""

import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.path import Path
from mpl_toolkits.mplot3d.art3d import Poly3DCollection

import saltus
from saltus import gaits, robots, show
from saltus.errors import InputError
from saltus.gaits import Change, Family
from saltus.hybrid import painleve
from saltus.robots import find_robot
from saltus.show import _maps
from saltus.show._iterates import lost_in
from saltus.show._maps import APART, GREYS, MARKED, lowest_minima
from saltus.studies import compare_laws


@pytest.fixture(scope="module")
def gait():
    return gaits.find_gait("swing", find_robot("monkeybot"))


@pytest.fixture(scope="module")
def found(gait):
    return gaits.error_map(gait, ("dtheta1", np.linspace(0.0, 4.0, 40)), ("dtheta2", np.linspace(6.0, 14.0, 40)))


@pytest.fixture(scope="module")
def small(gait):
    return gaits.error_map(gait, ("dtheta1", [0.0, 1.0]), ("dtheta2", [8.0, 11.5]))


@pytest.fixture(scope="module")
def run(gait):
    return gaits.iterate(gait, 30)


def texts(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


@pytest.fixture
def corners(monkeypatch):
    """Corners of all faces of the surfaces that are drawn."""
    seen = []

    def collection(faces, **look):
        seen.extend(corner for face in faces for corner in face)
        return Poly3DCollection(faces, **look)

    monkeypatch.setattr(_maps, "Poly3DCollection", collection)
    return seen


def test_marked_minima_are_the_lowest_and_apart(found):
    marked = lowest_minima(found, 5.0)
    assert 2 <= len(marked) <= MARKED < len(found.minima(below=5.0))
    assert marked[0] == found.minima()[0]
    for k, one in enumerate(marked):
        assert one.error < 5.0
        for other in marked[:k]:
            assert np.hypot((one.x - other.x) / 4.0, (one.y - other.y) / 8.0) >= APART


@pytest.mark.parametrize("draw", [show.surface_figure, show.intensity_figure])
def test_maps_number_their_minima_and_give_reasons(found, draw):
    figure = draw(found)
    marked = lowest_minima(found, 5.0)
    numbers = [text.get_text() for text in figure.axes[0].texts]
    assert numbers == [str(k) for k in range(1, len(marked) + 1)]
    legend = texts(figure)
    assert len(legend) == len(marked) + 2
    assert f"minimum {marked[0].error:.2g} at" in legend[0]
    late, little = (int((found.reason == reason).sum()) for reason in found.reasons)
    assert legend[-2] == f"no cycle: switch never ends within 5 s ({late} of 1600 cells)"
    assert legend[-1] == f"no cycle: switch never ends: too little energy ({little} of 1600 cells)"
    axes, bar = figure.axes
    assert "monkeybot, swing" in axes.get_title(loc="left") + axes.get_title()
    assert axes.get_xlabel() == r"$\dot{\theta}_{1}$ (rad/s)"
    assert "cut off at error = 5" in bar.get_ylabel()
    assert [text.get_text() for text in draw(found, minima=found.minima(most=1)).axes[0].texts] == ["1"]


@pytest.mark.parametrize("above", [5.0, 2.0])
def test_maps_are_cut_off(found, above, corners):
    assert np.nanmax(found.error) > above
    surface = show.surface_figure(found, above=above)
    assert max(z for _, _, z in corners) == pytest.approx(np.sqrt(above))
    assert surface.axes[0].get_zlim()[1] == pytest.approx(np.sqrt(above))
    mesh = show.intensity_figure(found, above=above).axes[0].collections[-1]
    assert mesh.get_array().max() == above


def test_a_map_of_four_cells_is_not_blank(small, corners):
    show.surface_figure(small)
    heights = {round(float(z), 9) for _, _, z in corners}
    expected = np.sqrt(np.minimum(small.error[small.good], 5.0))
    assert expected.size
    assert {round(float(z), 9) for z in expected} <= heights


def test_each_reason_has_its_grey(small):
    def shown(*reasons):
        reason = np.array(reasons, dtype=object).reshape(2, -1)
        error = np.where(reason == "", 1.0, np.nan)
        x = np.arange(float(error.shape[1]))
        figure = show.intensity_figure(replace(small, x=x, error=error, reason=reason))
        patches = [handle for handle in figure.legends[0].legend_handles if hasattr(handle, "get_facecolor")]
        return texts(figure), [to_hex(patch.get_facecolor()).upper() for patch in patches]

    legend, greys = shown("lost", "", "late", "late")
    assert legend[-2:] == ["no cycle: late (2 of 4 cells)", "no cycle: lost (1 of 4 cells)"]
    assert greys == list(GREYS[:2])
    legend, greys = shown("", "a", "a", "b", "b", "c", "c", "d", "e", "f")
    assert legend[-1] == "no cycle: 3 other reasons (3 of 10 cells)"
    assert greys == list(GREYS)


def test_iterates_have_titles_and_say_where_a_gait_is_lost(run):
    lost = lost_in(run)
    assert 10 < lost <= run.count < 30
    for draw, what in (
        (show.error_figure, "error at the section"),
        (show.kinetic_figure, "kinetic energy at the section"),
        (show.height_figure, "height of the hold at impact"),
    ):
        figure = draw({"": run})
        axes = figure.axes[0]
        assert axes.get_title(loc="left") == f"monkeybot, swing: {what}"
        assert axes.get_xlabel() == "cycle"
        assert axes.get_ylabel().startswith(what)
        assert any(list(line.get_xdata()) == [lost, lost] for line in axes.lines)
        text = " ".join(texts(figure)).replace("\n", " ")
        assert f"error above 5 in cycle {lost}" in text
        assert run.reason in text
    assert show.error_figure({"": run}, title="mine").axes[0].get_title(loc="left") == "mine"


def test_kinetic_energy_is_seen_before_the_loss(run):
    axes = show.kinetic_figure({"": run}).axes[0]
    bottom, top = axes.get_ylim()
    kept = run.kinetic[: lost_in(run) - 1]
    assert bottom < kept.min() < kept.max() < top < run.kinetic.max()
    assert np.ptp(kept) > 0.5 * (top - bottom)
    arrows = [line for line in axes.lines if line.get_marker() == "^"]
    assert len(arrows) == (run.kinetic > top).sum()
    assert f"{run.kinetic.max():.3g} J" in axes.get_title(loc="right")


def test_many_runs_are_all_drawn(run):
    axes = show.height_figure(dict.fromkeys("abcde", run)).axes[0]
    assert sum(len(line.get_xdata()) == run.count + 1 for line in axes.lines) == 5


@pytest.fixture
def family(gait):
    # round a fold at 3, with a period doubling on the way
    values, places = [1.0, 2.0, 3.0, 2.75, 2.5, 2.0], [0, 1, 2, 2.5, 3, 4]
    radii = [0.5, 0.8, 1.0, 1.0, 2.0, 4.0]
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


def test_a_family_shows_starts_and_multipliers(family):
    figure = show.family_figure(family)
    # theta2 is the same in all, and has no panel
    assert [axes.get_ylabel() for axes in figure.axes] == [
        r"$\dot{\theta}_{1}$ (rad/s)", r"$\dot{\theta}_{2}$ (rad/s)", "largest multiplier",
    ]  # fmt: skip
    bottom = figure.axes[-1]
    assert bottom.get_xlabel() == "motor torque (N m)"
    assert bottom.get_yscale() == "log"
    assert any(list(line.get_ydata()) == [1.0, 1.0] for line in bottom.lines)
    assert [text.get_text() for text in bottom.texts] == ["a", "b"]
    assert texts(figure) == [
        "stable", "unstable", "a  period doubling: a multiplier passes minus one at 2.75",
        "b  fold: motor_torque turns back at 3", r"the same in all: $\theta_{2}$ = 0 rad",
    ]  # fmt: skip


def test_stable_parts_are_solid(family):
    axes = show.family_figure(family).axes[0]
    lines = {line.get_linestyle(): line.get_xdata() for line in axes.lines if len(line.get_xdata()) > 1}
    assert list(lines["-"]) == [1.0, 2.0, 3.0, 2.75]
    assert list(lines["--"]) == [2.75, 2.5, 2.0]
    marks = {
        line.get_marker(): (line.get_xdata()[0], line.get_ydata()[0])
        for line in axes.lines
        if line.get_marker() in "Do"
    }
    assert marks["D"] == pytest.approx((3.0, 0.2))
    assert marks["o"] == pytest.approx((2.75, 0.25))


def test_changes_at_one_place_share_a_letter(family):
    near = replace(family.changes[1], value=2.99)
    figure = show.family_figure(replace(family, changes=(family.changes[0], near)))
    assert [text.get_text() for text in figure.axes[-1].texts] == ["a"]
    assert "a  period doubling at 2.99; fold at 3" in texts(figure)


# -- runs --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def jump():
    hopper = robots.hopper()
    return saltus.simulate(hopper, controller=hopper.profiles["paper"].controller)


@pytest.fixture(scope="module")
def bounce():
    # at less friction the foot leaves the ground in the impact itself
    hopper = robots.hopper(mu=0.2)
    found = saltus.simulate(hopper, controller=hopper.profiles["paper"].controller)
    assert [event.mode_after for event in found.events] == ["slip-", "flight", "flight", "end"]
    return found


@pytest.fixture(scope="module")
def ball():
    return saltus.simulate(robots.bouncing_ball(), until=5.0)


def upright_dashes(axes):
    (events,) = (drawn for drawn in axes.collections if drawn.get_gid() == "events")
    assert events.get_linestyle()[0][1] is not None
    return [line[0][0] for line in events.get_segments()]


def boxes(figure):
    """Where the texts of the first axes stand."""
    figure.draw_without_rendering()
    return [text.get_window_extent() for text in figure.axes[0].texts]


def test_modes_are_named_and_changes_marked(jump):
    for figure in (show.coordinates_figure(jump), show.normal_force_figure(jump), show.force_ratio_figure(jump)):
        axes = figure.axes[0]
        assert [text.get_text() for text in axes.texts] == ["stick", "slip-", "flight", "slip+"]
        assert upright_dashes(axes) == pytest.approx([event.t for event in jump.events[:-1]])


def test_an_impact_that_keeps_the_mode_is_marked(bounce):
    for figure in (show.coordinates_figure(bounce), show.normal_force_figure(bounce), show.force_ratio_figure(bounce)):
        assert [text.get_text() for text in figure.axes[0].texts] == ["stick", "slip-", "flight", "flight"]
        for axes in figure.axes:
            assert upright_dashes(axes) == pytest.approx([event.t for event in bounce.events[:-1]])


def test_names_of_short_modes_do_not_overlap(ball):
    rod = saltus.simulate(robots.rod(), until=2.0)
    for run, least in ((ball, 8), (rod, 3)):
        figure = show.coordinates_figure(run)
        times = sorted({event.t for event in run.events})
        marked, note = upright_dashes(figure.axes[0]), figure.axes[-1].get_xlabel().replace("\n", " ")
        assert set(marked) <= set(times)
        # all that are left out are near one that is not
        assert all(min(abs(t - one) for one in marked) <= 0.005 * run.end_time for t in times)
        hidden = len(times) - len(marked)
        assert (f"{hidden} of {len(times)} events not marked" in note) == (hidden > 0)
        shown = boxes(figure)
        assert least <= len(shown) < len(times) + 1
        assert not any(one.overlaps(other) for one, other in itertools.combinations(shown, 2))
        assert f"{len(times) + 1 - len(shown)} short mode" in note
    # the longest are named
    names = [text.get_text() for text in show.coordinates_figure(ball).axes[0].texts]
    assert names == ["flight"] * (len(names) - 1) + ["stick"]


def test_axes_say_what_they_show(jump):
    figure = show.coordinates_figure(jump)
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "position\nx, y (m)", "angle\n$\\theta_{1}$, $\\theta_{2}$ (rad)",
    ]  # fmt: skip
    assert figure.axes[-1].get_xlabel() == "time (s)"
    figure = show.coordinates_figure(jump, ["dx", "dtheta1"])
    assert [axes.get_ylabel() for axes in figure.axes] == [
        "velocity\ndx (m/s)", "angular velocity\n$\\dot{\\theta}_{1}$ (rad/s)",
    ]  # fmt: skip


def test_forces_are_within_the_friction(jump):
    ratio = show.force_ratio_figure(jump).axes[0].lines[0].get_ydata()
    assert np.nanmax(np.abs(ratio)) <= 0.3 + 1e-9
    assert np.isnan(ratio).any()  # no ratio in flight
    normal = show.normal_force_figure(jump).axes[0].lines[0].get_ydata()
    assert normal[0] == pytest.approx(7.884463, abs=1e-6)


def test_eight_snapshots(jump):
    times = show.snapshot_times(jump)
    up, down = jump.events[1].t, jump.events[2].t
    assert len(times) == 8
    assert times[:2] == [0.0, up]
    assert times[2:4] == pytest.approx([up + (down - up) / 3, up + 2 * (down - up) / 3])
    assert (times[4], times[7]) == (down, jump.end_time)
    figure = show.snapshots_figure(jump)
    lines = [line for line in figure.axes[0].lines if line.get_marker() == "o"]
    assert len(lines) == 16
    for line in lines:
        assert np.hypot(*np.diff(line.get_xydata(), axis=0)[0]) == pytest.approx(0.3)


def test_eight_snapshots_of_a_bounce(bounce):
    times = show.snapshot_times(bounce)
    up, down = bounce.events[1].t, bounce.events[2].t
    assert len(times) == 8
    assert times[:2] == [0.0, up]
    assert times[2:4] == pytest.approx([up + (down - up) / 3, up + 2 * (down - up) / 3])
    assert (times[4], times[7]) == (down, bounce.end_time)


def test_the_first_of_many_impacts_is_among_the_snapshots(ball):
    times = show.snapshot_times(ball)
    assert times[:2] == [0.0, ball.events[0].t]
    assert len(times) == 8
    wheel = saltus.simulate(robots.rimless_wheel(), until=2.0)
    assert show.snapshot_times(wheel)[:2] == [0.0, wheel.events[0].t]


def test_a_legend_says_what_happens_at_snapshots(jump, bounce):
    for run, last in ((jump, "slip+"), (bounce, "flight")):
        legend = [text.get_text() for text in show.snapshots_figure(run).axes[0].get_legend().get_texts()]
        told = ["start", "separation", "flight", "flight", "impact", last, last, "end"]
        assert legend == [
            f"{k}: {t:.4f} s, {what}"
            for k, (t, what) in enumerate(zip(show.snapshot_times(run), told, strict=True), 1)
        ]  # fmt: skip
    legend = show.snapshots_figure(jump, [0.1, jump.events[1].t]).axes[0].get_legend().get_texts()
    assert [text.get_text() for text in legend] == ["1: 0.1000 s, flight", "2: 0.0600 s, separation"]


def test_numbers_of_snapshots_are_clear_of_links_and_of_each_other(jump, bounce):
    for run in (jump, bounce):
        figure = show.snapshots_figure(run)
        axes = figure.axes[0]
        numbers, shown = axes.texts, boxes(figure)
        assert [text.get_text() for text in numbers] == list("12345678")
        assert min(text.get_zorder() for text in numbers) > max(line.get_zorder() for line in axes.lines)
        assert all(text.get_path_effects() for text in numbers)
        assert not any(one.overlaps(other) for one, other in itertools.combinations(shown, 2))
        links = [Path(axes.transData.transform(line.get_xydata())) for line in axes.lines if line.get_marker() == "o"]
        assert len(links) == 16
        assert not any(link.intersects_bbox(box, filled=False) for link in links for box in shown)


def test_what_cannot_be_drawn_is_refused(jump):
    pendulum = saltus.simulate(robots.pendulum(), until=0.1)
    with pytest.raises(InputError, match="no contacts"):
        show.normal_force_figure(pendulum)
    with pytest.raises(InputError, match="theta9"):
        show.coordinates_figure(jump, ["theta9"])
    assert len(show.coordinates_figure(pendulum, ["theta", "dtheta"]).axes) == 2


def test_runs_side_by_side():
    hopper = robots.hopper()
    runs = compare_laws(hopper, controller=hopper.profiles["paper"].controller)
    figure = show.side_by_side_figure(runs)
    assert [axes.get_title(loc="left").split("\n")[0] for axes in figure.axes if axes.get_visible()] == list(runs)
    for axes in figure.axes[: len(runs)]:
        assert axes.get_title(loc="left").split("\n")[-1] == "1 start, 2 separation, 5 impact, 8 end"
    with pytest.raises(InputError, match="no runs"):
        show.side_by_side_figure({})


def test_the_legend_of_alpha_shows_the_hatch():
    degrees = np.radians(np.linspace(-180.0, 180.0, 13))
    figure = show.painleve_figure(painleve(robots.hopper(), ("theta1", degrees), ("theta2", degrees)))
    assert texts(figure)[-1] == "hatched: not possible"
    hatch = figure.legends[0].legend_handles[-1].get_hatch()
    assert hatch
    assert any(hatch in (drawn.hatches or ()) for drawn in figure.axes[0].collections if hasattr(drawn, "hatches"))
