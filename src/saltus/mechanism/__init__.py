"""Mechanisms: bodies, joints, points, parameters and actuators, and the equations that follow from them."""

from typing import TYPE_CHECKING

from saltus._lazy import loaded_later
from saltus.mechanism._dh import Link, chain, hanging, two_link_angles
from saltus.mechanism._dynamics import Dynamics, MassSolver, Velocity, derive, has_position, position_of
from saltus.mechanism._joints import Fixed, Floating, Joint, Prismatic, Revolute
from saltus.mechanism._mechanism import Actuator, Body, Coordinate, Mechanism, Parameter, Point, Reading
from saltus.mechanism._pinned import PIN, Pinned
from saltus.mechanism._shapes import Box, Cylinder, Shape, Sphere
from saltus.mechanism._space import FreeFlyer, Hinge, Slider, Weld, roll_pitch_yaw

if TYPE_CHECKING:
    from saltus.mechanism._urdf import read_urdf
    from saltus.mechanism._urdf_lint import Finding, lint_urdf

__all__ = [
    "PIN",
    "Actuator",
    "Body",
    "Box",
    "Coordinate",
    "Cylinder",
    "Dynamics",
    "Finding",
    "Fixed",
    "Floating",
    "FreeFlyer",
    "Hinge",
    "Joint",
    "Link",
    "MassSolver",
    "Mechanism",
    "Parameter",
    "Pinned",
    "Point",
    "Prismatic",
    "Reading",
    "Revolute",
    "Shape",
    "Slider",
    "Sphere",
    "Velocity",
    "Weld",
    "chain",
    "derive",
    "hanging",
    "has_position",
    "lint_urdf",
    "position_of",
    "read_urdf",
    "roll_pitch_yaw",
    "two_link_angles",
]

__getattr__ = loaded_later(__name__)
