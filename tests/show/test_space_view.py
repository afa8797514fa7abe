"""Views in space: what is packed into the page is where mechanics says, for robots of the plane and of space."""

import base64
import json
import re
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import saltus
from saltus.errors import InputError, UnknownName
from saltus.mechanism import Box, Cylinder, FreeFlyer, Mechanism, Sphere, roll_pitch_yaw
from saltus.robots import find_robot
from saltus.show import _space_view, save_space_view, space_view
from saltus.show._meshcat import unpacked
from saltus.show._points import Points, contacts
from saltus.show._poses import along, quaternions


@pytest.fixture(scope="module")
def coin():
    return saltus.simulate(find_robot("coin"), until=1.0)


@pytest.fixture(scope="module")
def disc():
    return saltus.simulate(find_robot("disc"), until=1.0)


def data_of(text):
    """What a page holds, as its script reads it."""
    return json.loads(re.search(r'<script id="saltus-data"[^>]*>(.*?)</script>', text, re.DOTALL)[1])


def tracks_of(data, path):
    """The rows of numbers that move one thing, by name."""
    (animation,) = [command for command in data["commands"] if command["type"] == "set_animation"]
    (clip,) = [one["clip"] for one in animation["animations"] if one["path"] == path]
    return {track["name"]: track["values"] for track in clip["tracks"]}


def objects_of(data, path):
    """Forms of one thing: type, and the matrix that places it in what carries it."""
    (made,) = [one["object"] for one in data["commands"] if one["type"] == "set_object" and one["path"] == path]
    types = {geometry["uuid"]: geometry["type"] for geometry in made["geometries"]}
    children = made["object"]["children"]
    return [(types[child["geometry"]], np.reshape(child["matrix"], (4, 4)).T) for child in children]


# -- motion -------------------------------------------------------------------------------------------


def test_a_body_in_space_is_where_its_coordinates_are(coin):
    data = data_of(space_view(coin, rate=50))
    times = unpacked(data["clock"])
    assert times == pytest.approx(np.linspace(0, 1, 51), abs=1e-6)
    tracks = tracks_of(data, "/robot/coin")
    states = coin.at(np.linspace(0, 1, 51))
    names = coin.system.state_names
    place = states[:, [names.index(name) for name in "xyz"]]
    turn = Rotation.from_quat(states[:, [names.index(name) for name in ("qx", "qy", "qz", "qw")]])
    assert unpacked(tracks[".position"]).reshape(-1, 3) == pytest.approx(place, abs=1e-6)
    shown = Rotation.from_quat(unpacked(tracks[".quaternion"]).reshape(-1, 4))
    assert (shown * turn.inv()).magnitude().max() < 1e-5


def test_a_planar_body_stands_upright(disc):
    tracks = tracks_of(data_of(space_view(disc, rate=50)), "/robot/disc")
    x, y, angle = disc.at(np.linspace(0, 1, 51))[:, :3].T
    expected = np.stack([x, 0 * x, y], axis=1)
    assert unpacked(tracks[".position"]).reshape(-1, 3) == pytest.approx(expected, abs=1e-6)
    shown = Rotation.from_quat(unpacked(tracks[".quaternion"]).reshape(-1, 4))
    # the body's own x and y, seen in the world, where z is up
    assert shown.apply([1, 0, 0]) == pytest.approx(np.stack([np.cos(angle), 0 * x, np.sin(angle)], axis=1), abs=1e-5)
    assert shown.apply([0, 1, 0]) == pytest.approx(np.stack([-np.sin(angle), 0 * x, np.cos(angle)], axis=1), abs=1e-5)


def test_quaternions_do_not_jump():
    angles = np.linspace(0.0, 9.0 * np.pi, 400)
    found = quaternions(Rotation.from_rotvec(angles[:, None] * [0.6, 0.0, 0.8]).as_matrix())
    assert np.linalg.norm(np.diff(found, axis=0), axis=1).max() < 0.05


def test_a_direction_is_reached_by_the_least_turn():
    ways = np.array([[0, 0, 2.0], [0, 1, 1], [0, 1, 0], [0, 0, 0], [0, -1, 0], [1, 2, 3]])
    turns = along(ways)
    for way, turn in zip(ways, turns, strict=True):
        assert turn @ turn.T == pytest.approx(np.eye(3), abs=1e-12)
        assert np.linalg.det(turn) == pytest.approx(1.0)
        if way.any():
            assert turn[:, 2] == pytest.approx(way / np.linalg.norm(way), abs=1e-12)
    assert Rotation.from_matrix(turns[1] @ turns[0].T).magnitude() == pytest.approx(np.pi / 4)


