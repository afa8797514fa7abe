"""Fixed points of a return map, by Gauss-Newton with exact derivatives, and their multipliers."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from saltus._content import equal_by_content
from saltus.errors import InputError, SaltusError
from saltus.gaits._backwards import shoot_backwards
from saltus.gaits._cycle import Cycle, run_cycle
from saltus.gaits._gait import COLLISIONLESS, Gait
from saltus.gaits._plan import robot_of

# A guard reached slower than this share of its greatest speed is touched, not crossed.
GRAZING = 1e-5

# A search by state that does not close its cycle, but reaches a guard slower than this, may be on its way to a
# gait that loses nothing.
SLOW = 1e-3

# A search by state that ends this near to a gait that loses nothing was on its way there, rad and rad/s.
NEAR = 0.01


@equal_by_content
@dataclass(frozen=True)
class FixedPoint:
    """A gait that repeats: its start, its knobs, and by how much it misses itself.

    One that loses nothing has its cycle ``by_clock`` only: by its state it touches a guard and does not cross it.
    """

    gait: Gait
    start: dict[str, float]
    knobs: dict[str, float]
    cycle: Cycle
    steps: int
    by_clock: FixedPoint | None = None

    @property
    def residual(self) -> float:
        """The largest difference between the start and the end of the cycle."""
        return float(np.abs(self.cycle.residual).max(initial=0.0))

    @property
    def grazing(self) -> tuple[str, ...]:
        """Phases that end on their guard without speed: there the return map has no derivative."""
        if self.by_clock is not None:
            return (self.gait.phases[0].name,)
        return tuple(name for name, speed in self.cycle.speeds.items() if speed < GRAZING)

    @property
    def multipliers(self) -> np.ndarray:
        """Of the return map on the section: what a small difference is multiplied by in a cycle, the largest first."""
        if self.grazing:
            raise SaltusError(
                f"gait {self.gait.name}: {' and '.join(self.grazing)} is reached without speed, so its neighbours "
                "may miss it, and the map on the section has no multipliers; those of the timed gait exist"
            )
        return multipliers(self.cycle)

    @property
    def timed(self) -> Gait:
        """The same motion by the clock alone."""
        if self.by_clock is not None:
            return self.by_clock.gait
        gait = self.gait.with_knobs(**self.knobs).timed(self.cycle.durations)
        return gait.with_start(**{name: self.start[name] for name in gait.free})

    @property
    def multipliers_timed(self) -> np.ndarray:
        """Of the map over one period of the clock, in all coordinates and velocities."""
        if self.by_clock is not None:
            return self.by_clock.multipliers
        return multipliers(run_cycle(self.timed, derivatives=True))

    @property
    def travel(self) -> tuple[float, float]:
        """How far the hold moves in a cycle, m."""
        return self.cycle.travel

    def to_dict(self) -> dict[str, Any]:
        """All of it in plain numbers."""
        return {
            "gait": self.gait.name, "fixed_point": dict(self.start), "knobs": dict(self.knobs),
            "residual": self.residual, "period": self.cycle.period,
            "durations": dict(self.cycle.durations), "travel": list(self.travel),
            "losses": dict(self.cycle.losses),
        }  # fmt: skip


def multipliers(cycle: Cycle) -> np.ndarray:
    """Eigenvalues of the return map at a fixed point, the largest first."""
    if cycle.jacobian is None:
        raise InputError("multipliers need the derivatives of the cycle")
    names = cycle.gait.state_names
    free = [names.index(name) for name in cycle.gait.free]
    values = np.linalg.eigvals(cycle.jacobian[np.ix_(free, free)])
    return np.asarray(values[np.argsort(-np.abs(values))])


def spectral_radius(cycle: Cycle) -> float:
    """The largest size of a multiplier."""
    return float(np.abs(multipliers(cycle)).max())


def solve(
    gait: Gait,
    guess: Mapping[str, float] | None = None,
    knobs: Mapping[str, float] | None = None,
    *,
    unknowns: Sequence[str] | None = None,
    travel: tuple[float | None, float | None] = (None, None),
    tolerance: float = 1e-12,
    most_steps: int = 60,
) -> FixedPoint:
    """A fixed point near a guess.

    Parameters
    ----------
    guess
        Values of what is free on the section; the gait's own start for the rest.
    unknowns
        What is searched for, of what is free and of the knobs; those of the gait if not said.
    travel
        Where the hold shall have moved in a cycle, m, in each direction; None where that is left open.
    """
    gait.check_repeats()
    start, values = dict(gait.state(guess)), dict(gait.knob_values(knobs))
    wanted = list(unknowns if unknowns is not None else gait.unknowns or gait.free)
    for name in wanted:
        if name not in gait.free and name not in values:
            raise InputError(f"gait {gait.name}: {name} is neither free on the section nor a knob")
    try:
        found = newton(gait, start, values, wanted, travel, tolerance, most_steps)
    except InputError:
        raise
    except SaltusError as failed:
        nearer = start
        try:
            nearer = {**start, **shoot_backwards(gait, start, values)}
            found = newton(gait, nearer, values, wanted, travel, tolerance, most_steps)
        except SaltusError:
            exact = _collisionless_near(gait, nearer, values) or _collisionless_near(gait, start, values)
            if exact is None:
                raise failed from None  # what was asked for, not what was tried in its place
            return exact
    # a search by state comes near to a gait that grazes, never there
    slowest = min(found.cycle.speeds.values(), default=1.0)
    near = found.grazing or (found.residual > 10 * tolerance and slowest < SLOW)
    return (_collisionless_near(gait, found.start, values) if near else None) or found


def _collisionless_near(gait: Gait, start: dict[str, float], knobs: dict[str, float]) -> FixedPoint | None:
    """The gait that loses nothing, if that is where a search by state comes to its end."""
    from saltus.gaits._rest import collisionless

    if gait.rest is None or any(gait.held(k).system.units for k in range(len(gait.phases))):
        return None
    # one search for all guesses
    robot = robot_of(gait, knobs)
    for found in gait.once((COLLISIONLESS, *robot.values.values()), lambda: collisionless(gait, knobs)):
        exact = {name: found.fixed.start[name] for name in gait.state_names}
        if all(abs(exact[name] - start[name]) < NEAR for name in gait.free):
            return FixedPoint(gait, exact, knobs, _as_of(gait, knobs, found.fixed.cycle), 0, found.fixed)
    return None


def _as_of(gait: Gait, knobs: dict[str, float], cycle: Cycle) -> Cycle:
    """A cycle by the clock as one of a gait: phases that it does not have, such as that of the motor, take no time."""
    names = [phase.name for phase in gait.phases]
    return replace(
        cycle,
        gait=gait,
        knobs=knobs,
        durations={name: cycle.durations.get(name, 0.0) for name in names},
        losses={name: cycle.losses.get(name, 0.0) for name in names},
        jacobian=None,
        time_jacobian=None,
        travel_jacobian=None,
    )


def newton(
    gait: Gait,
    start: dict[str, float],
    values: dict[str, float],
    wanted: Sequence[str],
    travel: tuple[float | None, float | None],
    tolerance: float = 1e-12,
    most_steps: int = 60,
) -> FixedPoint:
    """Gauss-Newton from a guess, shortened and damped where it must be."""
    cycle, r = evaluate(gait, start, values, travel)
    damping = 0.0
    steps = 0
    while steps < most_steps:
        steps += 1
        if np.abs(r).max() <= tolerance:
            break
        J = slope_of(cycle, wanted, travel)
        move = _least_squares(J, -r, damping)
        if np.abs(r).max() < 1e-9 and np.linalg.norm(r + J @ move) > 0.5 * np.linalg.norm(r):
            break  # no nearer than rounding
        better = None
        for share in (1.0, 0.5, 0.25, 0.1, 0.03):
            try:
                better = evaluate(gait, *moved(gait, start, values, wanted, share * move), travel)
            except SaltusError:
                continue
            if np.linalg.norm(better[1]) < np.linalg.norm(r):
                break
            better = None
        if better is None:
            if np.abs(r).max() < 1e-9:
                break
            damping = max(10 * damping, 1e-4)
            if damping > 1e4:
                break
            continue
        damping *= 0.1 if damping > 1e-6 else 0.0
        cycle, r = better
        start, values = cycle.start, {name: cycle.knobs[name] for name in values}
    if not np.abs(r).max() <= max(1e-9, tolerance):
        raise SaltusError(
            f"gait {gait.name}: no fixed point near the guess; the nearest found misses itself by "
            f"{np.abs(r).max():.3g} at " + ", ".join(f"{name} = {({**start, **values})[name]:.6g}" for name in wanted)
        )
    return FixedPoint(gait, {name: start[name] for name in gait.state_names}, values, cycle, steps)


def evaluate(
    gait: Gait, start: Mapping[str, float], knobs: Mapping[str, float], travel: tuple[float | None, float | None]
) -> tuple[Cycle, np.ndarray]:
    cycle = run_cycle(gait, {n: start[n] for n in gait.free}, knobs, derivatives=True)
    more = [cycle.travel[i] - goal for i, goal in enumerate(travel) if goal is not None]
    return cycle, np.concatenate([cycle.residual, more])


def slope_of(cycle: Cycle, wanted: Sequence[str], travel: tuple[float | None, float | None]) -> np.ndarray:
    """Derivative of the residual, and of the travel, by the unknowns."""
    assert cycle.jacobian is not None
    assert cycle.travel_jacobian is not None
    names, gait = list(cycle.names), cycle.gait
    columns = [names.index(name) for name in wanted]
    rows = [gait.state_names.index(name) for name in gait.free]
    J = cycle.jacobian[np.ix_(rows, columns)].copy()
    for i, name in enumerate(gait.free):
        if name in wanted:
            J[i, wanted.index(name)] -= 1.0
    more = [cycle.travel_jacobian[i, columns] for i, goal in enumerate(travel) if goal is not None]
    return np.vstack([J, *more])


def moved(
    gait: Gait, start: Mapping[str, float], knobs: Mapping[str, float], wanted: Sequence[str], move: np.ndarray
) -> tuple[dict[str, float], dict[str, float]]:
    """Start and knobs after a move of the unknowns; an error if a knob leaves its bounds."""
    new_start, new_knobs = dict(start), dict(knobs)
    for name, change in zip(wanted, move, strict=True):
        target = new_start if name in gait.free else new_knobs
        target[name] = float(target[name] + change)
    for name, value in new_knobs.items():
        try:
            gait.knobs[name].check(value)
        except InputError as error:
            raise SaltusError(str(error)) from None
    return new_start, new_knobs


def _least_squares(J: np.ndarray, r: np.ndarray, damping: float) -> np.ndarray:
    """The shortest step that solves J x = r as well as can be; directions without effect are left alone."""
    U, s, Vt = np.linalg.svd(J, full_matrices=False)
    keep = s > 1e-9 * s[0] if s.size else s > 0
    factors = np.where(keep, s / (s * s + damping * s[0] ** 2 + math.ulp(0.0)), 0.0)
    return np.asarray(Vt.T @ (factors * (U.T @ r)))
