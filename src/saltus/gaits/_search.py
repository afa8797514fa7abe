"""A search for gaits that keep themselves going by the clock alone: close the cycle, then calm it, then widen it.

Random starts are brought onto the manifold of gaits (start = end, and the travel that is asked for) by
bounded least squares. On it, two things are made small by projected gradients: first the size of a high
power of the return map's derivative, a smooth bound of the spectral radius; then what is left, after a
few cycles, of differences as large as those that the gait shall recover from.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from saltus._content import equal_by_content
from saltus.errors import InputError, SaltusError
from saltus.gaits._catch import catches
from saltus.gaits._cycles import Cycles, run_many
from saltus.gaits._fixed import FixedPoint, solve, spectral_radius
from saltus.gaits._gait import Gait
from saltus.gaits._search_file import Climbing, Place, SearchFile, Searching

# Differences that a gait shall recover from: angles (rad), and rates (rad/s).
BOX = {"rad": 0.05, "rad/s": 0.15}

# By how much unknowns of each unit differ from one gait to the next.
SCALES = {"rad": 0.3, "rad/s": 1.5, "s": 0.1, "N m": 0.5}

FAST: dict[str, Any] = {"rtol": 1e-10, "atol": 1e-11, "threads": 1}


@equal_by_content
@dataclass(frozen=True)
class Recovery:
    """What became of differences: how many cycles were made, which starts came back, and how the height drifted.

    ``drift`` is how much the hold rises in a cycle in the end, ``shift`` by how much more it has moved by then, m.
    """

    cycles: int
    returned: np.ndarray
    drift: float
    shift: np.ndarray

    @property
    def ok(self) -> bool:
        """Whether all came back."""
        return bool(self.returned.all())


@equal_by_content
@dataclass(frozen=True)
class StableGait:
    """A gait found, with its schedule rounded to the controller's period."""

    fixed: FixedPoint
    radius: float
    recovery: Recovery
    starts: int

    def to_dict(self) -> dict[str, Any]:
        """All of it in plain numbers."""
        found = self.fixed.to_dict()
        multipliers = [[float(value.real), float(value.imag)] for value in self.fixed.multipliers]
        return found | {
            "multipliers_timed": multipliers,
            "spectral_radius": self.radius,
            "recovered": int(self.recovery.returned.sum()),
            "of": len(self.recovery.returned),
            "cycles": self.recovery.cycles,
            "drift": self.recovery.drift,
            "starts_tried": self.starts,
            "catches": [catch.to_dict() for catch in catches(self.fixed.cycle)],
        }


def find_stable(
    gait: Gait,
    *,
    radius: float = 0.8,
    rise: float = 0.0,
    least_travel: float = 0.3,
    least_flight: float = 0.1,
    period: float = 1e-3,
    seed: int = 0,
    starts: int = 200,
    tries: int = 50,
    cycles: int = 500,
    progress: Callable[[int, int], None] | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
) -> StableGait:
    """A timed gait that comes back to itself.

    Parameters
    ----------
    gait
        A timed gait with a ``draw`` to begin from.
    radius
        The largest spectral radius that will do.
    rise
        By how much the hold shall rise in a cycle, m.
    least_travel
        How far the hold must move in a cycle, m.
    least_flight
        Which part of the period flight must take, if the gait has any.
    period
        Times of the schedule are multiples of this, s.
    tries, cycles
        How many random differences it must recover from, and within how many cycles.
    checkpoint
        A file, .json, written at least every 10 s, or less often where that would take more than 5 % of the time.
    resume
        Go on from the checkpoint; what comes out is what would have without a break.
    """
    if gait.draw is None or gait.section:
        raise InputError(f"gait {gait.name}: a search needs a timed gait that can draw its starts")
    gait.check_repeats()
    if not 0 < radius <= 1 or not math.isfinite(rise) or not 0 < period < math.inf:
        raise InputError(
            f"a search needs a radius above 0 and at most 1, a finite rise and a positive period, got {radius!r}, "
            f"{rise!r} m and {period!r} s"
        )
    for name, number in (("seed", seed + 1), ("starts", starts), ("tries", tries), ("cycles", cycles)):
        if number < 1:
            raise InputError(f"{name} of a search must not be negative, got {number - (name == 'seed')}")
    file = SearchFile(gait, checkpoint, resume=resume)
    now = file.search({
        "radius": radius, "rise": rise, "least_travel": least_travel, "least_flight": least_flight, "period": period,
        "seed": seed, "tries": tries, "cycles": cycles,
    })  # fmt: skip
    search = _Search(gait, rise, least_travel, least_flight, file.look)
    with file.stored():
        for number, drawn in enumerate(_draws(gait, seed, starts), 1):
            if number < now.number:
                continue
            if progress is not None:
                progress(number, starts)
            z = now.found if now.found is not None else _led_to(search, drawn, number, now)
            found = None if z is None else search.settled(z, period, radius, tries, cycles)
            if found is not None:
                now.found = z
                return StableGait(*found, number)
    raise SaltusError(f"gait {gait.name}: none of {starts} random starts led to a spectral radius below {radius:g}")


