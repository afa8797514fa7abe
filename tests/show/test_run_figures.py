"""Figures of runs show their curves, bands, lines and names: what is missing in the picture is noticed."""

import itertools
import math

import numpy as np
import pytest
from picture import Picture

import saltus
from saltus import robots, show
from saltus.contact import Grip, Line, Wall
from saltus.errors import InputError, RunFailed
from saltus.hybrid import HybridSystem
from saltus.mechanism import Floating, Mechanism
from saltus.robots import find_robot, robot_names
from saltus.show._figure import BLACK, GREY, RED, STYLES
from saltus.show._modes import EVENT, bands_of
from saltus.show._record import run_record

# Of a curve with gaps in its dashes, and others upon it, so much is seen at least; of one that is not there, nothing.
SEEN = 0.3
NAMES = ["coordinates", "velocities", "torques", "energies", "forces", "normal-force", "force-ratio", "phase",
         "snapshots", "strobe", "paths"]  # fmt: skip
OVER_TIME = NAMES[:7]


def colour(k):
    return STYLES[k]["color"]


@pytest.fixture(scope="module")
def jump():
    hopper = robots.hopper()
    return saltus.simulate(hopper, controller=hopper.profiles["paper"].controller)


@pytest.fixture(scope="module")
def figures(jump):
    return show.run_figures(jump)


@pytest.fixture(scope="module")
def pictures(figures):
    return {name: Picture(figure) for name, figure in figures.items()}


@pytest.fixture(scope="module")
def ball():
    return saltus.simulate(robots.bouncing_ball(), until=5.0)


def drawn(picture, curves):
    """Hold a figure to have these curves, by number of the axes and of the curve."""
    for axes, k, t, values in curves:
        place = picture.figure.axes[axes]
        assert picture.share(place, t, values, colour(k)) > SEEN, (axes, k)


def test_a_run_has_all_its_figures(figures):
    assert list(figures) == NAMES


# -- curves ------------------------------------------------------------------------------------------------


