"""What a URDF file says, link by link and joint by joint, with the lines where it says so."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from saltus._reading import MOST_DEEP, read_bytes
from saltus.errors import InputError
from saltus.mechanism._space import roll_pitch_yaw

# A robot has no more links, nor joints, and no longer names; the room that it needs grows with the cube of how many
# joints move.
MOST_LINKS, MOST_MOVING, MOST_LETTERS = 1000, 200, 200

INERTIA_ENTRIES = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")


@dataclass
class Node:
    """One element of an XML file and the line where it begins."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Node] = field(default_factory=list)

    def child(self, tag: str) -> Node | None:
        """The first child of that tag."""
        return next(self.all(tag), None)

    def all(self, tag: str) -> Any:
        """All children of that tag."""
        return (node for node in self.children if node.tag == tag)

    def every(self, tag: str) -> Any:
        """All elements of that tag below this one."""
        for node in self.children:
            if node.tag == tag:
                yield node
            yield from node.every(tag)


@dataclass(frozen=True)
class Inertial:
    """Mass (kg), centre of mass (m) and inertia about it (kg m^2), in the axes of the link.

    ``lacking`` are the entries of the inertia that are not given.
    """

    mass: float
    com: np.ndarray
    inertia: np.ndarray
    line: int
    lacking: tuple[str, ...] = ()


@dataclass(frozen=True)
class Visual:
    """A box, cylinder or sphere that is seen: its lengths (m), place, rotation matrix and colour."""

    form: str
    lengths: tuple[float, ...]
    at: tuple[float, float, float]
    turn: np.ndarray
    colour: tuple[float, ...] | None


@dataclass(frozen=True)
class Link:
    """A link: its inertial, if it has one, what is seen of it, and the files of its meshes."""

    name: str
    inertial: Inertial | None
    visuals: tuple[Visual, ...]
    meshes: tuple[str, ...]
    line: int


@dataclass(frozen=True)
class JointEntry:
    """A joint as written, ``origin`` (m) and ``rpy`` (rad) in the parent link; a limit that is not given is None."""

    name: str
    type: str
    parent: str
    child: str
    origin: np.ndarray
    rpy: np.ndarray
    axis: np.ndarray
    lower: float | None
    upper: float | None
    effort: float | None
    velocity: float | None
    damping: float
    friction: float
    mimics: str
    line: int

    @property
    def moves(self) -> bool:
        """Whether it is a joint at all, not a weld."""
        return self.type != "fixed"

    @property
    def driven(self) -> bool:
        """Whether it has a motor: unless its effort is given and zero."""
        return self.effort != 0


@dataclass(frozen=True)
class Description:
    """A whole file: ``twice`` are names that are given to several links or joints, with their lines."""

    name: str
    where: str
    folder: Path
    text: str
    links: dict[str, Link]
    joints: dict[str, JointEntry]
    twice: tuple[tuple[str, str, int], ...]

    def children(self, link: str) -> list[JointEntry]:
        """Joints that hang on a link."""
        return [joint for joint in self.joints.values() if joint.parent == link]

    def above(self, link: str) -> list[JointEntry]:
        """Joints by which a link hangs: one, or none of a root."""
        return [joint for joint in self.joints.values() if joint.child == link]

    @property
    def roots(self) -> list[str]:
        """Links that hang on no other."""
        hanging = {joint.child for joint in self.joints.values()}
        return [name for name in self.links if name not in hanging]


def describe(source: str | Path) -> Description:
    """Read a file, or the text of one, as far as it is well-formed; what it means is the linter's to judge."""
    text, where, folder = _text(source)
    root = parsed(text, where)
    if root.tag != "robot":
        raise InputError(f"{where}: a URDF file begins with <robot>, this one with <{root.tag}> (line {root.line})")
    macro = next((node for node in _below(root) if node.tag.startswith("xacro:")), None)
    if macro is not None:
        raise InputError(
            f"{where}: <{macro.tag}> in line {macro.line} is a macro that was not expanded; run xacro on the file first"
        )
    colours = {node.attributes.get("name", ""): node for node in root.all("material")}
    for tag, most in (("link", MOST_LINKS), ("joint", MOST_LINKS)):
        if (many := sum(1 for _ in root.all(tag))) > most:
            raise InputError(f"{where}: a robot has at most {most} {tag}s, this one has {many}")
    links = [_link(node, colours, where) for node in root.all("link")]
    joints = [_joint(node, where) for node in root.all("joint")]
    if (many := sum(joint.moves for joint in joints)) > MOST_MOVING:
        raise InputError(f"{where}: at most {MOST_MOVING} joints of a robot move, here {many} do")
    return Description(
        root.attributes.get("name", ""),
        where,
        folder,
        text,
        {link.name: link for link in links},
        {joint.name: joint for joint in joints},
        (*_repeated("link", links), *_repeated("joint", joints)),
    )