def _draws(gait: Gait, seed: int, starts: int) -> Iterator[dict[str, float]]:
    """Random starts, the same ones every time."""
    random = np.random.default_rng(seed)
    assert gait.draw is not None
    for _ in range(starts):
        yield gait.draw(random)


def _led_to(search: _Search, drawn: dict[str, float], number: int, now: Searching) -> np.ndarray | None:
    """What a random start leads to, before its times are rounded; none where that is no stable gait."""
    if now.number != number or now.place is None:
        now.number, now.place = number, None
        search.look()
        z = search.close(search.vector(drawn))
        if z is None:
            return None
        now.place = Place(z)
    return search.refine([search.calm(60, 1.5), search.calm(60, 1.0), *search.widen()], now.place)


def climb(
    found: StableGait,
    *,
    radius: float = 1.0,
    step: float = 0.02,
    most: float = 1.0,
    period: float = 1e-3,
    tries: int = 50,
    cycles: int = 500,
    progress: Callable[[float, float], None] | None = None,
    checkpoint: str | Path | None = None,
    resume: bool = False,
) -> StableGait:
    """Follow a stable gait to larger rises of the hold in a cycle, as far as it stays stable and recovers.

    Each step asks for more, closes the cycle again, and calms and widens it again. ``progress`` is
    called with the rise and the spectral radius of each gait on the way. The checkpoint is that of the search before;
    a climb that is resumed comes to what it would have without a break.
    """
    gait, best = found.fixed.gait, found
    # the file of the search before is of use if this is interrupted
    file = SearchFile(gait, checkpoint, resume=resume or (checkpoint is not None and Path(checkpoint).exists()))
    search = _Search(gait, found.fixed.travel[1], abs(found.fixed.travel[0]) * 0.3, 0.1, file.look)
    z = search.vector({**found.fixed.start, **found.fixed.knobs})
    asked = {"radius": radius, "step": step, "period": period, "tries": tries, "cycles": cycles, "from": z.tolist()}
    now = file.climb(Climbing(asked, z, search.rise, step), resume=resume)
    with file.stored():
        if now.reached is not None:
            search.rise = now.rise
            settled = search.settled(now.reached, period, radius, tries, cycles)
            best = best if settled is None else StableGait(*settled, found.starts)
        while now.step > 1e-3 and now.rise + now.step <= most:
            search.rise = now.rise + now.step
            new, wide = _one_climb(search, radius, now)
            settled = None if wide is None else search.settled(wide, period, radius, tries, cycles)
            now.place = None
            if settled is None:
                now.step *= 0.5
                continue
            now.z, now.rise, now.reached = new, search.rise, wide
            best = StableGait(*settled, found.starts)
            now.step = min(1.5 * now.step, 0.05)
            search.look()
            if progress is not None:
                progress(best.fixed.travel[1], best.radius)
    return best


def _one_climb(search: _Search, radius: float, now: Climbing) -> tuple[np.ndarray, np.ndarray | None]:
    """A gait that rises more, and one near it that is to be rounded; none where there is none near."""
    new, miss = search.retract(now.z, np.ones(len(now.z)))
    if not miss < 1e-8 or not search.acceptable(new):
        return new, None
    rough = search.size_of_power(new[None])[0] > math.log(0.95 * radius)
    now.place = now.place or Place(new)
    wide = search.refine([search.calm(20 if rough else 0), *search.widen()], now.place)
    return now.place.ends[0], wide