def test_coordinates_and_velocities_are_drawn(jump, pictures):
    d = jump.dataset
    for name, values in (
        ("coordinates", d.q.sel(coordinate=["x", "y", "theta1", "theta2"]).values),
        ("velocities", d.v.sel(velocity=["dx", "dy", "dtheta1", "dtheta2"]).values),
    ):
        drawn(pictures[name], [(k // 2, k % 2, d.t.values, values[:, k]) for k in range(4)])
    assert "velocity\ndx, dy (m/s)" in [axes.get_ylabel() for axes in pictures["velocities"].figure.axes]


def test_torques_are_drawn_between_their_limits(jump, pictures):
    picture = pictures["torques"]
    (axes,) = picture.figure.axes
    drawn(picture, [(0, 0, jump.dataset.t.values, jump.dataset.torque.sel(actuator="knee").values)])
    (limit,) = jump.system.input_limits
    for side in (-limit, limit):
        assert SEEN < picture.share(axes, jump.t, np.full(len(jump.t), side), GREY) < 0.98
    assert axes.get_ylabel() == "torque (N m)"
    assert {"knee", f"limit ±{limit:g} N m"} <= set(picture.texts)


def test_a_limit_far_away_is_told_and_not_drawn():
    block = robots.block()
    profile = block.profiles["sine"]
    run = saltus.simulate(block, profile.start, controller=profile.controller, until=1.0)
    figure = show.torques_figure(run)
    assert figure.axes[0].get_ylim()[1] < 20
    assert "limit ±100 N,\nbeyond the axis" in Picture(figure).texts
    assert figure.axes[0].get_ylabel() == "force (N)"


def test_energies_are_drawn(jump, pictures):
    picture, d = pictures["energies"], jump.dataset
    t = d.t.values
    stored = [(0, 0, t, d.kinetic.values), (0, 1, t, d.potential.values), (0, 2, t, d.energy.values)]
    lost = [(1, 0, t, d.work.values), (1, 2, t[-40:], d.impact_loss.values[-40:])]
    slip = (d.friction_loss.values > 0.005) & (t > jump.events[2].t)
    drawn(picture, [*stored, *lost, (1, 1, t[slip], d.friction_loss.values[slip])])
    assert "lost by damping: 0 J" in picture.texts
    check = jump.check()["energy balance"]
    bottom = picture.figure.axes[2]
    assert picture.share(bottom, jump.t, np.full(len(jump.t), check.limit), RED) > SEEN
    assert f"limit {check.limit:.1e} J" in picture.texts
    height = bottom.lines[0].get_ydata()
    assert height.max() == pytest.approx(check.value)
    drawn(picture, [(2, 0, bottom.lines[0].get_xdata(), height)])


def test_forces_are_drawn(jump, pictures):
    force = jump.dataset.force
    along, normal = force.sel(row="P.t").values, force.sel(row="P.n").values
    drawn(pictures["forces"], [(0, 0, jump.t, normal), (1, 0, jump.t, along)])
    drawn(pictures["normal-force"], [(0, 0, jump.t, normal)])
    there = normal > 1e-6
    drawn(pictures["force-ratio"], [(0, 0, jump.t[there], along[there] / normal[there])])
    axes = pictures["force-ratio"].figure.axes[0]
    # nothing is drawn where there is no normal force
    flight = jump.t[~there]
    everywhere = np.linspace(*axes.get_ylim(), 300)
    assert not pictures["force-ratio"].near(axes, np.full(300, flight.mean()), everywhere, colour(0)).any()
    for side in (-0.3, 0.3):
        assert pictures["force-ratio"].share(axes, flight, np.full(len(flight), side), RED) > SEEN


def test_forces_of_grips_and_joints_are_drawn():
    run = saltus.simulate(robots.arm(), until=2.0)
    picture, force = Picture(show.forces_figure(run)), run.dataset.force
    grip, joint = picture.figure.axes
    assert (grip.get_ylabel(), joint.get_ylabel()) == ("force of grips (N)", "torque of friction\nand stops (N m)")
    drawn(picture, [(0, 0, run.t, force.sel(row="hand.x").values), (0, 1, run.t, force.sel(row="hand.y").values)])
    drawn(picture, [(1, 0, run.t, force.sel(row="theta2.q").values)])
    assert "arm: contact forces; never acting: tip" in picture.texts


# -- modes -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OVER_TIME)
def test_each_mode_has_its_band(jump, pictures, name):
    bands = bands_of(jump)
    assert [band.mode for band in bands] == ["stick", "slip-", "flight", "slip+"]
    for axes in pictures[name].figure.axes:
        seen = [pictures[name].ground(axes, band.begin + 0.31 * (band.end - band.begin)) for band in bands]
        assert len(set(seen)) == 4
        greys = [float(np.dot(one, (0.299, 0.587, 0.114))) for one in seen]
        assert all(0.8 < grey < 0.98 for grey in greys)
        assert all(abs(a - b) > 0.02 for a, b in itertools.pairwise(greys))


def test_a_mode_has_the_same_colour_each_time():
    block = robots.block()
    profile = block.profiles["sine"]
    picture = Picture(show.velocities_figure(saltus.simulate(block, profile.start, controller=profile.controller)))
    run = saltus.simulate(block, profile.start, controller=profile.controller)
    colours = {}
    for band in bands_of(run):
        if band.end - band.begin > 0.1:
            at = band.begin + 0.37 * (band.end - band.begin)
            colours.setdefault(band.mode, []).append(picture.ground(picture.figure.axes[0], at))
    assert [len(found) for found in colours.values()] == [1, 4, 4]
    assert all(len(set(found)) == 1 for found in colours.values())
    assert len({found[0] for found in colours.values()}) == 3


@pytest.mark.parametrize("name", OVER_TIME)
def test_events_are_dashed(jump, pictures, name):
    for axes in pictures[name].figure.axes:
        for event in jump.events[:-1]:
            # at the top, where no curve jumps upon them
            box = axes.get_window_extent()
            up = axes.transData.inverted().transform([(0.0, y) for y in np.linspace(box.y1 - 45, box.y1 - 4, 41)])[:, 1]
            share = pictures[name].share(axes, np.full(41, event.t), up, EVENT, reach=1, tolerance=0.25)
            assert 0.3 < share < 0.97


@pytest.mark.parametrize("name", NAMES)
def test_names_are_there_and_clear_of_each_other(pictures, name):
    pictures[name].check_texts()
    if name in OVER_TIME:
        assert {"stick", "slip-", "flight", "slip+"} <= set(pictures[name].texts)
    units = [text for text in pictures[name].texts if "(" in text]
    assert any("(s)" in text or "(m)" in text or "rad" in text for text in units)


def test_what_all_modes_share_is_said_once():
    picture = Picture(show.coordinates_figure(saltus.simulate(robots.arm(), until=2.0)))
    assert "theta2:free+" in picture.texts
    assert any("always hand:closed tip:open" in text.replace("\n", " ") for text in picture.texts)
    assert not any(text.startswith("hand") for text in picture.texts)
    picture.check_texts()


def test_short_modes_of_a_bounce_are_told(ball):
    picture = Picture(show.coordinates_figure(ball))
    picture.check_texts()
    assert any("short modes not named" in text for text in picture.texts)


def test_a_thousand_events_are_drawn_legibly():
    run = saltus.simulate(robots.bouncing_ball(restitution=0.9995), until=900.0, max_events=5000)
    assert len(run.events) > 1000
    figure = show.velocities_figure(run)
    picture = Picture(figure)
    assert f"time (s); {len(bands_of(run)) - 1} events as ticks at the foot" in picture.texts
    assert picture.texts.count("flight") == 1
    picture.check_texts()
    # they leave the curves free
    axes = figure.axes[0]
    low, high = axes.get_ylim()
    assert picture.share(axes, run.t[::50], np.full(len(run.t[::50]), low + 0.01 * (high - low)), EVENT) > 0.9
    assert picture.share(axes, run.t[::50], np.full(len(run.t[::50]), low + 0.98 * (high - low)), EVENT) == 0.0


# -- phases, postures, paths -------------------------------------------------------------------------------


def test_phases_are_drawn_in_the_colours_of_modes(jump, pictures):
    picture = pictures["phase"]
    names = ["x", "y", "theta1", "theta2"]
    assert [axes.get_xlabel() for axes in picture.figure.axes][:2] == ["x (m)", "y (m)"]
    modes = jump.dataset.mode.values
    for axes, name in zip(picture.figure.axes, names, strict=True):
        q, v = jump.dataset.q.sel(coordinate=name).values, jump.dataset.v.sel(velocity=f"d{name}").values
        for k, mode in enumerate(["stick", "slip-", "flight", "slip+"]):
            there = modes == mode
            if np.ptp(q[there]) > 0.05 * np.ptp(q):
                assert picture.share(axes, q[there], v[there], colour(k)) > 0.6, (name, mode)
    assert {"stick", "slip-", "flight", "slip+", "jump", "start", "end"} <= set(picture.texts)


def test_jumps_are_dashed(jump, pictures):
    impact = jump.events[2]
    axes = pictures["phase"].figure.axes[1]
    y, before, after = impact.state_before["y"], impact.state_before["dy"], impact.state_after["dy"]
    assert after - before > 0.5
    heights = np.linspace(before + 0.1, after - 0.15, 80)
    assert 0.3 < pictures["phase"].share(axes, np.full(80, y), heights, BLACK, reach=1, tolerance=0.3) < 0.98


def foot_knee_hip(jump, t):
    """Points of the hopper, by hand: angles are absolute for the shank, relative for the thigh."""
    places = []
    for x, y, one, two, *_ in np.atleast_2d(jump.at(t)):
        knee = np.array([x + 0.3 * np.cos(one), y + 0.3 * np.sin(one)])
        hip = knee + 0.3 * np.array([np.cos(one + two), np.sin(one + two)])
        places.append([(x, y), knee, hip])
    return np.array(places)


def test_a_stroboscope_flashes_at_equal_steps_and_fades(jump):
    figure = show.strobe_figure(jump, count=6)
    picture = Picture(figure)
    (axes,) = figure.axes
    times = np.linspace(0.0, jump.end_time, 6)
    (links,) = (drawn for drawn in axes.collections if drawn.get_gid() == "links")
    shades = links.get_colors()[::2]
    lights = [float(np.dot(one[:3], (0.299, 0.587, 0.114))) for one in shades]
    assert lights == sorted(lights, reverse=True)
    assert lights[0] - lights[-1] > 0.4
    for at, shade in zip(foot_knee_hip(jump, times), shades, strict=True):
        for begin, end in itertools.pairwise(at):
            along = begin + np.linspace(0.1, 0.9, 25)[:, None] * (end - begin)
            assert picture.share(axes, *along.T, shade) > 0.5
    assert f"hopper: stroboscope, every {times[1]:.4g} s" in picture.texts
    with pytest.raises(InputError, match="twice"):
        show.strobe_figure(jump, count=1)


def test_snapshots_are_drawn(jump, pictures):
    axes = pictures["snapshots"].figure.axes[0]
    for k, at in enumerate(foot_knee_hip(jump, show.snapshot_times(jump))):
        shade = axes.get_legend().get_lines()[k].get_color()
        along = at[0] + np.linspace(0.1, 0.9, 25)[:, None] * (at[1] - at[0])
        assert pictures["snapshots"].share(axes, *along.T, shade) > 0.4
    assert set("12345678") <= set(pictures["snapshots"].texts)


def test_paths_are_drawn_with_their_events(jump, pictures):
    picture = pictures["paths"]
    (axes,) = picture.figure.axes
    ways = foot_knee_hip(jump, jump.t)
    for k in range(3):
        assert picture.share(axes, *ways[:, k].T, colour(k)) > SEEN
    marks = foot_knee_hip(jump, [event.t for event in jump.events[:-1]])[:, 2]
    # more than the line through them
    assert all(picture.count(axes, *mark, colour(2), reach=4) > 40 for mark in marks)
    assert {"P", "Q", "R", "start", "event"} <= set(picture.texts)
    one = Picture(show.paths_figure(jump, ["R"]))
    assert one.share(one.figure.axes[0], *ways[:, 2].T, colour(0)) > 0.8
    with pytest.raises(InputError, match="knee"):
        show.paths_figure(jump, ["knee"])


def test_the_ground_is_where_it_is():
    run = saltus.simulate(robots.disc(), until=1.0)
    for figure in (show.strobe_figure(run), show.snapshots_figure(run), show.paths_figure(run)):
        picture, (axes,) = Picture(figure), figure.axes
        x = np.linspace(*axes.get_xlim(), 60)[2:-2]
        y = np.tan(run.system.values["slope"]) * x
        inside = (y > axes.get_ylim()[0]) & (y < axes.get_ylim()[1])
        assert picture.share(axes, x[inside], y[inside], GREY) > 0.6


def test_long_titles_and_names_have_room(jump):
    words = "a title that is much longer than the figure is wide, so that it is broken into lines, which have room "
    for figure in (
        show.coordinates_figure(jump, title=2 * words),
        show.snapshots_figure(jump, title=2 * words),
        show.series_figure([0.0, 1.0], {3 * "a very long name of a series, ": [0.0, 1.0], "b": [1.0, 2.0]}, run=jump),
    ):
        Picture(figure).check_texts()
        assert figure.axes[0].get_window_extent().width > 200


# -- anyone's own series -----------------------------------------------------------------------------------


def test_series_leave_gaps_and_say_how_many(jump):
    t = np.linspace(0.0, 0.4, 201)
    values = np.sin(20 * t)
    holed = values.copy()
    holed[60:90], holed[120], holed[150] = np.nan, np.inf, -np.inf
    figure = show.series_figure(t, {"my height": holed, "nothing": np.full(201, np.nan)}, unit="m", run=jump)
    picture, (axes,) = Picture(figure), figure.axes
    there = np.isfinite(holed)
    assert picture.share(axes, t[there], values[there], colour(0)) > 0.9
    assert picture.share(axes, t[62:88], values[62:88], colour(0)) == 0.0
    assert {"my height\n32 of 201 values missing", "nothing\n201 of 201 values missing"} <= set(picture.texts)
    assert axes.get_ylabel() == "my height, nothing (m)"
    assert {"stick", "flight"} <= set(picture.texts)
    picture.check_texts()


def test_a_value_between_gaps_is_a_dot():
    values = [np.nan, 1.0, np.nan, 2.0, 3.0]
    picture = Picture(show.series_figure(np.arange(5.0), {"a": values}))
    assert picture.near(picture.figure.axes[0], [1.0], [1.0], colour(0)).all()


def test_series_without_values_say_so():
    for t, values in (([0.0, 1.0], [np.nan, np.nan]), ([], [])):
        picture = Picture(show.series_figure(t, {"a": values}, unit="N"))
        assert "no values" in picture.texts
        assert "a (N)" in picture.texts
    assert "no values" not in Picture(show.series_figure([0.0], {"a": [1.0]})).texts


@pytest.mark.parametrize(
    ("t", "series", "said"),
    [
        ([0.0, 1.0], {"a": [1.0]}, "1 values for 2 times"),
        ([0.0, 1.0], {"a": ["x", "y"]}, "a must be numbers"),
        ([0.0, 1.0], {"a": [[1.0], [2.0]]}, "plain sequence"),
        ([0.0, np.nan], {"a": [1.0, 2.0]}, "finite"),
        ([1.0, 0.0], {"a": [1.0, 2.0]}, "not decrease"),
        ([0.0], {}, "no series"),
    ],
)
def test_wrong_series_are_refused(t, series, said):
    with pytest.raises(InputError, match=said):
        show.series_figure(t, series)


# -- every robot, and what is awkward ----------------------------------------------------------------------


@pytest.mark.parametrize("name", robot_names())
def test_every_robot_has_its_figures(name):
    robot = find_robot(name)
    run = saltus.simulate(robot)
    figures = show.run_figures(run)
    grounded = any(".n" in row for row in robot.row_names)
    absent = {
        "torques": not robot.mechanism.actuators,
        "forces": not robot.units,
        "normal-force": not grounded,
        "force-ratio": not grounded,
    }
    assert list(figures) == [figure for figure in NAMES if not absent.get(figure, False)]
    for figure in figures.values():
        Picture(figure).check_texts()


@pytest.mark.parametrize("name", ["hopper", "pendulum", "bouncing_ball", "monkeybot"])
def test_a_run_of_no_length_is_drawn(name):
    run = saltus.simulate(find_robot(name), until=0.0)
    assert len(run.t) == 1
    for figure in show.run_figures(run).values():
        Picture(figure).check_texts()
    picture = Picture(show.coordinates_figure(run))
    last = picture.figure.axes[-1]
    (value,) = run.x[:, len(run.coordinates) - 1]
    near = [picture.near(last, [0.0], [value], colour(k)).all() for k in range(2)]
    assert any(near)


def test_a_run_that_failed_is_drawn():
    def command(t, q, v, modes):
        return np.array([np.nan if t > 0.3 else 1.0])

    with pytest.raises(RunFailed) as failed:
        saltus.simulate(robots.double_pendulum(), controller=command, until=2.0)
    figures = show.run_figures(failed.value.run)
    assert "torques" in figures
    for figure in figures.values():
        Picture(figure).check_texts()


def test_states_that_are_no_numbers_leave_gaps(jump):
    run = saltus.simulate(robots.pendulum(), until=1.0)
    run.x[400:] = np.nan
    run.samples.x[400:] = np.nan
    run.samples.kinetic[400:] = np.nan
    figures = show.run_figures(run)
    picture = Picture(figures["coordinates"])
    there = run.t < run.t[390]
    assert picture.share(picture.figure.axes[0], run.t[there], run.x[there, 0], colour(0)) > 0.9
    for figure in figures.values():
        show.figure_bytes(figure)


def test_the_command_line_writes_all_figures(call, tmp_path):
    (tmp_path / "out").mkdir()
    code, _, _ = call("run", "hopper", "--profile", "paper", "--figures", "out")
    assert code == 0
    files = {f"hopper-{name}.{form}" for name in NAMES for form in ("png", "svg")}
    assert {path.name for path in (tmp_path / "out").iterdir()} == files


@pytest.mark.parametrize("form", ["png", "svg", "pdf"])
def test_the_same_figure_is_the_same_file(jump, tmp_path, form):
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        show.save_figure(show.energies_figure(jump), tmp_path / folder, "energies", forms=(form,))
    (one,), (two,) = ((tmp_path / folder).iterdir() for folder in ("one", "two"))
    assert one.name == f"energies.{form}"
    assert one.read_bytes() == two.read_bytes()
    assert one.stat().st_size > 5000


def test_other_forms_are_refused(jump):
    with pytest.raises(InputError, match="bmp"):
        show.figure_bytes(show.coordinates_figure(jump), "bmp")


def test_figures_leave_no_state_behind(jump):
    import matplotlib

    before = dict(matplotlib.rcParams)
    show.run_figures(jump)
    assert dict(matplotlib.rcParams) == before


def test_a_long_run_is_drawn_as_finely_as_its_steps():
    run = saltus.simulate(robots.pendulum(), {"theta": 1.0}, until=1000.0, rtol=1e-8, atol=1e-10)
    assert len(run.t) == 1001
    curves = show.phase_figure(run).axes[0].collections
    drawn = max((segment for curve in curves for segment in curve.get_segments()), key=len)
    assert len(drawn) > 10_000
    # no chord through the middle of the ring: neighbours are near each other
    assert np.hypot(*np.diff(drawn, axis=0).T).max() < 0.5


def test_lines_and_walls_to_hold_are_drawn():
    m = Mechanism("climber")
    m.gravity = m.parameter("g", 9.81, "m/s^2")
    body = m.body("body", Floating("x", "y", "theta"), mass=1.0, inertia=0.1)
    hand = m.point("hand", body, (0.0, 0.3))
    m.point("foot", body, (0.0, -0.3))
    holds = (Line((-1.0, 0.5), (1.0, 0.5), 0.05), Wall((2.0, 0.0), math.pi / 2))
    system = HybridSystem(m, units=(Grip(hand, holds=holds, closed=True),), skeleton=(("hand", "foot"),), until=0.5)
    run = saltus.simulate(system, {"y": 0.2})
    for draw in (show.snapshots_figure, show.strobe_figure, show.paths_figure):
        assert len([line for line in draw(run).axes[0].lines if line.get_gid() == "rail"]) == 2
    record = run_record(run)
    assert record["rails"][0] == {"start": (-1.0, 0.5), "end": (1.0, 0.5), "endless": False}
    assert record["rails"][1]["endless"]
