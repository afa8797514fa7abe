"""Films are read back: their frames and lengths, and whether each thing is where mechanics says."""

import io
import itertools
import math
import os
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from PIL import Image

import saltus
from saltus.contact import Bar, Grip
from saltus.engine import _layout as L
from saltus.errors import InputError, SaltusError, UnknownName
from saltus.hybrid import HybridSystem
from saltus.mechanism import Floating, Mechanism
from saltus.registry import names
from saltus.robots import find_robot
from saltus.show import _animation, save_animation
from saltus.show._animation import frame_times, usual_speed
from saltus.show._figure import BLUE
from saltus.show._frames import COLOURS, DASHES, FORCE, GROUND, JOINTS, Scene
from saltus.show._points import Points

needs_ffmpeg = pytest.mark.skipif(shutil.which("ffmpeg") is None, reason="ffmpeg is not installed")
SIZE = (640, 400)


@pytest.fixture(scope="module")
def jump():
    hopper = find_robot("hopper")
    return saltus.simulate(hopper, controller=hopper.profiles["paper"].controller)


@pytest.fixture(scope="module")
def swing():
    return saltus.simulate(find_robot("monkeybot"), until=0.3)


@pytest.fixture(scope="module")
def jump_film(jump, tmp_path_factory):
    return film_of(save_animation(jump, tmp_path_factory.mktemp("films") / "jump.gif", size=SIZE))


def film_of(path):
    return Image.open(io.BytesIO(path.read_bytes()))


def scene_of(runs, *, speed=1.0, fps=30.0, traces=None):
    named = {"": runs} if isinstance(runs, saltus.Trajectory) else runs
    return Scene(named, frame_times(named.values(), speed, fps), size=SIZE, speed=speed, traces=traces)


def frame(film, k):
    film.seek(k)
    return np.asarray(film.convert("RGB"))


def shows(pixels, place, colour, near=2.0, apart=40):
    """Whether a colour is seen within some pixels of a column and a row."""
    (x, y), reach = place, math.ceil(near)
    rows, columns = slice(round(y) - reach, round(y) + reach + 1), slice(round(x) - reach, round(x) + reach + 1)
    part = pixels[rows, columns, :3].astype(int)
    return bool((np.abs(part - 255 * np.array(to_rgb(colour))).max(axis=2) < apart).any())


def hopper_points(x):
    """Foot, knee and head by hand [oh_huang]: links of 0.3 m, angles from the horizontal."""
    foot = np.array(x[:2])
    knee = foot + 0.3 * np.array([math.cos(x[2]), math.sin(x[2])])
    return foot, knee, knee + 0.3 * np.array([math.cos(x[2] + x[3]), math.sin(x[2] + x[3])])


# -- what is in a film ----------------------------------------------------------------------------------


def test_frames_and_durations_are_those_of_the_run(jump, jump_film):
    speed, length = usual_speed([jump]), jump.end_time - jump.start_time
    assert speed == 0.2
    assert jump_film.size == SIZE
    assert jump_film.n_frames == len(frame_times([jump], speed, 30.0)) == round(length / speed * 30)
    shown = []
    for k in range(jump_film.n_frames):
        jump_film.seek(k)
        shown.append(jump_film.info["duration"])
    assert set(shown) <= {30, 40}
    assert sum(shown) == pytest.approx(1000 * length / speed, abs=10)
    assert jump_film.info["loop"] == 0


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5, 0.8, 1.0])
def test_links_are_where_the_angles_say(jump, jump_film, share):
    scene = scene_of(jump, speed=0.2)
    k = round(share * (len(scene.times) - 1))
    pixels = frame(jump_film, k)
    foot, knee, head = hopper_points(jump.at(scene.times[k]))
    for place in (foot, knee, head, 0.5 * (foot + knee), 0.25 * knee + 0.75 * head, 0.75 * knee + 0.25 * head):
        assert shows(pixels, scene.pixel(place), BLUE)
    # and nowhere else: within the joints and the width of a link of every blue pixel there is a link
    blue = np.argwhere(np.abs(pixels.astype(int) - 255 * np.array(to_rgb(BLUE))).max(axis=2) < 40)
    ends = [np.array(scene.pixel(point)) for point in (foot, knee, head)]
    for row, column in blue:
        assert min(away(np.array([column, row]), a, b) for a, b in itertools.pairwise(ends)) < 7