def recovers(
    fixed: FixedPoint, *, tries: int = 50, cycles: int = 500, seed: int = 1, size: float = 1.0, tolerance: float = 1e-6
) -> Recovery:
    """Whether random differences from a timed gait die out: starts within ``size`` times +-0.05 rad, +-0.15 rad/s."""
    gait = fixed.gait
    box = size * np.array([BOX[unit] for unit in _units(gait)])
    x0 = np.array([fixed.start[name] for name in gait.free])
    states = x0 + np.random.default_rng(seed).uniform(-1.0, 1.0, (tries, len(x0))) * box
    height, last = np.zeros(tries), np.zeros(tries)
    made = 0
    for _ in range(cycles):
        after = run_many(gait, dict(zip(gait.free, states.T, strict=True)), fixed.knobs)
        states = np.column_stack([after.finals[name] for name in gait.free])
        last = after.travel[:, 1]
        height, made = height + last, made + 1
        if not np.isfinite(states).all():
            break
    difference = np.abs(_difference(gait, x0, states)).max(axis=1)
    returned = np.isfinite(difference) & (difference < tolerance)
    drift = float(last[returned].mean()) if returned.any() else math.nan
    return Recovery(made, returned, drift, height - made * drift)


def _units(gait: Gait) -> list[str]:
    m = gait.held(0).mechanism
    units = {**m.coordinates, **m.velocities}
    return [units[name] for name in gait.free]


def _difference(gait: Gait, start: np.ndarray, end: np.ndarray) -> np.ndarray:
    """End less start, row by row; angles by the shorter way around."""
    change = end - start
    for k, unit in enumerate(_units(gait)):
        if unit == "rad":
            change[..., k] = np.remainder(change[..., k] + np.pi, 2 * np.pi) - np.pi
    return np.asarray(change)


Values = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class Descent:
    """What is made small, in how many steps, and what the size of the return map's derivative must come below."""

    values: Values
    count: int
    most: float = math.inf


