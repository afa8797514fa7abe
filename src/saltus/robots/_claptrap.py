"""What the forms of Claptrap share: its URDF file, rolling, the fall, what is read off it, and its controllers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import casadi as ca

from saltus.contact import SpatialWheel
from saltus.control import LQR, Feedback
from saltus.hybrid import Guard, HybridSystem
from saltus.mechanism import read_urdf

SOURCE = "vigne2019"

# The controller of the paper's code: wheel torque 150 (pitch + 0.01 pitch rate), in N m [vigne2019].
PD = {"pitch": 150.0, "dpitch": 1.5}


def lqr(*states: str, motors: int = 1, speed: Mapping[str, float] | None = None) -> LQR:
    """LQR on pitch, what else is named, and their rates: with psi, it comes back to where it began.

    All of these cost alike, and a torque of 10 N m as much as one radian.
    """
    return LQR(effort=[0.01] * motors, at={"pitch": 0.0}, states=("pitch", *states), speed=speed)


def claptrap(
    name: str,
    *,
    about: str,
    file: str = "claptrap",
    contact: str = "rim",
    controllers: Mapping[str, Any] | None = None,
) -> HybridSystem:
    """A form of Claptrap by its URDF file: every body with wheel in its name rolls on the ground."""
    source = files("saltus.robots") / "urdf" / f"{file}.urdf"
    m = read_urdf(source.read_text(), free_flyer=True, name=name)
    r = m.parameter("r", 0.15, "m", "radius of the wheel", source=SOURCE, positive=True)
    height = m.parameter(
        "height", 1.0, "m", "from the axle to the top of the body, which ends the run on the floor", positive=True
    )
    mu = m.parameter("mu", math.inf, "1", "friction of the ground; ideal rolling if infinite", lower=0, infinite=True)
    head = m.point("head", m.bodies["body"], (0, 0, height))
    wheels = [name for name in m.bodies if "wheel" in name]
    # how far the axle is along its heading, in radii [vigne2019, before eq. 18]: of pitch and wheel no continuous angle
    # can be made, since a quaternion does not count turns
    x, y, yaw = m.coordinate("x").symbol, m.coordinate("y").symbol, m.readings["yaw"].expression
    m.reading("psi", (x * ca.cos(yaw) + y * ca.sin(yaw)) / r, "rad", follows=True)
    marks = []
    for wheel in wheels:
        m.point(f"{wheel}_mark", m.bodies[wheel], (0, 0, -r))
        marks.append((wheel, f"{wheel}_mark"))
    units = [SpatialWheel(m.points[wheel], m.bodies[wheel], r, contact=contact, friction=mu) for wheel in wheels]
    arms = [
        (body.motion.parent, body.name)
        for body in m.bodies.values()
        if body.motion.parent != "world" and body.name not in wheels
    ]
    return HybridSystem(
        m,
        units=tuple(units),
        guards=(Guard("fall", head.position[2], about="height of the top of the body"),),
        start={"z": r, "pitch": 0.2},
        until=10.0,
        controllers=controllers or {"pd": Feedback(PD), "lqr": lqr("psi"), "drive": lqr("psi", speed={"psi": 4.0})},
        skeleton=(("body", "head"), *marks, *arms),
        about=about,
    )
