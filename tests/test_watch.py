"""Runs that are watched: what is drawn of them, when, and that watching leaves them as they are."""

import itertools
import math
import os
import signal

import numpy as np
import pytest

import saltus
from saltus.cli._bar import bar_line
from saltus.cli._watch import SHORT, usual_speed
from saltus.control import Continuous, Sampled
from saltus.engine import Live
from saltus.hybrid import HybridSystem
from saltus.mechanism import Floating, Mechanism
from saltus.robots import find_robot
from saltus.show._canvas import Canvas, clipped
from saltus.show._terminal import Scene, View, frame, nice, packed


def dots(canvas):
    return {(int(x), int(y)) for y, x in zip(*np.nonzero(canvas.dots), strict=True)}


def picture(scene, moment, columns, rows, view=None, **options):
    return frame(scene, moment, view or View(scene), columns, rows, **{"colour": False, **options})


# -- the canvas ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("begin", "end", "expected"),
    [
        ((0, 0), (3, 0), {(0, 0), (1, 0), (2, 0), (3, 0)}),
        ((2, 5), (2, 2), {(2, 2), (2, 3), (2, 4), (2, 5)}),
        ((0, 0), (3, 3), {(0, 0), (1, 1), (2, 2), (3, 3)}),
        ((4, 1), (0, 3), {(4, 1), (3, 2), (2, 2), (1, 3), (0, 3)}),
        ((5, 6), (5, 6), {(5, 6)}),
        ((-3, 1), (1, 1), {(0, 1), (1, 1)}),
        ((6, 3), (1e12, 3), {(6, 3), (7, 3)}),
        ((-5, -1), (50, -1), set()),
        ((0, 0), (math.nan, 3), set()),
        ((0, 0), (3, math.inf), set()),
    ],
)
def test_a_line_sets_the_dots_between_its_ends(begin, end, expected):
    canvas = Canvas(4, 2)
    canvas.line(begin, end)
    assert dots(canvas) == expected


def test_a_line_has_no_gaps_wherever_it_leaves_the_canvas():
    canvas = Canvas(40, 10)
    canvas.line((-1234.567, 7.3), (9876.54, 22.1))
    found = sorted(dots(canvas))
    assert [x for x, _ in found] == list(range(80))
    assert all(abs(a[1] - b[1]) <= 1 for a, b in itertools.pairwise(found))


def test_a_thick_line_has_two_dots_across():
    for end, side in (((6, 0), (0, 1)), ((0, 6), (1, 0))):
        canvas = Canvas(8, 4)
        canvas.line((0, 0), end, thick=True)
        thin = Canvas(8, 4)
        thin.line((0, 0), end)
        assert dots(canvas) == dots(thin) | {(x + side[0], y + side[1]) for x, y in dots(thin)}


def test_a_circle_is_round_and_closed():
    canvas = Canvas(20, 10)
    canvas.circle((20, 20), 12)
    radii = [math.hypot(x - 20, y - 20) for x, y in dots(canvas)]
    assert 11 <= min(radii) <= max(radii) <= 13
    assert {round(math.degrees(math.atan2(y - 20, x - 20)) / 20) % 18 for x, y in dots(canvas)} == set(range(18))


def test_dots_become_braille():
    canvas = Canvas(2, 1)
    canvas.line((0, 0), (0, 3))
    canvas.line((3, 3), (3, 3))
    assert canvas.lines(colour=False) == ["⡇⢀"]
    canvas.mark((0, 0), "●", 92)
    assert canvas.lines(colour=False) == ["●⢀"]
    assert canvas.lines(colour=True) == ["\x1b[92m●\x1b[0m⢀"]


def test_what_is_clipped_stays_on_its_line():
    (x, y), (u, v) = clipped((-10, -10), (30, 30), 8, 8)
    assert (x, y, u, v) == (-0.5, -0.5, 7.5, 7.5)
    assert clipped((0, 20), (20, 20), 8, 8) is None
    assert clipped((-5, 6), (6, -5.1), 1, 1) is not None
    assert clipped((-5, 7), (7, -5), 1, 1) is None