def test_a_link_ends_where_its_points_are():
    hopper = find_robot("hopper")
    run = saltus.simulate(hopper, controller=hopper.profiles["paper"].controller)
    data = data_of(space_view(run, rate=60))
    # the second link, from Q to R, on the second body, at the first frame
    body = list(hopper.mechanism.bodies)[1]
    tracks = tracks_of(data, f"/robot/{body}")
    origin = unpacked(tracks[".position"])[:3]
    turn = Rotation.from_quat(unpacked(tracks[".quaternion"])[:4])
    (rod,) = [matrix for kind, matrix in objects_of(data, f"/robot/{body}") if kind == "CylinderGeometry"]
    points = Points(hopper)
    (places,) = points.positions(run.at([0.0]))
    Q, R = places[points.index("Q")], places[points.index("R")]
    middle = origin + turn.apply(rod[:3, 3])
    assert middle == pytest.approx([(Q + R)[0] / 2, 0.0, (Q + R)[1] / 2], abs=1e-6)
    axis = turn.apply(rod[:3, 1])  # three.js has cylinders along y
    way = (R - Q) / np.linalg.norm(R - Q)
    assert abs(axis @ [way[0], 0.0, way[1]]) == pytest.approx(1.0, abs=1e-6)


# -- contacts -----------------------------------------------------------------------------------------


def test_a_leaning_wheel_touches_at_its_lowest_rim(coin):
    data = data_of(space_view(coin, rate=50))
    place = unpacked(tracks_of(data, "/contacts/centre")[".position"]).reshape(-1, 3)
    states = coin.at(np.linspace(0, 1, 51))
    names = coin.system.state_names
    centre = states[:, [names.index(name) for name in "xyz"]]
    turn = Rotation.from_quat(states[:, [names.index(name) for name in ("qx", "qy", "qz", "qw")]])
    rim = 0.2 * np.stack([np.cos(np.linspace(0, 2 * np.pi, 20001)), np.sin(np.linspace(0, 2 * np.pi, 20001))])
    for k in (0, 17, 50):
        whole = centre[k] + turn[k].apply(np.stack([rim[0], 0 * rim[0], rim[1]], axis=1))
        assert place[k] == pytest.approx(whole[np.argmin(whole[:, 2])], abs=1e-4)
    assert np.abs(place[:, 2]).max() < 1e-6


def test_the_force_in_space_moves_the_centre_of_mass(coin):
    """Of a lone body the force of the ground is mass times acceleration, less gravity."""
    (contact,) = contacts(coin.system)
    t, h = np.linspace(0.1, 0.9, 9), 1e-4
    at = coin.system.state_names.index("dx")
    rates = (coin.at(t + h)[:, at : at + 3] - coin.at(t - h)[:, at : at + 3]) / (2 * h)
    samples = coin.everything_at(t)
    forces = contact.forces(samples.forces, samples.x)
    assert forces == pytest.approx(np.asarray(rates) + np.array([0.0, 0.0, 9.81]), abs=1e-4)
    assert np.abs(forces[:, :2]).max() > 0.5
    with pytest.raises(InputError, match="give states"):
        contact.forces(samples.forces)


def test_arrows_point_along_forces_and_can_be_left_out(coin):
    data = data_of(space_view(coin, rate=50))
    samples = coin.everything_at(np.linspace(0, 1, 51))
    (contact,) = contacts(coin.system)
    forces = contact.forces(samples.forces, samples.x)
    tracks = tracks_of(data, "/forces/centre")
    shown = Rotation.from_quat(unpacked(tracks[".quaternion"]).reshape(-1, 4)).apply([0, 0, 1])
    sizes = np.linalg.norm(forces, axis=1)
    assert shown == pytest.approx(forces / sizes[:, None], abs=1e-5)
    lengths = unpacked(tracks[".scale"]).reshape(-1, 3)[:, 2]
    assert lengths / lengths[0] == pytest.approx(sizes / sizes[0], rel=1e-5)
    assert data["force"] == pytest.approx(sizes.max())
    assert "/forces/centre" not in [one.get("path") for one in data_of(space_view(coin, forces=False))["commands"]]