def away(place, a, b):
    share = np.clip((place - a) @ (b - a) / ((b - a) @ (b - a)), 0, 1)
    return np.hypot(*(a + share * (b - a) - place))


def test_the_first_and_the_last_frame_are_start_and_end(jump):
    times = frame_times([jump], 0.2, 30.0)
    assert (times[0], times[-1]) == (jump.start_time, jump.end_time)


def test_arrows_show_forces_only_while_there_is_contact(jump, jump_film):
    scene = scene_of(jump, speed=0.2)
    read = jump.everything_at(scene.times)
    touching = jump.arc_statuses[read.arc, 0] != 0
    assert touching.any()
    assert not touching.all()
    plot = scene.axes.get_window_extent()
    top, bottom = SIZE[1] - int(plot.y1), SIZE[1] - int(plot.y0)
    for k in range(len(scene.times)):
        pixels = frame(jump_film, k)[top:bottom]
        seen = (np.abs(pixels.astype(int) - 255 * np.array(to_rgb(FORCE))).max(axis=2) < 40).any()
        assert seen == touching[k]
    k = int(np.argmax(np.hypot(*read.forces.T)))
    foot, along = read.x[k, :2], read.forces[k]
    tip = foot + scene.force_scale * along
    for share in (0.3, 0.6, 0.97):
        assert shows(frame(jump_film, k), scene.pixel(foot + share * (tip - foot)), FORCE)
    # a quarter of the way that the whole motion takes
    assert np.hypot(*(tip - foot)) == pytest.approx(
        0.25 * np.ptp(np.array(list(map(hopper_points, read.x))), (0, 1)).max()
    )


def test_ground_is_solid_below_its_line_and_slopes(tmp_path):
    run = saltus.simulate(find_robot("disc").with_parameters(slope=-0.3, restitution=0.5), until=2.0)
    film = film_of(save_animation(run, tmp_path / "disc.gif", size=SIZE))
    scene, pixels = scene_of(run), frame(film, 0)
    (left, right), (low, high) = scene.axes.get_xlim(), scene.axes.get_ylim()
    checked = 0
    for x in np.linspace(left, right, 12)[1:-1]:
        y = math.tan(-0.3) * x
        for side, colour in ((-1, GROUND), (1, "white")):
            at = y + side * 0.05 * (high - low)
            if low < at < high and abs(x) > 0.5:
                assert shows(pixels, scene.pixel((x, at)), colour, near=0, apart=8)
                checked += 1
    assert checked > 10


def test_a_wheel_is_a_circle_that_turns(tmp_path):
    run = saltus.simulate(find_robot("disc"), until=1.0)
    film = film_of(save_animation(run, tmp_path / "disc.gif", size=SIZE, speed=1.0))
    scene, k = scene_of(run), 25
    x, y, angle = run.at(scene.times[k])[:3]
    for turn in np.linspace(0, 2 * math.pi, 9):
        rim = (x + 0.2 * math.cos(turn), y + 0.2 * math.sin(turn))
        assert shows(frame(film, k), scene.pixel(rim), BLUE, near=3) or shows(frame(film, k), scene.pixel(rim), FORCE)
    assert shows(frame(film, k), scene.pixel((x + 0.1 * math.cos(angle), y + 0.1 * math.sin(angle))), BLUE)
    assert abs(angle) > 1