# -- frames -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["hopper", "monkeybot", "disc", "bouncing_ball", "rimless_wheel", "pendulum"])
@pytest.mark.parametrize(("columns", "rows"), [(79, 23), (19, 10), (40, 3), (1, 1), (5, 40), (200, 60)])
def test_a_frame_has_the_size_that_is_asked_for(name, columns, rows):
    run = saltus.simulate(find_robot(name))
    scene = Scene(run.system)
    view = View(scene)
    for t in (0.0, run.end_time / 2, run.end_time):
        lines = picture(scene, scene.moment(run, t), columns, rows, view, note="speed 0.2")
        assert [len(line) for line in lines] == [columns] * rows


def test_a_frame_says_how_the_run_is():
    hopper = find_robot("hopper")
    run = saltus.simulate(hopper, controller=hopper.profiles["paper"].controller)
    scene = Scene(hopper)
    touched = next(event for event in run.events if event.guard == "P.touch")
    words = picture(scene, scene.moment(run, touched.t), 79, 20, note="speed 0.2")[-1]
    energy = run.samples.kinetic[-1] + run.samples.potential[-1]
    assert words.split("  ")[:4] == [
        f"{touched.t:.3f} s",
        touched.mode_after,
        "speed 0.2",
        f"P.touch {touched.t:.3f} s",
    ]
    assert scene.moment(run, run.end_time).energy == pytest.approx(energy, rel=1e-9)
    before = picture(scene, scene.moment(run, touched.t - 1e-6), 79, 20)[-1]
    assert "flight" in before
    assert "P.touch" not in before


def test_contacts_that_hold_or_slip_are_marked():
    hopper = find_robot("hopper")
    run = saltus.simulate(hopper, controller=hopper.profiles["paper"].controller)
    scene = Scene(hopper)
    signs = {}
    for t in np.linspace(0, run.end_time, 60):
        moment = scene.moment(run, t)
        text = "".join(picture(scene, moment, 60, 20)[:-2])
        signs.setdefault(moment.mode, set()).add("".join(sign for sign in "●◆○" if sign in text))
    assert signs == {"stick": {"●"}, "slip-": {"◆"}, "flight": {""}, "slip+": {"◆"}}


def test_links_ground_and_wheels_are_where_they_are():
    disc = find_robot("disc")
    run = saltus.simulate(disc)
    scene, t = Scene(disc), 1.0
    moment, view, canvas_size = scene.moment(run, t), View(scene), (60, 20)
    scale, centre = view.look(moment.places, 120, 80)
    lines = picture(scene, moment, canvas_size[0], canvas_size[1] + 2, View(scene))
    bits = np.array([[[ord(sign) >> bit & 1 if ord(sign) >= 0x2800 else 0 for bit in (0, 1, 2, 6, 3, 4, 5, 7)]
                      for sign in line] for line in lines[:-2]])  # fmt: skip
    drawn = bits.reshape(20, 60, 2, 4).transpose(0, 3, 1, 2).reshape(80, 120)

    def is_drawn(x, y):
        across, down = 59.5 + scale * (x - centre[0]), 39.5 - scale * (y - centre[1])
        return drawn[round(down) - 1 : round(down) + 2, round(across) - 1 : round(across) + 2].any()

    x, y, angle = run.at(t)[:3]
    assert is_drawn(x + 0.1 * math.cos(angle), y + 0.1 * math.sin(angle))
    for turn in np.linspace(0, 6, 20):
        assert is_drawn(x + 0.2 * math.cos(turn), y + 0.2 * math.sin(turn))
    assert is_drawn(x - 0.5, -0.5 * math.tan(-0.2) + x * math.tan(-0.2))
    assert not is_drawn(x - 0.5, y + 0.2)


def test_the_view_follows_a_robot_that_travels():
    disc = find_robot("disc")
    run = saltus.simulate(disc)
    scene = Scene(disc)
    view = View(scene)
    for t in np.linspace(0, run.end_time, 200):
        places = scene.moment(run, t).places
        scale, centre = view.look(places, 100, 60)
        assert (np.abs(places[0] - centre) * scale < (50, 30)).all()
        assert 2 * 0.2 * scale > 0.25 * 60
    assert abs(run.at(run.end_time)[0]) > 3.0


