"""A scene in space as the commands that meshcat's viewer takes: objects, places and an animation.

Long rows of numbers are written as text, ``{"f32": …}``; ``{"clock": true}`` stands for the times of all frames. The
page puts numbers in their places before the viewer sees them.
"""

from __future__ import annotations

import base64
import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

from saltus.mechanism import Box, Cylinder, Sphere
from saltus.show._space_scene import Arrow, Mover, Plane, SpaceScene, Thing
from saltus.show._terminal import nice

# three.js has cylinders along y, we have them along z.
TIPPED = np.array([[1.0, 0.0, 0.0], [0.0, 0.0, -1.0], [0.0, 1.0, 0.0]])
SKY, HORIZON, EARTH, GRID, TRACE = (0.93, 0.96, 0.99), (1.0, 1.0, 1.0), 0xE6E2DA, 0xB9B3A7, 0x8A8A8A
# Lines of a grid, at most, from its middle to its border; pieces of each.
LINES, PIECES = 60, 12
BOTH_SIDES = 2


def commands(scene: SpaceScene) -> list[dict[str, Any]]:
    """Everything that makes a viewer show a scene, in order."""
    made = [
        _property("Background", "top_color", list(SKY)),
        _property("Background", "bottom_color", list(HORIZON)),
        _property("Grid", "visible", False),
        _property("Axes", "visible", False),
    ]
    for k, plane in enumerate(scene.grounds):
        made += _ground(f"world/ground {k + 1}", plane, scene)
    made += [_object(f"world/{k + 1}", [thing]) for k, thing in enumerate(scene.still)]
    if scene.trace is not None and len(scene.times) > 1:
        made.append(_lines("trace", "Line", scene.trace, TRACE))
    for mover in scene.movers:
        made += [_object(mover.path, mover.things), _transform(mover)]
    if len(scene.times) > 1:
        made.append(_animation(scene))
    return made


def packed(values: np.ndarray) -> dict[str, str]:
    """Numbers of four bytes as text."""
    return {"f32": base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode()}


def unpacked(text: dict[str, str]) -> np.ndarray:
    """The numbers of a text."""
    return np.frombuffer(base64.b64decode(text["f32"]), dtype="<f4")


# -- what moves -------------------------------------------------------------------------------------


def _transform(mover: Mover) -> dict[str, Any]:
    """Where things are at the first frame."""
    matrix = np.eye(4)
    matrix[:3, :3] = Rotation.from_quat(mover.turns[0]).as_matrix()
    if mover.scales is not None:
        matrix[:3, :3] = matrix[:3, :3] * mover.scales[0]
    matrix[:3, 3] = mover.places[0]
    return {"type": "set_transform", "path": f"/{mover.path}", "matrix": _columns(matrix)}


def _animation(scene: SpaceScene) -> dict[str, Any]:
    clips = [
        {"path": f"/{mover.path}", "clip": {"fps": 1, "name": "default", "tracks": list(_tracks(mover))}}
        for mover in scene.movers
    ]
    return {"type": "set_animation", "animations": clips, "options": {"play": False, "repetitions": 1}, "path": ""}


def _tracks(mover: Mover) -> Iterator[dict[str, Any]]:
    yield _track("position", "vector3", packed(mover.places))
    yield _track("quaternion", "quaternion", packed(mover.turns))
    if mover.scales is not None:
        yield _track("scale", "vector3", packed(mover.scales))
    if mover.visible is not None:
        seen = base64.b64encode(mover.visible.astype("u1").tobytes()).decode()
        yield _track("visible", "boolean", {"u8": seen})


def _track(name: str, kind: str, values: dict[str, str]) -> dict[str, Any]:
    return {"name": f".{name}", "type": kind, "times": {"clock": True}, "values": values}


# -- objects ----------------------------------------------------------------------------------------


def _object(path: str, things: list[Thing]) -> dict[str, Any]:
    """Things as one object, a group of forms."""
    geometries: list[dict[str, Any]] = []
    materials: list[dict[str, Any]] = []
    children: list[dict[str, Any]] = []
    for thing in things:
        material = {"uuid": f"{path} material {len(materials)}", **_material(thing)}
        materials.append(material)
        for geometry, matrix in _geometries(thing):
            geometries.append({"uuid": f"{path} geometry {len(geometries)}", **geometry})
            number = len(children)
            children.append(
                {
                    "uuid": f"{path} form {number}",
                    "type": "Mesh",
                    "name": f"form {number + 1}",
                    "geometry": geometries[-1]["uuid"],
                    "material": material["uuid"],
                    "matrix": _columns(matrix),
                    "renderOrder": int(thing.on_top),
                }
            )
    group = {"uuid": f"{path} object", "type": "Group", "children": children}
    return _set_object(path, geometries, materials, group)


def _set_object(path: str, geometries: list[Any], materials: list[Any], shown: dict[str, Any]) -> dict[str, Any]:
    content = {
        "metadata": {"version": 4.5, "type": "Object"},
        "geometries": geometries,
        "materials": materials,
        "object": shown,
    }
    return {"type": "set_object", "path": f"/{path}", "object": content}