def test_grips_that_hold_are_marked_and_others_are_not(swing, tmp_path):
    film = film_of(save_animation(swing, tmp_path / "swing.gif", size=SIZE, speed=1.0))
    scene, pixels = scene_of(swing), frame(film, 4)
    x = swing.at(scene.times[4])
    b = x[:2] + 0.61 * np.array([math.sin(x[2]), -math.cos(x[2])])
    b += 0.61 * np.array([math.sin(x[2] + x[3]), -math.cos(x[2] + x[3])])
    corners = [(dx, dy) for dx in (-7, 7) for dy in (-7, 7)]

    def marked(place):
        column, row = scene.pixel(place)
        return all(shows(pixels, (column + dx, row + dy), "black", near=3) for dx, dy in corners)

    assert marked(x[:2])
    assert not marked(b)


def test_paths_are_drawn_behind_points_and_not_before(jump):
    scene = scene_of(jump, speed=0.2, traces=["Q"])
    k, earlier = 40, jump.at(scene.times[20])
    _, knee, _ = hopper_points(earlier)
    assert shows(scene.frame(k), scene.pixel(knee), "#8A8A8A", apart=60)
    assert not shows(scene_of(jump, speed=0.2, traces=[]).frame(k), scene.pixel(knee), "#8A8A8A", apart=60)
    assert not shows(scene.frame(5), scene.pixel(knee), "#8A8A8A", apart=60)


def test_bars_are_in_the_picture():
    m = Mechanism("hanger")
    body = m.body("body", Floating("x", "y", "angle"), mass=1.0, inertia=0.1)
    hand, tail = m.point("hand", body, (0, 0.3)), m.point("tail", body, (0, -0.3))
    grip = Grip(hand, (Bar((0.0, 0.3), 0.05), Bar((0.8, 0.5), 0.05)), closed=True)
    run = saltus.simulate(HybridSystem(m, units=(grip, Grip(tail)), skeleton=(("hand", "tail"),)), until=0.5)
    scene = scene_of(run)
    assert shows(scene.frame(0), scene.pixel((0.8, 0.5)), "#555555")