def test_the_view_of_a_robot_that_stays_is_what_was_seen():
    pendulum = find_robot("pendulum")
    run = saltus.simulate(pendulum, until=3.0)
    scene = Scene(pendulum)
    view = View(scene)
    moments = [scene.moment(run, t).places for t in np.linspace(0, 3, 100)]
    seen = [view.look(places, 100, 60) for places in moments][-1]
    for places in moments:
        scale, centre = view.look(places, 100, 60)
        assert scale == seen[0]
        assert (np.abs(places - centre) * scale <= (50, 30)).all()


def test_numbers_that_are_none_are_no_trouble():
    hopper = find_robot("hopper")
    run = saltus.simulate(hopper, until=0.1)
    scene = Scene(hopper)
    view, moment = View(scene), scene.moment(run, 0.05)
    good = picture(scene, moment, 60, 20, view)
    for value in (math.nan, math.inf, 1e300, -1e12):
        for places in (np.full((3, 2), value), np.where([[True], [False], [False]], value, moment.places)):
            bad = type(moment)(moment.t, places, moment.statuses, moment.mode, "", math.nan)
            lines = picture(scene, bad, 60, 20, view)
            assert [len(line) for line in lines] == [60] * 20
            assert "nan J" in lines[-2] + lines[-1]
    assert picture(scene, moment, 60, 20, view) == good
    lines = picture(scene, bad, 60, 20, View(scene))
    assert len(lines) == 20


def test_a_robot_without_skeleton_or_points():
    made = []
    for with_point in (True, False):
        m = Mechanism("thing")
        body = m.body(
            "body", Floating("x", "y", "turn"), mass=m.parameter("mass", 1.0, "kg", positive=True), inertia=1.0
        )
        m.gravity = m.parameter("g", 9.81, "m/s^2")
        if with_point:
            m.point("here", body)
        system = HybridSystem(m, until=0.1)
        run = saltus.simulate(system)
        scene = Scene(system)
        made.append(picture(scene, scene.moment(run, 0.0), 40, 10))
    assert any(sign >= "⠀" for line in made[0][:-2] for sign in line)
    assert all(line == " " * 40 for line in made[1][:-2])
    assert made[1][-2].startswith("0.000 s  free")


def test_colours_are_left_out():
    run = saltus.simulate(find_robot("disc"))
    scene = Scene(run.system)
    moment = scene.moment(run, 1.0)
    with_colours = picture(scene, moment, 60, 20, colour=True)
    assert "\x1b[" in "".join(with_colours)
    plain = picture(scene, moment, 60, 20)
    assert "\x1b" not in "".join(plain)
    assert [len(line) for line in plain] == [60] * 20


def test_words_that_have_no_room_are_left_out():
    parts = ["0.413 s", "flight", "speed 0.2", "P.touch 0.354 s", "2.1 J"]
    assert packed(parts, 79, 1) == ["0.413 s  flight  speed 0.2  P.touch 0.354 s  2.1 J".ljust(79)]
    assert packed(parts, 19, 1) == ["0.413 s  flight    "]
    assert packed(parts, 19, 2) == ["0.413 s  flight    ", "speed 0.2  2.1 J   "]
    assert packed(["0.413 s", "A:closed B:reaching"], 19, 1) == ["0.413 s  A:closed …"]
    assert packed(["", ""], 3, 2) == ["   ", "   "]


def test_nice_numbers_and_usual_speeds():
    assert [nice(x) for x in (0.1, 0.11, 0.3, 1.0, 7.0)] == pytest.approx([0.1, 0.2, 0.5, 1.0, 10.0])
    for duration in (0.01, 0.41, 0.8, 1.0, 3.0, 5.0, 10.0, 20.0, 60.0, 3600.0):
        assert min(SHORT, duration) <= duration / usual_speed(duration) <= 20.0
    assert usual_speed(10.0) == 1.0
    assert usual_speed(0.8) == 0.1
    assert usual_speed(60.0) == 5.0
    assert usual_speed(0.0) == 1.0