class _Search:
    """The manifold of gaits in the space of starts and knobs, and how to move on it."""

    def __init__(
        self, gait: Gait, rise: float, least_travel: float, least_flight: float, look: Callable[[], None] = lambda: None
    ):
        self.gait, self.rise, self.least_travel, self.least_flight = gait, rise, least_travel, least_flight
        self.names = [*gait.free, *gait.knobs]
        self.look = look
        self.n = len(gait.free)
        units = [*_units(gait), *(knob.unit for knob in gait.knobs.values())]
        self.scale = np.array([SCALES.get(unit, 1.0) for unit in units])
        self.box = np.array([BOX[unit] for unit in units[: self.n]])
        wide = {"rad": 2 * math.pi, "rad/s": 12.0}
        self.low = np.array([*(-wide[u] for u in units[: self.n]), *(k.lower for k in gait.knobs.values())])
        self.high = np.array([*(wide[u] for u in units[: self.n]), *(k.upper for k in gait.knobs.values())])
        # differences are taken around points at the bounds too
        self.low, self.high = self.low + 1e-4 * self.scale, self.high - 1e-4 * self.scale
        m = gait.robot.mechanism
        self.length = max(1e-9, max(float(gait.robot.values[p]) for p in m.parameters if m.parameters[p].unit == "m"))
        spread = np.random.default_rng(7).uniform(-1.0, 1.0, (24, self.n))
        self.spread = spread * self.box
        self.rates = np.array([1.0 if u == "rad" else 0.2 for u in units[: self.n]])

    def vector(self, values: dict[str, float]) -> np.ndarray:
        z = np.array([values[name] for name in self.names])
        return np.clip(z, self.low + 1e-6, self.high - 1e-6)

    def run(self, Z: np.ndarray) -> Cycles:
        columns = dict(zip(self.names, Z.T, strict=True))
        starts, knobs = ({n: columns[n] for n in group} for group in (self.gait.free, self.gait.knobs))
        return run_many(self.gait, starts, knobs, **FAST)

    def residual(self, Z: np.ndarray) -> np.ndarray:
        """By how much cycles miss themselves, and the rise that is asked for, row by row."""
        cycles = self.run(Z)
        ends = np.column_stack([cycles.finals[name] for name in self.gait.free])
        change = _difference(self.gait, Z[:, : self.n], ends) * self.rates
        rise = (cycles.travel[:, 1] - self.rise) / self.length
        return np.nan_to_num(np.column_stack([change, rise]), nan=1e3)

    def slope(self, z: np.ndarray, step: float = 1e-5) -> np.ndarray:
        """Derivative of the residual, by central differences made in one batch."""
        moves = step * np.diag(self.scale)
        r = self.residual(np.vstack([z + moves, z - moves]))
        return np.asarray((r[: len(z)] - r[len(z) :]).T / (2 * step * self.scale))

    def acceptable(self, z: np.ndarray) -> bool:
        """Whether the hold moves far enough, and the robot flies long enough if it flies at all."""
        columns = dict(zip(self.names, z, strict=True))
        durations = [columns[f"{phase.name}_t"] for phase in self.gait.phases]
        flying = [t for phase, t in zip(self.gait.phases, durations, strict=True) if phase.holds is None]
        if flying and sum(flying) < self.least_flight * sum(durations):
            return False
        return bool(abs(self.run(z[None]).travel[0, 0]) >= self.least_travel)

    def close(self, z: np.ndarray) -> np.ndarray | None:
        """A gait near a random start, or none."""
        found = least_squares(
            lambda z: self.residual(z[None])[0], z, jac=self.slope, bounds=(self.low, self.high), x_scale=self.scale,
            max_nfev=40, xtol=1e-12, ftol=1e-14, gtol=1e-14,
        )  # fmt: skip
        z, miss = self.retract(found.x, np.ones(len(z)))
        return z if miss < 1e-8 and self.acceptable(z) else None

    def retract(self, z: np.ndarray, free: np.ndarray, rows: slice = slice(None)) -> tuple[np.ndarray, float]:
        """Back onto the manifold by the shortest way, changing what is free only; and by how much it is missed."""
        miss = math.inf
        for _ in range(9):
            r = self.residual(z[None])[0][rows]
            miss = float(np.abs(r).max())
            if not 1e-10 < miss < 1.5:
                break
            J = self.slope(z)[rows] * self.scale * free
            z = np.clip(z - self.scale * np.linalg.lstsq(J, r, rcond=1e-10)[0], self.low, self.high)
        return z, miss

    def derivatives(self, Z: np.ndarray, step: float = 1e-5) -> np.ndarray:
        """Derivatives of the return map at many points, in units of the box, by one batch."""
        moves = np.zeros((2 * self.n, Z.shape[1]))
        for k in range(self.n):
            moves[k, k] = moves[self.n + k, k] = step
            moves[self.n + k, k] = -step
        cycles = self.run((Z[:, None, :] + moves).reshape(-1, Z.shape[1]))
        ends = np.column_stack([cycles.finals[name] for name in self.gait.free]).reshape(len(Z), 2 * self.n, self.n)
        change = _difference(self.gait, ends[:, self.n :], ends[:, : self.n]) / (2 * step)
        return np.asarray(change.transpose(0, 2, 1) * self.box / self.box[:, None])

    def size_of_power(self, Z: np.ndarray) -> np.ndarray:
        """Logarithm of the size of the eighth power of the derivative, over eight: the spectral radius, from above."""
        P, total = self.derivatives(Z), np.zeros(len(Z))
        for _ in range(3):
            size = np.sqrt((P * P).sum(axis=(1, 2))) + 1e-300
            total, P = 2 * (total + np.log(size)), P / size[:, None, None]
            P = P @ P
        return np.nan_to_num((total + 0.5 * np.log((P * P).sum(axis=(1, 2)) + 1e-300)) / 8, nan=1e3)

    def left_over(self, Z: np.ndarray, size: float) -> np.ndarray:
        """What is left of differences of that size after three cycles, in units of the box: a mean of logarithms."""
        points = Z[:, None, : self.n] + size * self.spread
        knobs = np.broadcast_to(Z[:, None, self.n :], (*points.shape[:2], Z.shape[1] - self.n))
        states, knobs = points.reshape(-1, self.n), knobs.reshape(-1, Z.shape[1] - self.n)
        for _ in range(3):
            cycles = self.run(np.hstack([states, knobs]))
            states = np.column_stack([cycles.finals[name] for name in self.gait.free])
        error = _difference(self.gait, Z[:, None, : self.n], states.reshape(points.shape)) / self.box
        return np.nan_to_num(np.log(1e-3 + (error**2).sum(axis=-1)).mean(axis=1), nan=1e3)

    def calm(self, count: int, most: float = math.inf) -> Descent:
        """Make the spectral radius small along the manifold."""
        return Descent(self.size_of_power, count, math.log(most) if most < math.inf else math.inf)

    def widen(self) -> list[Descent]:
        """Make larger and larger differences die out."""
        return [Descent(partial(self.left_over, size=size), 20) for size in (1.0, 2.0)]

    def refine(self, descents: Sequence[Descent], at: Place) -> np.ndarray | None:
        """One descent after the other, from a place on; none where one ends above what it must come below."""
        while at.descent < len(descents):
            one = descents[at.descent]
            z = self.descend(one.values, one.count, at)
            if one.most < math.inf and self.size_of_power(z[None])[0] > one.most:
                return None
            at.next()
            self.look()
        return at.z

    def descend(self, values: Values, steps: int, at: Place) -> np.ndarray:
        """Projected gradients on the manifold, with some momentum; bounds that are reached are kept."""
        if at.best is None:
            at.best = float(values(at.z[None])[0])
        while at.done < steps:
            z, old, step = at.z, at.way, at.length
            moves = 2e-5 * np.diag(self.scale)
            around = values(np.vstack([z + moves, z - moves]))
            gradient = (around[: len(z)] - around[len(z) :]) / 4e-5
            if not np.isfinite(gradient).all():
                break
            J = self.slope(z) * self.scale
            way, free = _project(J, -gradient, z <= self.low + 1e-9, z >= self.high - 1e-9)
            if old is not None:
                way = way / max(np.linalg.norm(way), 1e-12) + 0.6 * old
                way, free = _project(J, way, z <= self.low + 1e-9, z >= self.high - 1e-9)
            size = np.linalg.norm(way)
            if not size > 1e-4:
                break
            way = way / size
            while step > 1e-4:
                new, miss = self.retract(np.clip(z + self.scale * step * way, self.low, self.high), free)
                if miss < 1e-8 and self.acceptable(new):
                    value = float(values(new[None])[0])
                    if value < at.best - 1e-6:
                        at.z, at.best, at.way, at.length = new, value, way, min(1.7 * step, 1.0)
                        break
                step *= 0.4
            else:
                if old is None:
                    break
                at.way, at.length = None, 0.05
            at.done += 1
            self.look()
        return at.z

    def settled(
        self, z: np.ndarray, period: float, radius: float, tries: int, cycles: int
    ) -> tuple[FixedPoint, float, Recovery] | None:
        """The gait with times that are multiples of the controller's period, if it still does what is asked."""
        z, free = z.copy(), np.ones(len(z))
        places = [self.names.index(f"{phase.name}_t") for phase in self.gait.phases]
        ends = np.round(np.cumsum(z[places]) / period)
        # never shorter or longer than a search allows
        least, most = np.ceil(self.low[places] / period), np.floor(self.high[places] / period)
        z[places] = np.clip(np.diff(ends, prepend=0.0), least, most) * period
        free[places] = 0.0
        z, miss = self.retract(z, free)
        if not miss < 1e-8:
            return None
        columns = dict(zip(self.names, z.tolist(), strict=True))
        try:
            fixed = solve(self.gait, {n: columns[n] for n in self.gait.free}, {n: columns[n] for n in self.gait.knobs})
        except SaltusError:
            return None
        size = spectral_radius(fixed.cycle)
        if not size < radius or not abs(fixed.travel[0]) >= self.least_travel:
            return None
        if not recovers(fixed, tries=tries, cycles=min(cycles, 60), tolerance=1e-2).ok:
            return None
        recovery = recovers(fixed, tries=tries, cycles=cycles)
        return (fixed, size, recovery) if recovery.ok else None


def _project(J: np.ndarray, way: np.ndarray, at_low: np.ndarray, at_high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The part of a way along the manifold that stays within bounds, and what may change at all."""
    free = np.ones(len(way))
    along = way
    for _ in range(4):
        Q = np.linalg.qr((J * free).T)[0]
        along = way * free
        along = (along - Q @ (Q.T @ along)) * free
        out = ((at_low & (along < 0)) | (at_high & (along > 0))) & (free > 0)
        if not out.any():
            break
        free[out] = 0.0
    return along, free