def test_the_picture_tells_time_mode_speed_and_units(jump):
    scene = scene_of(jump, speed=0.2)
    scene.frame(0)
    texts = {text.get_text() for text in scene.figure.texts}
    assert {"hopper", "t = 0.000 s", "mode: stick", "0.2 of real time"} <= texts
    scene.frame(len(scene.times) // 2)
    texts = {text.get_text() for text in scene.figure.texts}
    assert "mode: flight" in texts
    assert f"t = {scene.times[len(scene.times) // 2]:.3f} s" in texts
    assert (scene.axes.get_xlabel(), scene.axes.get_ylabel()) == ("x (m)", "y (m)")
    (legend,) = scene.figure.legends
    assert [text.get_text() for text in legend.get_texts()] == ["path of R", "contact force, at most 22.5 N"]


def test_the_view_fits_the_motion_at_equal_aspect(jump):
    scene = scene_of(jump, speed=0.2)
    (left, right), (low, high) = scene.axes.get_xlim(), scene.axes.get_ylim()
    for x in jump.at(scene.times):
        for px, py in hopper_points(x):
            assert left < px < right
            assert low < py < high
    here, there, above = (np.array(scene.pixel(place)) for place in ((0, 0), (0.1, 0), (0, 0.1)))
    assert there[0] - here[0] == pytest.approx(here[1] - above[1], rel=1e-6)


@pytest.mark.parametrize("robot", sorted(names("robots")))
def test_every_robot_is_drawn_whole(robot):
    run = saltus.simulate(find_robot(robot), until=0.3)
    scene, points = scene_of(run), Points(run.system)
    for k in (0, len(scene.times) - 1):
        pixels = scene.frame(k)
        at = points.positions(run.at(scene.times[[k]]))[0]
        for one, other in points.skeleton:
            # not in the middle, where an arrow may lie over a link
            for share in (0.2, 0.4, 0.65, 0.9):
                place = scene.pixel((1 - share) * at[one] + share * at[other])
                assert shows(pixels, place, BLUE, near=4) or shows(pixels, place, FORCE, near=4)


# -- several runs ---------------------------------------------------------------------------------------


def test_runs_are_overlaid_and_told_apart_also_in_grey(jump, tmp_path):
    slick = saltus.simulate(jump.system.with_parameters(mu=0.1), controller=jump.system.profiles["paper"].controller)
    runs = {"rough": jump, "slick": slick}
    film = film_of(save_animation(runs, tmp_path / "both.gif", size=SIZE))
    scene = scene_of(runs, speed=usual_speed(runs.values()))
    k = film.n_frames // 2
    for run, colour in zip(runs.values(), COLOURS, strict=False):
        foot, knee, head = hopper_points(run.at(scene.times[k]))
        for place in (knee, head, 0.5 * (foot + knee)):
            assert shows(frame(film, k), scene.pixel(place), colour, near=6)
    scene.frame(k)
    texts = [text.get_text() for text in scene.figure.texts]
    assert "rough: flight" in texts
    assert any(text.startswith("slick: ") for text in texts)
    first, second = scene.moving
    assert first.links.get_linestyle() != second.links.get_linestyle()
    assert first.joints.get_marker() != second.joints.get_marker()
    assert len(set(DASHES)) == len(set(JOINTS)) == len(set(COLOURS))


def test_a_run_that_is_over_stands_still_and_says_so(jump):
    short = saltus.simulate(jump.system, until=0.2)
    scene = scene_of({"jump": jump, "short": short}, speed=0.2)
    last = len(scene.times) - 1
    scene.frame(last)
    assert any(
        text.get_text() == "short: stick, over at 0.2 s" or "over at 0.2 s" in text.get_text()
        for text in scene.figure.texts
    )
    assert scene.actors[1].positions[last].ravel() == pytest.approx(np.ravel(hopper_points(short.at(0.2))))


@pytest.mark.parametrize("count", [0, 8])
def test_no_runs_and_too_many_are_refused(jump, tmp_path, count):
    with pytest.raises(InputError, match="up to 7 that can be told apart"):
        save_animation({str(k): jump for k in range(count)}, tmp_path / "a.gif")
    assert not list(tmp_path.iterdir())


# -- how fast -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("length", "speed"),
    [(0.0, 1.0), (5.0, 1.0), (2.0, 1.0), (1.99, 0.5), (1.0, 0.5), (0.9, 0.2), (0.41, 0.2), (0.2, 0.1), (3e-6, 1e-6)],
)
def test_short_runs_are_slowed_down(jump, length, speed):
    class Run:
        start_time, end_time = 0.0, length

    assert usual_speed([Run()]) == pytest.approx(speed)


def test_speed_and_rate_are_as_asked(jump, tmp_path):
    film = film_of(save_animation(jump, tmp_path / "slow.gif", speed=0.5, fps=20, size=SIZE))
    length = jump.end_time / 0.5
    assert film.n_frames == round(20 * length)
    total = 0
    for k in range(film.n_frames):
        film.seek(k)
        total += film.info["duration"]
    assert total == pytest.approx(1000 * length, abs=10)


# -- what can go wrong ----------------------------------------------------------------------------------


def test_a_run_of_one_sample_is_a_still(tmp_path):
    run = saltus.simulate(find_robot("hopper"), until=0.0)
    film = film_of(save_animation(run, tmp_path / "still.gif", size=SIZE))
    scene = scene_of(run)
    assert film.n_frames == len(scene.times) == 1
    _, knee, _ = hopper_points(run.at(0.0))
    assert shows(frame(film, 0), scene.pixel(knee), BLUE)


def broken(run, since):
    """The same run with states that are not numbers from a time on."""
    rows = run.step_rows.copy()
    rows[rows[:, L.S_TIME] >= since, L.S_VECTORS :] = math.nan
    return replace(run, step_rows=rows)


