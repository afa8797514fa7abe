"""Contacts: units that can hold or let go, and the laws of impact; none of them knows a robot."""

from saltus.contact._behaviour import guard_values_of
from saltus.contact._equations import Equations
from saltus.contact._grip import Bar, Grip, Line, Wall
from saltus.contact._ground import GroundPoint, Wheel
from saltus.contact._joint import JointUnit
from saltus.contact._law import MOST_COEFFICIENTS, Law, chatterjee, find_law, law_names, law_of, newton, plastic
from saltus.contact._pivot import Pivot
from saltus.contact._space import SpatialPoint, SpatialWheel
from saltus.contact._unit import GRIP, JUMP, SLOTS, SPACE, Unit
from saltus.contact._world import World, ladder, rope

__all__ = [
    "GRIP",
    "JUMP",
    "MOST_COEFFICIENTS",
    "SLOTS",
    "SPACE",
    "Bar",
    "Equations",
    "Grip",
    "GroundPoint",
    "JointUnit",
    "Law",
    "Line",
    "Pivot",
    "SpatialPoint",
    "SpatialWheel",
    "Unit",
    "Wall",
    "Wheel",
    "World",
    "chatterjee",
    "find_law",
    "guard_values_of",
    "ladder",
    "law_names",
    "law_of",
    "newton",
    "plastic",
    "rope",
]
