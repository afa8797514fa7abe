"""Random chains with stops that bounce on the ground: each comes to rest, or ends in a named status.

    python benchmarks/zeno.py --count 500

Chains of bodies with feet, wheels or points in space, joints with stops, both laws that bounce and restitution up
to 0.9 are dropped. Impacts of several units follow each other ever faster. No run may end because there are too many
events. Exits with 1 if any does.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from tables import table

import saltus
from saltus.contact import GroundPoint, JointUnit, SpatialPoint, Wheel, chatterjee, newton
from saltus.hybrid import HybridSystem
from saltus.mechanism import Floating, FreeFlyer, Hinge, Mechanism, Prismatic, Revolute

COUNT, SEED = 500, 35

# Simulated time, s, and events at most.
UNTIL, EVENTS = 6.0, 20_000

KINDS = ("rail", "rod", "block", "chain", "legs", "wheel", "space", "space arm")
LAWS = ("newton", "chatterjee")

# What laws of impact are known to do: Newton's with friction, any law where several contacts strike together.
GAIN = "impacts create energy"


@cache
def build(kind: str, law: str) -> HybridSystem:
    """A robot of a kind whose numbers are parameters."""
    space = kind.startswith("space")
    m = Mechanism(f"{kind.replace(' ', '_')}_{law}", **({"dimension": 3} if space else {}))
    m.gravity = m.parameter("g", 9.81, "m/s^2")
    e, mu = m.parameter("e", 0.5, "1", lower=0, upper=1), m.parameter("mu", 0.5, "1", lower=0)
    chosen = newton(e) if law == "newton" else chatterjee(e, m.parameter("et", 0.0, "1", lower=-1, upper=1))
    size, light = m.parameter("size", 0.3, "m", positive=True), m.parameter("light", 0.5, "kg", positive=True)
    stop, lean = m.parameter("stop", 0.5, "rad"), m.parameter("lean", 0.1, "m", positive=True)

    def foot(point: Any) -> GroundPoint:
        return GroundPoint(point, friction=mu, law=chosen)

    def joint(name: str, lower: Any, upper: Any) -> JointUnit:
        return JointUnit(m.coordinate(name), lower=lower, upper=upper)

    units: list[Any] = []
    if kind == "rail":
        low = m.body("low", Prismatic("y", axis=(0, 1)), mass=1.0)
        high = m.body("high", Prismatic("s1", axis=(0, 1)), parent=low, mass=light)
        m.body("top", Prismatic("s2", axis=(0, 1)), parent=high, mass=0.5 * light)
        units = [foot(m.point("foot", low)), joint("s1", 0.0, size), joint("s2", 0.0, size)]
    elif space:
        body = m.body("body", FreeFlyer(), mass=1.0, inertia=(0.02, 0.03, 0.04))
        corners = [(size, 0, -lean), (-size, size, -lean), (-size, -size, -lean)]
        if kind == "space arm":
            arm = m.body(
                "arm",
                Hinge("q1", (0, 1, 0), at=(size, 0, 0)),
                parent=body,
                mass=light,
                inertia=(0.01,) * 3,
                com=(size / 2, 0, 0),
            )
            corners = corners[1:]
            units = [
                joint("q1", -stop, stop),
                SpatialPoint(m.point("hand", arm, (size, 0, -lean)), arm, friction=mu, law=chosen),
            ]
        units += [
            SpatialPoint(m.point(f"corner{k}", body, at), body, friction=mu, law=chosen) for k, at in enumerate(corners)
        ]
    else:
        body = m.body("body", Floating("x", "y", "angle"), mass=1.0, inertia=0.3 * size**2)
        if kind == "rod":
            units = [foot(m.point(name, body, (side * size, 0))) for name, side in (("left", -1), ("right", 1))]
        if kind == "block":
            units = [foot(m.point(name, body, (side * lean, -size))) for name, side in (("left", -1), ("right", 1))]
        if kind in ("chain", "wheel"):
            arm = m.body(
                "arm",
                Revolute("q1", at=(size, 0)),
                parent=body,
                mass=light,
                inertia=0.1 * light * size**2,
                com=(size / 2, 0),
            )
            hand = m.body(
                "hand",
                Revolute("q2", at=(size, 0)),
                parent=arm,
                mass=light,
                inertia=0.1 * light * size**2,
                com=(size / 2, 0),
            )
            units = [joint("q1", -stop, stop), joint("q2", -stop, stop)]
            if kind == "wheel":
                units.append(Wheel(m.point("hub", body), body, lean, friction=mu, law=chosen))
                units.append(foot(m.point("tip", arm, (size, 0))))
            else:
                units += [
                    foot(m.point("tail", body, (-size, 0))),
                    foot(m.point("elbow", arm)),
                    foot(m.point("tip", hand, (size, 0))),
                ]
        if kind == "legs":
            for k, side in enumerate((-1, 1)):
                leg = m.body(
                    f"leg{k}",
                    Revolute(f"q{k}", at=(side * lean, 0)),
                    parent=body,
                    mass=light,
                    inertia=0.1 * light * size**2,
                    com=(0, -size / 2),
                )
                units += [joint(f"q{k}", -stop, stop), foot(m.point(f"toe{k}", leg, (0, -size)))]
    return HybridSystem(m, units=tuple(units))


@dataclass(frozen=True)
class Drop:
    """A drop of a robot: its numbers, and its start."""

    kind: str
    law: str
    parameters: dict[str, float]
    start: dict[str, float]
    rtol: float

    def run(self, events: int = EVENTS) -> saltus.Trajectory:
        """Let the robot fall."""
        return saltus.simulate(
            build(self.kind, self.law),
            self.start,
            parameters=self.parameters,
            until=UNTIL,
            rtol=self.rtol,
            max_events=events,
            raise_errors=False,
        )


def draw(kind: str, law: str, random: np.random.Generator) -> Drop:
    """A random drop from where nothing touches the ground."""
    p = {
        "e": random.uniform(0.0, 0.9), "mu": float(random.choice([0.0, random.uniform(0.05, 1.2)], p=[0.15, 0.85])),
        "size": random.uniform(0.1, 0.5), "light": math.exp(random.uniform(-2, 0.5)), "stop": random.uniform(0.05, 1.0),
        "lean": random.uniform(0.05, 0.3),
    }  # fmt: skip
    if law == "chatterjee":
        p["et"] = random.uniform(-0.5, 0.5)
    if kind == "rail":
        start = {
            "y": random.uniform(0.05, 1.0),
            "s1": float(random.choice([0.0, random.uniform(0, p["size"])])),
            "s2": 0.0,
        }
    elif kind.startswith("space"):
        start = {"z": random.uniform(1.2, 1.8), "roll": random.uniform(-0.4, 0.4), "pitch": random.uniform(-0.4, 0.4)}
    else:
        start = {"y": random.uniform(1.6, 2.0), "angle": random.uniform(-0.5, 0.5), "dangle": random.uniform(-1, 1)}
        start["dx"] = random.uniform(-0.5, 0.5)
    return Drop(kind, law, p, start, float(10 ** random.uniform(-10, -3)))


@dataclass
class Tally:
    """The drops of one kind."""

    statuses: Counter[str] = field(default_factory=Counter)
    moving: int = 0
    events: int = 0
    gains: int = 0
    audits: int = 0
    wrong: list[Drop] = field(default_factory=list)


def judge(drop: Drop, run: saltus.Trajectory, tally: Tally) -> None:
    """Note how a run ended."""
    tally.statuses[run.status.name] += 1
    tally.events = max(tally.events, len(run.events))
    if run.status.name == "event_limit":
        tally.wrong.append(drop)
    if run.status.name == "finished":
        broken = {check.name for check in run.check().checks if not check.ok}
        tally.gains += int(GAIN in broken)
        tally.audits += int(bool(broken - {GAIN}))
        speed = max(abs(value) for name, value in run.final.items() if name.startswith(("d", "w")))
        tally.moving += int(speed > 1e-6)


def drops(count: int, seed: int, kinds: tuple[str, ...] = KINDS) -> Iterator[Drop]:
    """Random drops, of all kinds and laws in turn."""
    random = np.random.default_rng(seed)
    pairs = [(kind, law) for kind in kinds for law in LAWS]
    for k in range(count):
        yield draw(*pairs[k % len(pairs)], random)


def measure(count: int, seed: int, kinds: tuple[str, ...] = KINDS) -> dict[tuple[str, str], Tally]:
    """Tallies by kind and law."""
    tallies: dict[tuple[str, str], Tally] = {}
    for drop in drops(count, seed, kinds):
        judge(drop, drop.run(), tallies.setdefault((drop.kind, drop.law), Tally()))
    return tallies


def report(tallies: dict[tuple[str, str], Tally]) -> str:
    """A table with a line for each kind."""
    rows = [
        [
            kind, law, ", ".join(f"{n} {name}" for name, n in sorted(tally.statuses.items())),
            f"{sum(tally.statuses.values()):,}", f"{tally.moving:,}", f"{tally.events:,}", f"{tally.gains:,}",
            f"{tally.audits:,}", f"{len(tally.wrong):,}",
        ]
        for (kind, law), tally in tallies.items()
    ]  # fmt: skip
    head = [
        "robot",
        "law",
        "statuses",
        "runs",
        "still moving",
        "most events",
        "energy gained",
        "audits open",
        "event limit",
    ]
    return "## Chains that bounce\n\n" + table(head, rows, words=3)


def main() -> int:
    """Draw, drop, judge, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=COUNT, help="how many drops")
    parser.add_argument("--seed", type=int, default=SEED, help="of the random numbers")
    chosen = parser.parse_args()
    begin = time.perf_counter()
    tallies = measure(chosen.count, chosen.seed)
    print(report(tallies))
    wrong = sum(len(tally.wrong) for tally in tallies.values())
    print(f"\n{chosen.count} drops in {time.perf_counter() - begin:.0f} s: {wrong or 'none'} ended at the event limit")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