def test_states_that_are_not_numbers_leave_a_gap(tmp_path):
    run = broken(saltus.simulate(find_robot("pendulum"), until=2.0), 1.0)
    film = film_of(save_animation(run, tmp_path / "gap.gif", size=SIZE))
    blue = [
        (np.abs(frame(film, k).astype(int) - 255 * np.array(to_rgb(BLUE))).max(axis=2) < 40).any()
        for k in (0, 20, 45, 59)
    ]
    assert film.n_frames == 60
    assert blue == [True, True, False, False]
    with pytest.raises(InputError, match="no state of this run of pendulum is finite"):
        save_animation(broken(run, 0.0), tmp_path / "none.gif")
    assert not (tmp_path / "none.gif").exists()


def test_a_thousand_events(tmp_path):
    run = saltus.simulate(find_robot("bouncing_ball").with_parameters(restitution=1.0), {"y": 0.001}, until=30.0)
    assert len(run.events) > 1000
    film = film_of(save_animation(run, tmp_path / "many.gif", size=SIZE, speed=10))
    assert film.n_frames == 90


def test_a_file_that_is_there_is_replaced_by_force_only(jump, tmp_path):
    path = tmp_path / "a.gif"
    path.write_bytes(b"old")
    with pytest.raises(InputError, match=r"a\.gif exists already.*force"):
        save_animation(jump, path)
    assert path.read_bytes() == b"old"
    save_animation(jump, path, force=True, size=SIZE)
    assert film_of(path).n_frames == 61


@pytest.mark.parametrize("form", ["gif", pytest.param("mp4", marks=needs_ffmpeg)])
def test_what_is_interrupted_leaves_nothing_behind(jump, tmp_path, form):
    path = tmp_path / f"a.{form}"
    path.write_bytes(b"old")
    seen = []

    def stop(done, total):
        seen.append((done, total))
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        save_animation(jump, path, force=True, progress=stop, size=SIZE)
    assert seen == [(k, 61) for k in range(1, 6)]
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert path.read_bytes() == b"old"


def test_progress_is_told_to_the_end(jump, tmp_path):
    seen = []
    save_animation(jump, tmp_path / "a.gif", progress=lambda done, total: seen.append((done, total)), size=SIZE)
    assert seen == [(k, 61) for k in range(1, 62)]


def test_folders_and_endings_are_looked_at_before_any_work(jump, tmp_path, monkeypatch):
    def never(*arguments, **options):
        raise AssertionError("work has begun")

    monkeypatch.setattr(_animation, "Scene", never)
    with pytest.raises(UnknownName, match=r"'\.avi'"):
        save_animation(jump, tmp_path / "a.avi")
    with pytest.raises(InputError, match="there is no folder"):
        save_animation(jump, tmp_path / "none" / "a.gif")
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(InputError, match="not writable"):
        save_animation(jump, tmp_path / "a.gif")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"speed": 0}, "speed must be a positive number"),
        ({"speed": math.nan}, "speed must be a positive number"),
        ({"fps": -1}, "fps must be a positive number"),
        ({"fps": 100}, "at most 50 frames in a second"),
        ({"size": (10, 400)}, "at least 360 by 300 pixels"),
        ({"size": "big"}, "a width and a height"),
        ({"traces": ["toe"]}, "unknown point of hopper: 'toe'"),
        ({"speed": 1e-4}, r"would have \d+ frames.*at most 1500: take a speed above 0.0081"),
    ],
)
def test_bad_options_are_refused(jump, tmp_path, options, message):
    with pytest.raises(InputError, match=message):
        save_animation(jump, tmp_path / "a.gif", **options)
    assert not list(tmp_path.iterdir())


def test_without_a_skeleton_there_is_nothing_to_draw(tmp_path):
    run = saltus.simulate(replace(find_robot("pendulum"), skeleton=()), until=0.1)
    with pytest.raises(InputError, match="pendulum has no skeleton"):
        save_animation(run, tmp_path / "a.gif")


# -- MP4 ------------------------------------------------------------------------------------------------