def _geometries(thing: Thing) -> Iterator[tuple[dict[str, Any], np.ndarray]]:
    """The forms of a thing as three.js names them, and where they are in what carries it."""
    match thing.form:
        case Box(size):
            names = dict(zip(("width", "height", "depth"), size, strict=True))
            yield {"type": "BoxGeometry", **names}, _matrix(thing.at, thing.turn)
        case Cylinder(radius, length):
            yield _cylinder(radius, radius, length), _matrix(thing.at, thing.turn @ TIPPED)
        case Sphere(radius):
            ball = {"type": "SphereGeometry", "radius": radius, "widthSegments": 32, "heightSegments": 20}
            yield ball, _matrix(thing.at, thing.turn)
        case Arrow(thickness):
            up = np.array([0.0, 0.0, 1.0])
            yield _cylinder(thickness, thickness, 0.8), _matrix(thing.at + 0.4 * up, thing.turn @ TIPPED)
            yield _cylinder(0.0, 2.6 * thickness, 0.2), _matrix(thing.at + 0.9 * up, thing.turn @ TIPPED)


def _cylinder(top: float, bottom: float, height: float) -> dict[str, Any]:
    sizes = {"radiusTop": top, "radiusBottom": bottom, "height": height, "radialSegments": 40}
    return {"type": "CylinderGeometry", **sizes}


def _material(thing: Thing) -> dict[str, Any]:
    """How a thing looks; what is on top is seen through all others."""
    red, green, blue, alpha = thing.colour
    number = sum(round(255 * part) << shift for part, shift in ((red, 16), (green, 8), (blue, 0)))
    clear: dict[str, Any] = {"opacity": alpha, "transparent": True} if alpha < 1 or thing.on_top else {}
    if thing.on_top:
        clear["depthTest"] = False
    return {"type": "MeshPhongMaterial", "color": number, "shininess": 20, **clear}


# -- the world --------------------------------------------------------------------------------------


def _ground(path: str, plane: Plane, scene: SpaceScene) -> list[dict[str, Any]]:
    """A piece of a ground below all that moves, with a grid of round metres."""
    middle = 0.5 * (scene.low + scene.high)
    span = float(np.linalg.norm(scene.high - scene.low))
    half = max(1.5 * span, 3.0 * scene.size)
    step = nice(max(0.4 * scene.size, half / LINES))
    # counted from the ground's own origin, so that a line is a round number
    offset = step * np.round(plane.turn.T @ (middle - plane.at) / step)
    at = plane.at + plane.turn @ (offset * (1.0, 1.0, 0.0))
    count = math.ceil(half / step)
    material = {
        "uuid": f"{path} material", "type": "MeshBasicMaterial", "color": EARTH, "side": BOTH_SIDES,
        "polygonOffset": True, "polygonOffsetFactor": 2, "polygonOffsetUnits": 2, "opacity": 0.85, "transparent": True,
    }  # fmt: skip
    wide = 2 * count * step
    sheet = {"uuid": f"{path} geometry", "type": "PlaneGeometry", "width": wide, "height": wide}
    matrix = _columns(_matrix(at, plane.turn))
    shown = {"uuid": f"{path} object", "type": "Mesh", "matrix": matrix, "renderOrder": -1}
    shown |= {"geometry": sheet["uuid"], "material": material["uuid"]}
    marks = step * np.arange(-count, count + 1)
    # in pieces: renderers without a graphics card lose lines that pass behind the eye
    stops = np.linspace(-wide / 2, wide / 2, PIECES + 1)
    pieces = np.array([(mark, stop, 0.0) for mark in marks for pair in itertools.pairwise(stops) for stop in pair])
    grid = at + np.concatenate([pieces, pieces[:, [1, 0, 2]]]) @ plane.turn.T
    return [_set_object(path, [sheet], [material], shown), _lines(f"{path} grid", "LineSegments", grid, GRID)]


def _lines(path: str, kind: str, places: np.ndarray, colour: int) -> dict[str, Any]:
    """A line through some places, or a line for every two of them."""
    numbers = {"itemSize": 3, "type": "Float32Array", "normalized": False}
    # the viewer would compute normals that lines do not have
    attributes = {
        "position": {**numbers, "array": packed(places)},
        "normal": {**numbers, "array": packed(np.zeros_like(places))},
    }
    geometry = {"uuid": f"{path} geometry", "type": "BufferGeometry", "data": {"attributes": attributes}}
    material = {"uuid": f"{path} material", "type": "LineBasicMaterial", "color": colour}
    shown = {"uuid": f"{path} object", "type": kind, "geometry": geometry["uuid"], "material": material["uuid"]}
    return _set_object(path, [geometry], [material], shown)


def _property(path: str, name: str, value: Any) -> dict[str, Any]:
    return {"type": "set_property", "path": f"/{path}", "property": name, "value": value}


def _matrix(at: np.ndarray, turn: np.ndarray) -> np.ndarray:
    made = np.eye(4)
    made[:3, :3], made[:3, 3] = turn, at
    return made


def _columns(matrix: np.ndarray) -> list[float]:
    """A matrix as three.js writes it, column after column."""
    return [float(value) for value in matrix.T.reshape(-1)]