def _text(source: str | Path) -> tuple[str, str, Path]:
    """The text, what to call where it is from, and the folder that relative names in it start from."""
    if isinstance(source, str) and "<" in source:
        return source, "URDF text", Path.cwd()
    path = Path(source)
    try:
        return read_bytes(path).decode("utf-8"), path.name, path.resolve().parent
    except OSError as error:
        raise InputError(f"cannot read URDF file {str(source)!r}: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path.name} is not text in UTF-8 (byte {error.start}); a URDF file is XML") from None
    except ValueError as error:  # a name that no file can have
        if isinstance(error, InputError):
            raise
        raise InputError(f"cannot read URDF file {str(source)!r}: {error}") from None


def parsed(text: str, where: str) -> Node:
    """The root of an XML text; malformed text is refused with line and column."""
    # the declaration may name another encoding than the text now has
    parser = expat.ParserCreate("utf-8")
    open_nodes = [Node("", {}, 0)]

    def start(tag: str, attributes: dict[str, str]) -> None:
        if len(open_nodes) > MOST_DEEP:
            raise InputError(
                f"{where}: elements in elements, more than {MOST_DEEP} deep (line {parser.CurrentLineNumber}), are no "
                "robot"
            )
        node = Node(tag, attributes, parser.CurrentLineNumber)
        open_nodes[-1].children.append(node)
        open_nodes.append(node)

    def entity(name: str, *_: Any) -> None:
        raise InputError(f"{where}: the entity {name!r} is declared; write out what it stands for")

    parser.StartElementHandler = start
    parser.EntityDeclHandler = entity
    parser.EndElementHandler = lambda tag: open_nodes.pop()
    try:
        parser.Parse(text.encode("utf-8"), True)
    except expat.ExpatError as error:
        reason, place = expat.ErrorString(error.code), f"line {error.lineno}, column {error.offset + 1}"
        raise InputError(f"{where} is not well-formed XML: {reason} at {place}") from None
    return open_nodes[0].children[0]


def _below(node: Node) -> Any:
    for child in node.children:
        yield child
        yield from _below(child)


def _repeated(kind: str, entries: list[Any]) -> list[tuple[str, str, int]]:
    counts = Counter(entry.name for entry in entries)
    return [(kind, entry.name, entry.line) for entry in entries if counts[entry.name] > 1]


def _name(node: Node, where: str) -> str:
    name = node.attributes.get("name", "").strip()
    if not name:
        raise InputError(f"{where}: the <{node.tag}> of line {node.line} has no name; give it one")
    if len(name) > MOST_LETTERS:
        raise InputError(
            f"{where}: the name of the <{node.tag}> of line {node.line} has {len(name)} letters; at most {MOST_LETTERS}"
        )
    return name


def _numbers(node: Node | None, key: str, default: tuple[float, ...] | None, where: str) -> Any:
    """The numbers of an attribute, or a default; refused where they are not as many finite numbers as wanted."""
    given = None if node is None else node.attributes.get(key)
    if given is None:
        return default
    assert node is not None
    try:
        values = () if "_" in given else tuple(map(float, given.split()))
    except ValueError:
        values = ()
    wanted = 1 if default is None else len(default)
    if len(values) != wanted or not all(map(math.isfinite, values)):
        many = "a finite number" if wanted == 1 else f"{wanted} finite numbers"
        shown = given if len(given) <= MOST_LETTERS else f"{given[:20]}... ({len(given)} letters)"
        raise InputError(f'{where}: {key}="{shown}" of <{node.tag}> in line {node.line} must be {many}')
    return values


def _one(node: Node | None, key: str, where: str) -> float | None:
    values = _numbers(node, key, None, where)
    return None if values is None else values[0]