@needs_ffmpeg
def test_an_mp4_film_has_its_frames_length_and_robot(jump, tmp_path):
    path = save_animation(jump, tmp_path / "jump.mp4", size=(641, 399))
    ask = ["ffprobe", "-v", "error", "-count_frames", "-select_streams", "v:0", "-of", "csv=p=0", "-show_entries"]
    found = subprocess.run(
        [*ask, "stream=width,height,nb_read_frames", path], capture_output=True, text=True, check=True
    )
    assert found.stdout.strip().split(",")[:3] == ["642", "400", "61"]
    found = subprocess.run([*ask, "format=duration", path], capture_output=True, text=True, check=True)
    assert float(found.stdout.split()[-1]) == pytest.approx(jump.end_time / 0.2, abs=1 / 30)
    still = tmp_path / "still.png"
    pick = ["ffmpeg", "-v", "error", "-i", path, "-vf", "select=eq(n\\,30)", "-frames:v", "1", still]
    subprocess.run(pick, check=True)
    scene = Scene({"": jump}, frame_times([jump], 0.2, 30.0), size=(642, 400), speed=0.2)
    _, knee, head = hopper_points(jump.at(scene.times[30]))
    pixels = np.asarray(film_of(still).convert("RGB"))
    assert shows(pixels, scene.pixel(0.5 * (knee + head)), BLUE, apart=50)
    assert not shows(pixels, scene.pixel(0.5 * (knee + head) + [0.1, 0]), BLUE, apart=50)


def test_without_ffmpeg_one_is_told_what_to_do(jump, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match=r"ffmpeg, which is not on the PATH; install it.*or write a \.gif"):
        save_animation(jump, tmp_path / "a.mp4")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.name != "posix", reason="a program in the shell's language")
def test_what_ffmpeg_says_when_it_fails_is_told(jump, tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    program = folder / "ffmpeg"
    program.write_text("#!/bin/sh\necho no such codec >&2\nexit 3\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder), prepend=os.pathsep)
    (tmp_path / "a.mp4").write_bytes(b"old")
    with pytest.raises(SaltusError, match=r"exit code 3\): no such codec"):
        save_animation(jump, tmp_path / "a.mp4", force=True, size=SIZE)
    assert (tmp_path / "a.mp4").read_bytes() == b"old"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["a.mp4", "bin"]


def test_a_film_on_a_page_needs_nothing_else(tmp_path):
    run = saltus.simulate(find_robot("pendulum"), until=1.0)
    path = save_animation({"one": run, "two": run}, tmp_path / "a.html")
    text = path.read_text()
    assert "saltus-data" in text
    assert text.count('"robot": "pendulum"') + text.count('"robot":"pendulum"') == 2
    with pytest.raises(InputError, match="exists already"):
        save_animation(run, path)
    assert path.read_text() == text


@pytest.mark.parametrize("wrong", [None, [1], {"a": 1}])
def test_a_film_is_made_of_runs(wrong, tmp_path):
    with pytest.raises(InputError, match="a run, or of runs by name"):
        save_animation(wrong, tmp_path / "a.gif")


def test_films_by_the_command_line(call_json, call, tmp_path):
    code, content = call_json("run", "hopper", "--profile", "paper", "--animation", "a.gif", "--speed", "0.5")
    assert (code, content["animation"]) == (0, "a.gif")
    with Image.open(tmp_path / "a.gif") as film:
        assert film.n_frames == round(content["t_end"] / 0.5 * 30)
    before = (tmp_path / "a.gif").read_bytes()
    code, out, err = call("run", "hopper", "--profile", "paper", "--animation", "a.gif")
    assert (code, "--force" in err, out) == (2, True, "")
    assert (tmp_path / "a.gif").read_bytes() == before
    code, out, _ = call("run", "hopper", "--profile", "paper", "--animation", "a.gif", "--force")
    assert (code, "wrote a.gif" in out) == (0, True)
    code, out, err = call("run", "hopper", "--profile", "paper", "--animation", "b.gif", "--speed", "1e-9")
    assert (code, "frames" in err, "jump_distance" in out) == (2, True, True)
    assert not (tmp_path / "b.gif").exists()
    code, _, err = call("run", "hopper", "--animation", "a.avi")
    assert (code, "file type" in err) == (2, True)