# -- watching a run -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["hopper", "rimless_wheel", "bouncing_ball", "monkeybot"])
def test_a_run_that_is_watched_is_the_same(name):
    robot = find_robot(name)
    controller = next(iter(robot.profiles.values())).controller if robot.profiles else None
    until = min(robot.until, 1.5)
    alone = saltus.simulate(robot, controller=controller, until=until)
    scene, looks = Scene(robot), []

    def watch(live):
        run = live.record()
        middle = (live.t + (looks[-1][0] if looks else 0.0)) / 2
        looks.append((live.t, scene.moment(run, live.t), middle, run.at(middle), run.at(live.t)))

    watched = saltus.simulate(robot, controller=controller, until=until, watch=watch)
    for part in ("step_rows", "event_rows", "doubles"):
        np.testing.assert_array_equal(getattr(watched, part), getattr(alone, part))
    assert watched.to_dict() == alone.to_dict()
    times = [look[0] for look in looks]
    assert times == sorted(times)
    assert times[-1] == alone.end_time
    assert len(looks) >= alone.steps
    for t, moment, middle, x, end in looks:
        if middle < t:  # else a step was tried in vain
            np.testing.assert_array_equal(x, alone.at(middle))
        # where steps meet, the later is read; it begins on the closed contacts
        np.testing.assert_allclose(end, alone.at(t), rtol=1e-13, atol=1e-13)
        assert moment.mode == scene.moment(alone, t).mode


@pytest.mark.parametrize("kind", [Sampled, Continuous])
def test_watching_never_asks_the_controller(kind):
    pendulum = find_robot("pendulum")

    def controller():
        asked = []

        def act(t, state, mode, memory):
            asked.append(t)
            return 0.1 * math.cos(t)

        return asked, kind(act)

    scene = Scene(pendulum)
    (first, act), (second, again) = controller(), controller()
    alone = saltus.simulate(pendulum, until=0.05, controller=act)
    watched = saltus.simulate(
        pendulum, until=0.05, controller=again, watch=lambda live: scene.moment(live.record(), live.t)
    )
    assert first == second
    assert watched.final == alone.final


def test_a_watcher_sees_the_start_of_a_run_of_no_length():
    seen = []
    saltus.simulate(find_robot("pendulum"), until=0.0, watch=lambda live: seen.append(live.record()))
    assert [(run.end_time, run.status.name) for run in seen] == [(0.0, "running")]
    assert seen[0].at(0.0).tolist() == [1.0, 0.0]


def test_a_watcher_is_told_of_an_interruption():
    told = []

    def watch(live):
        assert isinstance(live, Live)
        if live.t > 1.0 and not told:
            os.kill(os.getpid(), signal.SIGINT)
            told.append(live.interrupted())

    with pytest.raises(saltus.errors.RunInterrupted) as stopped:
        saltus.simulate(find_robot("pendulum"), watch=watch)
    assert told == [True]
    assert 1.0 < stopped.value.run.end_time < 2.0


# -- the bar ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [1, 5, 10, 19, 20, 29, 39, 40, 79, 200])
@pytest.mark.parametrize("doing", ["simulating", "searching best 0.4312, 12,345 runs", ""])
@pytest.mark.parametrize(("share", "left"), [(0.34, 754.0), (1.0, None), (None, None)])
def test_a_bar_fits_its_width(width, doing, share, left):
    assert len(bar_line(doing, share, left, 5.0, width)) <= width


def test_a_bar_says_what_is_done_and_left():
    line = bar_line("mapping", 0.5, 61.0, 5.0, 79)
    assert line.startswith("mapping ━")
    assert line.endswith(" 50 % 1:01 left")
    assert line.count("━") == line.count("─") == 20
    assert bar_line("mapping", 0.5, 61.0, 5.0, 24) == "mapping ━━━───  50% 1:01"
    assert bar_line("solving", None, None, 3725.0, 40) == "solving 1:02:05"