def test_a_contact_is_marked_only_while_it_is_closed(disc):
    tracks = tracks_of(data_of(space_view(disc, rate=50)), "/contacts/centre")
    seen = np.frombuffer(base64.b64decode(tracks[".visible"]["u8"]), dtype=np.uint8)
    fall = disc.events[0].t
    times = np.linspace(0, 1, 51)
    assert not seen[times < fall].any()
    assert seen[-1]


# -- shapes -------------------------------------------------------------------------------------------


def flying(*, shapes=True):
    m = Mechanism("flyer", dimension=3)
    edge = m.parameter("edge", 0.4, "m", positive=True)
    body = m.body("hull", FreeFlyer(), mass=1.0, inertia=(0.1, 0.2, 0.3))
    if shapes:
        m.shape(body, Box((edge, 0.2, 0.1)), at=(0, 0, edge), colour="#ff0000")
        m.shape(body, Cylinder(0.1, 1.0), turn=roll_pitch_yaw(0, np.pi / 2, 0), colour=(0, 0, 1, 0.5))
        m.shape(m.world, Sphere(0.3), at=(1, 2, 3))
    m.point("nose", body, (1, 0, 0))
    return saltus.HybridSystem(m, start={"qw": 1.0, "dz": 1.0, "wx": 1.0}, until=0.5, skeleton=(("nose", "nose"),))


def test_shapes_are_drawn_as_they_are_told():
    data = data_of(space_view(saltus.simulate(flying().with_parameters(edge=0.6))))
    (box, at), (rod, turned) = objects_of(data, "/robot/hull")
    assert [box, rod] == ["BoxGeometry", "CylinderGeometry"]
    assert at[:3, 3] == pytest.approx([0, 0, 0.6])
    assert np.abs(turned[:3, 1]) == pytest.approx([1, 0, 0], abs=1e-12)
    (made,) = [one["object"] for one in data["commands"] if one.get("path") == "/robot/hull" and "object" in one]
    assert made["geometries"][0]["width"] == 0.6
    assert made["materials"][0]["color"] == 0xFF0000
    assert made["materials"][1]["opacity"] == 0.5
    ((_, ball),) = objects_of(data, "/world/1")
    assert ball[:3, 3] == pytest.approx([1, 2, 3])


def test_without_a_shape_the_skeleton_is_drawn():
    data = data_of(space_view(saltus.simulate(flying(shapes=False))))
    ((kind, at),) = objects_of(data, "/robot/hull")
    assert kind == "SphereGeometry"
    assert at[:3, 3] == pytest.approx([1, 0, 0])


@pytest.mark.parametrize(
    ("form", "more", "words"),
    [
        (lambda: Box((1, 2)), {}, "three lengths"),
        (lambda: Box((1, 2, -3)), {}, "must be positive"),
        (lambda: Sphere("wide"), {}, "a finite number"),
        (lambda: Cylinder(1, float("nan")), {}, "a finite number"),
        (lambda: "ball", {}, "a Box, a Cylinder or a Sphere"),
        (lambda: Sphere(1), {"at": (1,)}, "two or three lengths"),
        (lambda: Sphere(1), {"turn": np.diag([1, 1, -1])}, "rotation matrix"),
        (lambda: Sphere(1), {"turn": ca.SX.sym("a", 3, 3)}, "rotation matrix"),
        (lambda: Sphere(1), {"colour": "reddish"}, "'#rrggbb'"),
        (lambda: Sphere(1), {"colour": (2, 0, 0)}, "'#rrggbb'"),
    ],
)
def test_what_is_no_shape_is_refused(form, more, words):
    m = flying().mechanism
    with pytest.raises(InputError, match=words):
        m.shape(m.bodies["hull"], form(), **more)


def test_a_shape_is_fixed_on_a_body_of_its_mechanism():
    m, other = flying().mechanism, flying().mechanism
    with pytest.raises(InputError, match=r"m\.body returned"):
        m.shape(other.bodies["hull"], Sphere(1))
    with pytest.raises(InputError, match="parameters only"):
        m.shape(m.bodies["hull"], Sphere(m.q[0]))


# -- the page -----------------------------------------------------------------------------------------


