"""What the three forms of the Segway share: parameters, bodies, points, the fall and the controllers."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from saltus.control import LQR, Feedback
from saltus.hybrid import Guard, Profile
from saltus.mechanism import Body, Joint, Mechanism, Point
from saltus.mechanism._joints import Pose

SOURCE = "vigne2019"
TILT = 0.2

# What the LQR weighs, each alike.
WEIGHED = ("theta", "dtheta", "psi", "dpsi")


@dataclass(frozen=True)
class Rolling:
    """A joint of two angles whose frame goes where ideal rolling takes it: its pose is a function of them."""

    names: tuple[str, ...]
    pose: Callable[..., Pose]

    @property
    def coordinates(self) -> tuple[tuple[str, str], ...]:
        """Both angles."""
        return tuple((name, "rad") for name in self.names)

    def place(self, parent: Pose, q: list[Any]) -> Pose:
        """The frame, whatever the parent."""
        return self.pose(*q)


@dataclass(frozen=True)
class Numbers:
    """Symbols of the parameters, in the letters of the paper."""

    m: Any
    l: Any
    I: Any
    m_w: Any
    J: Any
    r: Any
    height: Any
    limit: Any


def numbers(mechanism: Mechanism) -> Numbers:
    """Declare the parameters of [vigne2019, section 3.1], with the numbers of its author's code."""
    of = mechanism.parameter
    found = Numbers(
        m=of("m", 3.0, "kg", "mass of the body", source=SOURCE, positive=True),
        l=of("l", 0.5, "m", "from the axle to the body's centre of mass", source=SOURCE, positive=True),
        I=of("I", 1.0, "kg m^2", "inertia of the body about its centre of mass", source=SOURCE, positive=True),
        m_w=of("m_w", 1.0, "kg", "mass of the wheel", source=SOURCE, positive=True),
        J=of("J", 0.1, "kg m^2", "inertia of the wheel about its axle", source=SOURCE, positive=True),
        r=of("r", 0.15, "m", "radius of the wheel", source=SOURCE, positive=True),
        height=of(
            "height", 1.0, "m", "from the axle to the top of the body, which ends the run on the floor", positive=True
        ),
        # the paper has no limit, and its PD asks for 30 N m at the start
        limit=of(
            "torque_limit", math.inf, "N m", "of the motor at the axle; none in the paper", lower=0, infinite=True
        ),
    )
    mechanism.gravity = of("g", 9.81, "m/s^2", "gravity", source=SOURCE)
    return found


def bodies(
    mechanism: Mechanism, n: Numbers, of_body: Joint, of_wheel: Callable[[Body], Joint], parent: Body | None = None
) -> tuple[Body, Body, Point]:
    """Body and wheel, with the points to draw; returns both and the top of the body."""
    body = mechanism.body("body", of_body, parent=parent, mass=n.m, inertia=n.I, com=(0, n.l))
    wheel = mechanism.body("wheel", of_wheel(body), parent=body, mass=n.m_w, inertia=n.J)
    mechanism.point("axle", body)
    head = mechanism.point("head", body, (0, n.height))
    mechanism.point("mark", wheel, (0, -n.r))
    return body, wheel, head


SKELETON = (("axle", "head"), ("axle", "mark"))


def fall(head: Point) -> Guard:
    """The end of a run: the top of the body meets the floor."""
    return Guard("fall", head.position[1], about="height of the top of the body")


def pd() -> Feedback:
    """The controller of the paper's code: motor torque 150 (pitch + 0.01 pitch rate), in N m [vigne2019]."""
    return Feedback({"theta": 150.0, "dtheta": 1.5})


def lqr() -> LQR:
    """LQR on theta, psi and their rates: it stands, and comes back to psi = 0; 10 N m cost as much as 1 rad."""
    # as a list, the cost is that of 1 N m whatever the limit: the gains do not change with it
    cost: Any = [0.01]
    return LQR(
        weights=dict.fromkeys(WEIGHED, 1.0), effort=cost, at={"theta": 0.0}, states=("theta", "psi"),
        reference={"psi": 0.0},
    )  # fmt: skip


def profiles() -> dict[str, Profile]:
    """What is run in the paper's code beside the fall."""
    return {"pd": Profile(pd(), about="the PD of the paper's code, from a tilt of 0.2 rad")}