def _link(node: Node, colours: dict[str, Node], where: str) -> Link:
    meshes = tuple(mesh.attributes.get("filename", "") for mesh in node.every("mesh"))
    inertial = node.child("inertial")
    mass = None if inertial is None else _inertial(inertial, where)
    visuals = (_visual(visual, colours, where) for visual in node.all("visual"))
    return Link(_name(node, where), mass, tuple(filter(None, visuals)), meshes, node.line)


# The lengths of each form and how many numbers each attribute has.
FORMS = {"box": {"size": 3}, "cylinder": {"radius": 1, "length": 1}, "sphere": {"radius": 1}}


def _visual(node: Node, colours: dict[str, Node], where: str) -> Visual | None:
    """What is seen, if it is a simple form; meshes are not."""
    geometry, origin, material = node.child("geometry"), node.child("origin"), node.child("material")
    form = None if geometry is None else next((part for part in geometry.children if part.tag in FORMS), None)
    if form is None:
        return None
    lengths = [_numbers(form, key, (0.0,) * count, where) for key, count in FORMS[form.tag].items()]
    if material is not None and material.child("color") is None:
        material = colours.get(material.attributes.get("name", ""))
    colour = None if material is None else _numbers(material.child("color"), "rgba", (0.0,) * 4, where)
    return Visual(
        form.tag,
        tuple(length for part in lengths for length in part),
        _numbers(origin, "xyz", (0.0, 0.0, 0.0), where),
        exact(roll_pitch_yaw(*_numbers(origin, "rpy", (0.0, 0.0, 0.0), where))),
        colour if material is not None and material.child("color") is not None else None,
    )


def _inertial(node: Node, where: str) -> Inertial:
    origin, mass, inertia = node.child("origin"), node.child("mass"), node.child("inertia")
    value = _one(mass, "value", where)
    if mass is None or value is None:
        raise InputError(
            f'{where}: the <inertial> of line {node.line} has no <mass value="...">; add it or leave it out'
        )
    if inertia is None:
        raise InputError(f"{where}: the <inertial> of line {node.line} has no <inertia>; add it or leave it out")
    xx, xy, xz, yy, yz, zz = (_one(inertia, entry, where) or 0.0 for entry in INERTIA_ENTRIES)
    R = exact(roll_pitch_yaw(*_numbers(origin, "rpy", (0.0, 0.0, 0.0), where)))
    about = R @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ R.T
    com = np.array(_numbers(origin, "xyz", (0.0, 0.0, 0.0), where))
    lacking = tuple(entry for entry in INERTIA_ENTRIES if entry not in inertia.attributes)
    return Inertial(value, com, (about + about.T) / 2, node.line, lacking)


def _joint(node: Node, where: str) -> JointEntry:
    name = _name(node, where)
    limit, dynamics, mimic = node.child("limit"), node.child("dynamics"), node.child("mimic")
    return JointEntry(
        name=name,
        type=node.attributes.get("type", ""),
        parent=_end(node, "parent", where),
        child=_end(node, "child", where),
        origin=np.array(_numbers(node.child("origin"), "xyz", (0.0, 0.0, 0.0), where)),
        rpy=np.array(_numbers(node.child("origin"), "rpy", (0.0, 0.0, 0.0), where)),
        axis=np.array(_numbers(node.child("axis"), "xyz", (1.0, 0.0, 0.0), where)),
        lower=_one(limit, "lower", where),
        upper=_one(limit, "upper", where),
        effort=_one(limit, "effort", where),
        velocity=_one(limit, "velocity", where),
        damping=_one(dynamics, "damping", where) or 0.0,
        friction=_one(dynamics, "friction", where) or 0.0,
        mimics="" if mimic is None else mimic.attributes.get("joint", "?"),
        line=node.line,
    )


def _end(joint: Node, tag: str, where: str) -> str:
    end = joint.child(tag)
    link = "" if end is None else end.attributes.get("link", "").strip()
    if not link:
        raise InputError(f'{where}: the <joint> of line {joint.line} has no <{tag} link="...">; add it')
    return link


def exact(matrix: np.ndarray) -> np.ndarray:
    """A rotation whose entries are zero and one where they differ from these by rounding only.

    Quarter turns have sines and cosines like 6e-17, which would make the equations of motion longer for nothing.
    """
    near = np.round(matrix)
    return np.where(np.abs(matrix - near) < 4e-16, near, matrix)