def test_the_page_names_nothing_that_would_be_fetched(coin):
    text = space_view(coin)
    assert "default-src 'none'" in text
    assert not re.search(r"<(link|iframe|img)\b|<script[^>]*\bsrc=", text)
    assert 800_000 < len(text) < 1_500_000
    assert "MIT" in re.search(r'<script id="licences"[^>]*>(.*?)</script>', text, re.DOTALL)[1]


def test_a_title_cannot_break_the_page(coin):
    nasty = "</script><script>alert(1)</script>"
    text = space_view(coin, title=nasty)
    assert nasty not in text
    assert data_of(text)["title"] == nasty


def test_a_long_run_has_a_limited_number_of_frames():
    run = saltus.simulate(find_robot("pendulum"), until=300.0)
    times = _space_view.frame_times(run, 60.0)
    assert len(times) == _space_view.MOST_FRAMES
    assert (times[0], times[-1]) == (0.0, 300.0)


def test_a_run_without_a_length_is_a_still():
    data = data_of(space_view(saltus.simulate(find_robot("pendulum"), until=0.0)))
    assert "set_animation" not in [command["type"] for command in data["commands"]]
    (place,) = [one["matrix"] for one in data["commands"] if one["type"] == "set_transform"]
    assert np.reshape(place, (4, 4)).T[:3, 3] == pytest.approx([0, 0, 0])


def test_what_cannot_be_shown_is_refused_before_any_work(coin, tmp_path, monkeypatch):
    with pytest.raises(InputError, match="one run"):
        space_view({"": coin})
    for rate in (0.0, float("inf"), float("nan")):
        with pytest.raises(InputError, match="rate"):
            space_view(coin, rate=rate)
    with pytest.raises(UnknownName, match="file type"):
        save_space_view(coin, tmp_path / "a.gif")
    page = save_space_view(coin, tmp_path / "a.html")
    with pytest.raises(InputError, match="exists already"):
        save_space_view(coin, page)
    monkeypatch.setattr(_space_view, "find_spec", lambda name: None)
    with pytest.raises(InputError, match="pip install meshcat"):
        save_space_view(coin, tmp_path / "b.html")


def test_none_of_the_package_is_run():
    """Its own modules would load a web server and a shell."""
    assert find_spec("meshcat") is not None
    assert "meshcat" not in __import__("sys").modules


# -- flat pictures of what moves in space ---------------------------------------------------------------


def test_flat_pictures_see_along_y(coin):
    points = Points(coin.system)
    whole = points.full_positions(coin.x)
    assert whole.shape[2] == 3
    assert np.array_equal(points.positions(coin.x), whole[:, :, [0, 2]])
    step = 1e-6
    near = np.stack([coin.at(0.5 - step), coin.at(0.5 + step)])
    ahead = np.diff(points.full_positions(near), axis=0)[0] / (2 * step)
    assert points.full_velocities(coin.at([0.5]))[0] == pytest.approx(ahead, abs=1e-4)


def test_a_run_in_space_has_all_figures_and_a_record(coin):
    from saltus.show import run_figures
    from saltus.show._record import run_record

    figures = run_figures(replace(coin, output_step=0.05))
    assert {"forces", "force-ratio", "phase", "snapshots", "strobe", "paths"} <= set(figures)
    assert figures["paths"].axes[0].get_ylabel() == "z (m)"
    record = run_record(coin)
    assert record["dimension"] == 3
    assert record["ground"] == [{"x": 0.0, "y": 0.0, "angle": 0.0}]
    assert record["wheels"] == [{"point": 0, "radius": 0.2}]


def test_the_command_writes_a_view(call, call_json):
    code, out, _ = call("run", "disc", "--until", "0.1", "--view", "disc.html")
    assert code == 0
    assert "wrote disc.html" in out
    before = Path("disc.html").read_text()
    code, _, errors = call("run", "disc", "--until", "0.2", "--view", "disc.html")
    assert code == 2
    assert "--force writes over it" in errors
    assert Path("disc.html").read_text() == before
    code, told = call_json("run", "disc", "--until", "0.2", "--view", "disc.html", "--force")
    assert (code, told["view"]) == (0, "disc.html")
    assert Path("disc.html").read_text() != before
    code, _, errors = call("run", "disc", "--view", "disc.gif")
    assert (code, "file type" in errors) == (2, True)
