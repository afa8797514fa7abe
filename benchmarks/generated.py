"""Robots drawn at random: planar chains of links with joints that turn or slide, rub and stop, pinned or on feet."""

from __future__ import annotations

from typing import Any

import numpy as np

from saltus.contact import GroundPoint, JointUnit, chatterjee, newton, plastic
from saltus.hybrid import HybridSystem
from saltus.mechanism import Floating, Mechanism, Prismatic, Revolute


def generated(number: int, seed: int = 0) -> HybridSystem:
    """A robot of one to four links; the same number and seed give the same."""
    random = np.random.default_rng((seed, number))
    m = Mechanism(f"generated_{number}")
    m.gravity = m.parameter("g", 9.81, "m/s^2", "gravity")
    floating = bool(random.random() < 0.4)
    bodies, units = [], []
    for k in range(int(random.integers(1, 4 if floating else 5))):
        length = m.parameter(f"L{k}", float(random.uniform(0.3, 0.8)), "m", "length of a link", positive=True)
        mass = m.parameter(f"m{k}", float(random.uniform(0.3, 2.0)), "kg", "mass of a link", positive=True)
        joint = Floating("x", "y", "theta") if floating and k == 0 else _joint(m, k, bodies, random)
        parent = bodies[-1][0] if bodies else None
        body = m.body(f"link{k}", joint, parent=parent, mass=mass, inertia=mass * length**2 / 12, com=(0, -length / 2))
        bodies.append((body, length))
        if not (floating and k == 0) and random.random() < 0.7:
            m.actuator(f"motor{k}", f"q{k}", limit=5.0)
    for k in range(len(bodies)):
        if not (floating and k == 0) and random.random() < 0.4:
            units.append(_friction_and_stops(m, k, random))
    start: dict[str, Any] = {f"q{k}": float(random.uniform(-1, 1)) for k in range(int(floating), len(bodies))}
    if floating:
        for name, body, at in (("head", *_end(bodies[0], 0)), ("foot", *_end(bodies[-1], 1))):
            units.append(_foot(m, name, body, at, random))
        start |= {"y": 3.0, "theta": float(random.uniform(-1, 1))}
    return HybridSystem(m, units=tuple(units), start=start, until=2.0, about="drawn at random")


def _joint(m: Mechanism, k: int, bodies: list[Any], random: np.random.Generator) -> Any:
    at = (0, -bodies[-1][1]) if bodies else (0, 0)
    if random.random() < 0.2:
        return Prismatic(f"q{k}", at=at, axis=(1, 0))
    return Revolute(f"q{k}", at=at)


def _friction_and_stops(m: Mechanism, k: int, random: np.random.Generator) -> JointUnit:
    stops = {"lower": -float(random.uniform(1.2, 2)), "upper": float(random.uniform(1.2, 2))}
    return JointUnit(
        m.coordinate(f"q{k}"), coulomb=float(random.choice([0.0, 0.2])), viscous=float(random.choice([0.0, 0.05])),
        **(stops if random.random() < 0.7 else {}),
    )  # fmt: skip


def _end(body: Any, which: int) -> tuple[Any, Any]:
    return body[0], (0, -body[1] * which)


def _foot(m: Mechanism, name: str, body: Any, at: Any, random: np.random.Generator) -> GroundPoint:
    laws = [plastic(), newton(float(random.uniform(0, 0.9))), chatterjee(float(random.uniform(0, 0.9)), 0.0)]
    return GroundPoint(
        m.point(name, body, at), friction=float(random.uniform(0, 1)), law=laws[int(random.integers(len(laws)))]
    )
