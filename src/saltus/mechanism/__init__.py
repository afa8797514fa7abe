"""Mechanisms: bodies, joints, points, parameters and actuators, and the equations that follow from them."""

from saltus.mechanism._dynamics import Dynamics, MassSolver, derive
from saltus.mechanism._joints import Fixed, Floating, Joint, Prismatic, Revolute
from saltus.mechanism._mechanism import Actuator, Body, Coordinate, Mechanism, Parameter, Point
from saltus.mechanism._pinned import PIN, Pinned

__all__ = [
    "PIN",
    "Actuator",
    "Body",
    "Coordinate",
    "Dynamics",
    "Fixed",
    "Floating",
    "Joint",
    "MassSolver",
    "Mechanism",
    "Parameter",
    "Pinned",
    "Point",
    "Prismatic",
    "Revolute",
    "derive",
]
