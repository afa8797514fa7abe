"""What became of each swing of a run from bar to bar: time, softness of the catch, effort, forces, approach."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

import casadi as ca
import numpy as np

from saltus._content import equal_by_content
from saltus.contact import Grip, World
from saltus.contact._grip import CLOSED
from saltus.engine import Trajectory
from saltus.engine import _layout as L
from saltus.errors import InputError
from saltus.hybrid import HybridSystem

# From which side a hand came into the circle in which it can close.
APPROACHES = ("below", "side", "above")

# A centre of mass that swings back by more than this, rad, makes a back-swing.
BACK = 0.05


@equal_by_content
@dataclass(frozen=True)
class Swing:
    """One swing about a hand that holds, until the other catches something, or does not.

    Parameters
    ----------
    start, time
        When it began, and how long it took, s.
    hand
        The one that held.
    caught, bar
        Whether the other hand caught, and which bar, by its number (None on a rope, or where nothing was caught).
    residual
        Kinetic energy that was lost in the catch, J.
    impulse
        Of the catch, at each hand, N s.
    mean_torque
        Mean size of all inputs together, N m.
    peak_force
        Largest reaction force at the hand that held, N.
    peak_speed
        Largest speed of a joint that is driven, rad/s.
    back_swings
        How often the centre of mass swung back, away from where the bars lead; on a rope, from where the hand caught.
    approach
        From which side the hand that caught came: below, side or above.
    met_bar
        Whether a link passed through a bar on the way.
    """

    start: float
    time: float
    hand: str
    caught: bool
    bar: int | None
    residual: float | None
    impulse: dict[str, float] | None
    mean_torque: float
    peak_force: float
    peak_speed: float
    back_swings: int
    approach: str | None
    met_bar: bool

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def swings(run: Trajectory) -> list[Swing]:
    """Every swing of a run of a robot with two hands, in order; the last may not have been ended by a catch."""
    system = run.system
    hands = _hands(system)
    if len(hands) != 2:
        raise InputError(f"swings are those of robots with two hands; {system.name} has {len(hands)}")
    closed = run.arc_statuses[:, hands] == CLOSED
    begins = [run.start_time, *(float(row[L.E_TIME]) for row in run.event_rows if int(row[L.E_ARC]) + 1 < len(closed))]
    found, first = [], 0
    both = closed.all(axis=1)
    for arc in range(len(closed)):
        if both[arc]:
            if arc > first and not both[first]:
                found.append(_swing(run, first, arc, begins, hands, closed))
            first = arc + 1
    if first < len(closed) and not both[first]:
        last = _swing(run, first, len(closed), begins, hands, closed)
        if last.time > 0:
            found.append(last)
    return found


def swings_from_bars(system: HybridSystem) -> bool:
    """Whether a robot has two hands that hold bars or ropes."""
    hands = _hands(system)
    return len(hands) == 2 and all(system.units[hand].holds for hand in hands)  # type: ignore[attr-defined]


def swings_to_dict(run: Trajectory) -> dict[str, Any]:
    """All swings and what became of the whole, for JSON."""
    found = swings(run)
    return {
        "swings": [swing.to_dict() for swing in found],
        "caught": sum(swing.caught for swing in found),
        "reached": _reached(run, found),
        "fell": fell(run),
    }


def holds_a_rope(system: HybridSystem) -> bool:
    """Whether what hands hold is a rope."""
    return World.of(system.values) is not None and not len(_centres(system))


def fell(run: Trajectory) -> bool:
    """Whether no hand holds anything at the end."""
    return not bool((run.arc_statuses[-1, _hands(run.system)] == CLOSED).any())


def _reached(run: Trajectory, found: list[Swing]) -> bool:
    """Whether the last bar was caught, or held from the start.

    On a rope, which has no end, whether something was caught and the robot still holds: a swing that the end of the run
    cut short is no failure there.
    """
    count = len(_centres(run.system))
    if not count:
        return any(swing.caught for swing in found) and not fell(run)
    if any(swing.bar == count - 1 for swing in found):
        return True
    # a run may begin there
    hands = _hands(run.system)
    rows = [run.system.first_rows[hand] for hand, status in zip(hands, run.arc_statuses[0, hands], strict=True)
            if status == CLOSED]  # fmt: skip
    away = [run.mesh.positions[0, row : row + 2] - _centres(run.system)[-1] for row in rows]
    return any(math.hypot(*one) <= run.system.values["capture"] * (1 + 1e-9) for one in away)


def _hands(system: HybridSystem) -> list[int]:
    return [k for k, unit in enumerate(system.units) if isinstance(unit, Grip)]


def _centres(system: HybridSystem) -> np.ndarray:
    """Centres of all bars, m, a row each."""
    world = World.of(system.values)
    return np.array(() if world is None else world.bars).reshape(-1, 2)


def _swing(run: Trajectory, first: int, after: int, begins: list[float], hands: list[int], closed: np.ndarray) -> Swing:
    """The swing of the arcs from one to before another."""
    system, mesh = run.system, run.mesh
    start = begins[first]
    caught = after < len(closed)
    end = begins[after] if caught else run.end_time
    held = int(closed[first:after].any(axis=0).argmax())
    steps = np.flatnonzero((run.step_rows[:, L.S_ARC] >= first) & (run.step_rows[:, L.S_ARC] < after))
    lengths, inputs = run.step_rows[steps, L.S_LENGTH], np.abs(mesh.inputs[steps + 1]).sum(axis=1)
    rows = [system.first_rows[hand] for hand in hands]
    forces = np.hypot(*mesh.forces[steps + 1, rows[held] : rows[held] + 2].T)
    states = mesh.x[np.append(steps[:1], steps + 1)]
    bar, residual, impulse, approach = None, None, None, None
    if caught:
        event = run.events[next(k for k, row in enumerate(run.event_rows) if int(row[L.E_ARC]) == after - 1)]
        residual = event.energy_lost
        names = [system.units[hand].name for hand in hands]
        impulse = {name: math.hypot(event.impulse[f"{name}.x"], event.impulse[f"{name}.y"]) for name in names}
        bar, approach = _approach(run, rows[1 - held], steps)
    # while a hand droops in its claw nothing is held, and nothing swings
    loose = np.flatnonzero(~closed[first:after].any(axis=1))
    drooped = int(np.searchsorted(run.step_rows[steps, L.S_ARC], first + loose[-1] + 1)) if loose.size else 0
    moving = [system.mechanism.velocity_index(name) for name in _driven(system)]
    nq = system.mechanism.nq
    return Swing(
        start=start,
        time=end - start,
        hand=system.units[hands[held]].name,
        caught=caught,
        bar=bar,
        residual=residual,
        impulse=impulse,
        mean_torque=float(inputs @ lengths / lengths.sum()) if lengths.sum() > 0 else 0.0,
        peak_force=float(forces.max(initial=0.0)),
        peak_speed=float(np.abs(states[:, [nq + k for k in moving]]).max(initial=0.0)),
        back_swings=_back_swings(system, states[drooped:], rows[held], _side(run, rows, held, steps, caught)),
        approach=approach,
        met_bar=any(event.guard.endswith("meets a bar") and start <= event.t <= end for event in run.events),
    )


def _driven(system: HybridSystem) -> list[str]:
    return [one.coordinate for one in system.mechanism.actuators.values() if one.coordinate is not None]


def _approach(run: Trajectory, row: int, steps: np.ndarray) -> tuple[int | None, str | None]:
    """Which bar a hand came to, and from which side it came into the circle in which it can close."""
    centres = _centres(run.system)
    if not len(centres):
        return None, None
    places = run.mesh.positions[np.append(steps[:1], steps + 1), row : row + 2]
    bar = int(np.linalg.norm(centres - places[-1], axis=1).argmin())
    away = places - centres[bar]
    inside = np.linalg.norm(away, axis=1) <= run.system.values["capture"] * (1 + 1e-9)
    outside = np.flatnonzero(~inside)
    entry = away[min(outside[-1] + 1, len(away) - 1)] if len(outside) else away[0]
    angle = math.degrees(math.atan2(entry[1], entry[0]))
    return bar, "below" if -135 <= angle <= -45 else "above" if 45 <= angle <= 135 else "side"


def _side(run: Trajectory, rows: list[int], held: int, steps: np.ndarray, caught: bool) -> float:
    """To which side the next bar is, 1 or -1; on a rope, to which side the free hand is where it caught."""
    if not len(steps):
        return 1.0
    places = run.mesh.positions[steps[-1] + 1]
    hand, free = (places[row : row + 2] for row in (rows[held], rows[1 - held]))
    centres = _centres(run.system)
    way = free[0] - hand[0] if caught else 1.0
    if len(centres) > 1:
        bar = min(int(np.linalg.norm(centres - hand, axis=1).argmin()), len(centres) - 2)
        way = centres[bar + 1, 0] - centres[bar, 0]
    return -1.0 if way < 0 else 1.0


def _back_swings(system: HybridSystem, states: np.ndarray, row: int, side: float) -> int:
    """How often the centre of mass swings back about the hand that holds, by more than a little."""
    angle = side * np.unwrap(np.array(_angle(system, row).map(len(states))(states.T, _tiled(system, len(states))))[0])
    count, turned, highest = 0, False, angle[0] if len(angle) else 0.0
    lowest = highest
    for value in angle:
        if turned:
            lowest = min(lowest, value)
            if value > lowest + BACK:
                turned, highest = False, value
        else:
            highest = max(highest, value)
            if value < highest - BACK:
                turned, lowest, count = True, value, count + 1
    return count


def _tiled(system: HybridSystem, count: int) -> np.ndarray:
    return np.tile(system.parameter_values[:, None], (1, count))


def _angle(system: HybridSystem, row: int) -> Any:
    """The angle from a hand to the centre of mass, from straight down, a function of state and parameters."""

    def made() -> Any:
        m, d = system.mechanism, system.dynamics
        hand = next(unit for k, unit in enumerate(system.units) if system.first_rows[k] == row)
        bodies = m.bodies.values()
        mass = sum((ca.SX(body.mass) for body in bodies), ca.SX(0))
        centre = sum((ca.SX(body.mass) * body.pose.point(body.com) for body in bodies), ca.SX.zeros(2)) / mass
        away = centre - hand.point.position  # type: ignore[attr-defined]
        return ca.Function("angle", [d.x, d.p], [ca.atan2(away[0], -away[1])])

    return system.once(f"angle of the centre of mass about row {row}", made)
