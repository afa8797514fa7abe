"""Robots that are generated: a body that is free in the plane, limbs with stops and friction, feet; in any order."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from saltus import GroundPoint, Guard, HybridSystem, JointUnit, Mechanism
from saltus.contact import chatterjee, newton, plastic
from saltus.mechanism import Floating, Revolute

# How many there are; the number of one is its seed.
MACHINES = 20


@dataclass
class Parts:
    """What a machine is made of, as functions that declare one part each."""

    limbs: int
    feet: list[tuple[str, int]]
    law: str
    stops: bool
    watched: bool


def parts(number: int) -> Parts:
    """The parts of a machine."""
    random = np.random.default_rng([35, number])
    limbs = int(random.integers(0, 3))
    feet = [(f"foot{k}", int(random.integers(0, limbs + 1))) for k in range(int(random.integers(1, 4)))]
    law = str(random.choice(["plastic", "newton", "chatterjee"]))
    return Parts(limbs, feet, law, bool(random.random() < 0.5), bool(random.random() < 0.5))


@lru_cache(maxsize=2 * MACHINES)
def machine(number: int, order: int = 0) -> HybridSystem:
    """A machine; another ``order`` declares its parameters, limbs, feet and units in another one."""
    made, random = parts(number), np.random.default_rng([36, number])
    numbers = {name: float(value) for name, value in zip("abcdef", random.uniform(0.8, 1.2, 6), strict=True)}
    m = Mechanism(f"machine{number}{'_reordered' if order else ''}")
    p = _parameters(m, made, numbers, order)
    m.gravity = p["g"]
    body = m.body(
        "body", Floating("x", "y", "angle"), mass=p["mass"], inertia=p["inertia"], com=(p["com_x"], p["com_y"])
    )
    bodies = {0: body}
    for k in _ordered(range(1, made.limbs + 1), order):
        joint = Revolute(f"joint{k}", at=(p[f"hip{k}_x"], p[f"hip{k}_y"]))
        bodies[k] = m.body(
            f"limb{k}",
            joint,
            parent=body,
            mass=p["limb_mass"],
            inertia=p["limb_inertia"],
            com=(0, -p["limb_length"] / 2),
        )
        m.actuator(f"motor{k}", f"joint{k}", limit=p["torque_limit"])
        m.damping(f"joint{k}", p["viscous"])
    units: list[Any] = []
    for name, limb in _ordered(made.feet, order):
        place = (p[f"{name}_x"], p[f"{name}_y"] - (p["limb_length"] if limb else 0))
        law = _law(made.law, p)
        foot = GroundPoint(m.point(name, bodies[limb], place), friction=p["mu"], law=law, slope=p["slope"])
        units.append(foot)
    if made.stops:
        for k in _ordered(range(1, made.limbs + 1), order):
            stops = {"lower": p["lower"], "upper": p["upper"]}
            units.append(JointUnit(m.coordinate(f"joint{k}"), coulomb=p["coulomb"], **stops))
    guards = (Guard("level", m.q[m.index("y")] - p["watch"], "record", "both"),) if made.watched else ()
    start = {"y": 3.0, "angle": 0.3}
    return HybridSystem(m, units=tuple(units[::-1] if order else units), guards=guards, start=start, until=2.0)


def _ordered(things: Any, order: int) -> list[Any]:
    return list(things)[::-1] if order else list(things)


def _parameters(m: Mechanism, made: Parts, n: dict[str, float], order: int) -> dict[str, Any]:
    """Declare all parameters; places to the side, and the slope, may have either sign."""
    rows: list[tuple[str, float, str, dict[str, Any]]] = [
        ("mass", 2.0 * n["a"], "kg", {"positive": True}),
        ("inertia", 0.3 * n["b"], "kg m^2", {"positive": True}),
        ("com_x", 0.1 * n["c"], "m", {}),
        ("com_y", 0.05, "m", {}),
        ("g", 9.81, "m/s^2", {"positive": True}),
        ("mu", 0.4 * n["d"], "1", {"lower": 0.0, "upper": 1.5}),
        ("slope", 0.1, "rad", {"lower": -0.5, "upper": 0.5}),
    ]
    if made.law != "plastic":
        rows.append(("normal", 0.3, "1", {"lower": 0.0, "upper": 0.8}))
    if made.law == "chatterjee":
        rows.append(("across", 0.2, "1", {"lower": -1.0, "upper": 1.0}))
    if made.watched:
        rows.append(("watch", 0.7, "m", {}))
    if made.limbs:
        rows += [
            ("limb_mass", 0.5 * n["e"], "kg", {"positive": True}),
            ("limb_inertia", 0.02, "kg m^2", {"positive": True}),
            ("limb_length", 0.6 * n["f"], "m", {"positive": True}),
            ("viscous", 0.05, "N m s/rad", {"lower": 0.0}),
            ("torque_limit", 5.0, "N m", {"positive": True}),
        ]
        if made.stops:
            rows += [
                ("coulomb", 0.1, "N m", {"lower": 0.0}),
                ("lower", -1.2, "rad", {"lower": -3.0, "upper": -0.1}),
                ("upper", 0.9, "rad", {"lower": 0.1, "upper": 3.0}),
            ]
    for k in range(1, made.limbs + 1):
        rows += [(f"hip{k}_x", 0.3 * (-1) ** k, "m", {})]
        rows += [(f"hip{k}_y", -0.2, "m", {})]
    for k, (name, _) in enumerate(made.feet):
        rows += [(f"{name}_x", 0.4 * (k - 1) + 0.05, "m", {})]
        rows += [(f"{name}_y", -0.3 - 0.1 * k, "m", {})]
    return {name: m.parameter(name, value, unit, **bounds) for name, value, unit, bounds in _ordered(rows, order)}


def mirror(number: int) -> tuple[dict[str, float], dict[str, str]]:
    """What is negated in the mirror image of a machine (coordinates, parameters, motors), and what changes places."""
    made = parts(number)
    names = ["x", "angle", "com_x", "slope", *(f"{name}_x" for name, _ in made.feet)]
    for k in range(1, made.limbs + 1):
        names += [f"joint{k}", f"hip{k}_x", f"motor{k}"]
    swapped = {}
    if made.limbs and made.stops:
        names += ["lower", "upper"]
        swapped = {"lower": "upper", "upper": "lower"}
    return dict.fromkeys(names, -1.0), swapped


def _law(name: str, p: dict[str, Any]) -> Any:
    if name == "plastic":
        return plastic()
    return newton(p["normal"]) if name == "newton" else chatterjee(p["normal"], p["across"])
