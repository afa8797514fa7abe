"""Swings by one torque impulse [yang2016, 7.3]: many trials at once, each lane under its own impulse."""

from __future__ import annotations

import ctypes
import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import casadi as ca
import numpy as np
from numba import types

from saltus._content import equal_by_content
from saltus._finite import is_finite
from saltus._native import FLOATS, compile_entry, ctypes_entry, pointer_to
from saltus.contact import Grip
from saltus.control._hands import one_motor, two_hands
from saltus.control._protocol import finite
from saltus.engine import _single as S
from saltus.engine._reduced import Reduced, reduced
from saltus.engine._single import BLOCK, Aim, Block, call_move
from saltus.errors import InputError
from saltus.hybrid import HybridSystem
from saltus.optimize._checked import chosen_threads, positive, rising, rows, whole

# Rows of a block after those of its motion: when the impulse begins and ends, its size, when the goal was met.
BEGIN, END, SIZE, WHEN, ROOM = range(S.ROWS, S.ROWS + 5)

# A swing is over ahead of the hand that holds by at least this share of both links' length: 0.2 m of the brachiator's.
AHEAD = 0.25

# How long a trial lasts, and its steps, s [yang2016, 7.3].
TIME, STEP = 1.2, 1e-3

# From where to where a free hand swings, m on the level of the one that holds, if nothing is said [yang2016, 7.3].
STARTS, TARGETS = (-0.60, -0.40), (0.40, 0.60)

# When an impulse begins and how long it lasts, s, in trials of 1.2 s; longer trials have longer ones.
BEGINS, LENGTHS = (0.0, 0.6), (0.02, 0.5)

KICK = types.int32(types.int64, FLOATS, FLOATS, types.float32, types.int64)
"""kick(move, W, p, h, steps) -> 0: a block of lanes under their impulses."""


def kick(move, W, p, h, steps):
    """Every lane under its own impulse, step by step."""
    for l in range(BLOCK):
        W[WHEN * BLOCK + l] = np.float32(-1.0)
    for step in range(steps):
        # in the middle of the step, where the flow is evaluated
        t = (np.float32(step) + np.float32(0.5)) * h
        for l in range(BLOCK):
            on = (t >= W[BEGIN * BLOCK + l]) & (t < W[END * BLOCK + l])
            W[S.U * BLOCK + l] = W[SIZE * BLOCK + l] if on else np.float32(0.0)
        call_move(move, W, p, h, 1)
        for l in range(BLOCK):
            new = (W[S.HIT * BLOCK + l] >= np.float32(0.0)) & (W[WHEN * BLOCK + l] < np.float32(0.0))
            W[WHEN * BLOCK + l] = t if new else W[WHEN * BLOCK + l]
    return 0


@lru_cache(maxsize=1)
def _kicker() -> tuple[Any, Any]:
    entry = compile_entry(kick, KICK, "kick")
    kinds = [ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_float, ctypes.c_int64]
    return ctypes_entry(entry, ctypes.c_int32, kinds), entry


@equal_by_content
@dataclass(frozen=True, eq=False)
class Trials:
    """Trials of impulses and what became of them, one in each place of all arrays.

    Parameters
    ----------
    start
        Where the free hand began, m, on the level of the one that holds; negative is behind it.
    begin, size, length
        Of the impulse: s, N m, s.
    reached
        Whether the hand came up to the level again, ahead; or, if there was a bar, to that.
    x, time
        Where and when, m and s.
    residual
        Kinetic energy there, J: what a catch would have to take.
    force
        Largest force on the hand that holds on the way, N: the softness of [yang2016, 7.3.2].
    miss
        How near the hand came to the bar, m, if there was one.
    """

    start: np.ndarray
    begin: np.ndarray
    size: np.ndarray
    length: np.ndarray
    reached: np.ndarray
    x: np.ndarray
    time: np.ndarray
    residual: np.ndarray
    force: np.ndarray
    miss: np.ndarray

    def __len__(self) -> int:
        return len(self.start)

    def __getitem__(self, which: Any) -> Trials:
        return Trials(**{name: array[which] for name, array in vars(self).items()})


@equal_by_content
class Swinger:
    """Swings of a robot of two links that hangs by its first hand, each by one impulse, in compiled blocks.

    Parameters
    ----------
    robot
        Hangs by the first of its two grips; the other lets go at a place on the same level, at rest.
    time
        How long a trial lasts, s: 1.2 s as in [yang2016, 7.3], and longer where gravity is low.
    """

    def __init__(self, robot: HybridSystem, time: float = TIME):
        one_motor(robot, "impulses")
        self.robot = robot
        self.time = positive(time, "impulses: time")
        self.holds, self.free = two_hands(robot, (), "impulses")
        self.mode = reduced(robot, self.holds)
        self.limit = float(robot.input_limits[0])
        if not 0 < self.limit < math.inf:
            raise InputError(
                f"impulses: the limit of the motor of {robot.name} must be positive and finite, it is {self.limit:g}: "
                "there are no impulses to choose from"
            )
        if "L1" not in robot.values or "L2" not in robot.values:
            raise InputError(f"impulses: {robot.name} has no lengths L1 and L2 of its two links")
        self.level = self._to_level()
        self._bar: Block | None = None
        self.capture = float(robot.values.get("capture", 0.025))

    def __reduce__(self) -> tuple[Any, ...]:
        return Swinger, (self.robot, self.time)

    def _content(self) -> tuple[Any, ...]:
        return self.robot, self.time

    def __hash__(self) -> int:
        return hash(self.robot)

    @cached_property
    def distances(self) -> tuple[float, float]:
        """How near to the hand that holds the free one can be, and how far from it, m, as the elbow's stops allow."""
        mode, (l1, l2) = self.mode, self._lengths
        most = math.pi
        for _, lower, upper in (stop for stop in mode.stops if stop[0] == 1):
            ends = ca.Function("ends", [mode.p], [lower, upper])(mode.values())
            most = max(0.0, min(most, -float(ends[0]), float(ends[1])))
        return math.sqrt(max(l1 * l1 + l2 * l2 + 2 * l1 * l2 * math.cos(most), 0.0)), l1 + l2

    @property
    def targets(self) -> tuple[float, float]:
        """How far ahead a swing can end, m."""
        nearest, farthest = self.distances
        return max(nearest, AHEAD * farthest), farthest

    @property
    def _lengths(self) -> tuple[float, float]:
        return self.robot.values["L1"], self.robot.values["L2"]

    def _to_level(self) -> Block:
        """The motion up to the level, ahead: the hand is above it, and two steps ago was not.

        A hand that comes over the top is above it too, but was so before. How far ahead, a step, and how far below the
        level counts, are three more parameters; the force on the hand that holds is watched.
        """
        hand, more = self._hand, ca.SX.sym("more", 3)
        ahead, step, height = more[0], more[1], hand[1] + more[2]
        rate = ca.jtimes(hand[1], self.mode.q, self.mode.v)
        goal = ca.fmax(ca.fmax(-height, ahead - hand[0]), height - 2 * step * rate)
        return Block(self.mode, Aim(goal, ca.SX(1), watched=self._force, symbols=more), "leapfrog")

    @property
    def _hand(self) -> Any:
        grip = next(unit for unit in self.robot.units if unit.name == self.free)
        assert isinstance(grip, Grip)
        return self.mode.seen(grip.point.position)

    @property
    def _force(self) -> Any:
        """Square of the force on the hand that holds, N^2: what changes the momentum, beside gravity."""
        mode, m = self.mode, self.robot.mechanism
        pinned = m if mode.pinned is None else mode.pinned.mechanism
        x, rate = ca.vertcat(mode.q, mode.v), ca.vertcat(mode.v, mode.acceleration)
        total = ca.SX.zeros(2)
        for body in pinned.bodies.values():
            momentum = ca.SX(body.mass) * ca.jtimes(body.pose.point(body.com), mode.q, mode.v)
            total += ca.jtimes(momentum, x, rate) + ca.vertcat(0, ca.SX(body.mass) * m.gravity)
        return ca.sumsqr(total)

    def _to_bar(self) -> Block:
        """The motion to a bar that is told by three more parameters; how near it came is watched."""
        if self._bar is None:
            bar = ca.SX.sym("bar", 3)
            away = ca.sumsqr(self._hand - bar[:2])
            aim = Aim(away - bar[2] ** 2, ca.SX(1), watched=-away, symbols=bar)
            self._bar = Block(self.mode, aim, "leapfrog")
        return self._bar

    def angles(self, start: np.ndarray) -> np.ndarray:
        """Both coordinates with the free hand at some places of the level, elbow down, a column each."""
        start = np.asarray(start, dtype=float)
        self.check_places(start, "a start")
        away, (l1, l2) = np.abs(start), self._lengths
        bend = np.arccos(np.clip((away**2 - l1 * l1 - l2 * l2) / (2 * l1 * l2), -1.0, 1.0))
        inner = np.arccos(np.clip((away**2 + l1 * l1 - l2 * l2) / (2 * l1 * away), -1.0, 1.0))
        # to the right: the link hangs below the way to the hand, by the inner angle
        side = np.where(start < 0, -1.0, 1.0)
        return np.stack([side * (math.pi / 2 - inner), side * bend])

    def possible(self, places: np.ndarray) -> np.ndarray:
        """At which places of the level, m, the free hand can be."""
        nearest, farthest = self.distances
        away = np.abs(places)
        return np.asarray((away > 0) & (away >= nearest * (1 - 1e-12)) & (away < farthest))

    def check_places(self, places: np.ndarray, what: str) -> None:
        """Refuse places of the level where the free hand cannot be."""
        good = self.possible(places)
        if not good.all():
            nearest, farthest = self.distances
            raise InputError(
                f"impulses: the free hand of {self.robot.name} can be from {nearest:.4g} to {farthest:.4g} m away, and "
                f"{what} is at {np.atleast_1d(places)[~np.atleast_1d(good)][0]:g} m"
            )

    def check_query(self, start: float, target: float) -> tuple[float, float]:
        """Refuse a swing that cannot be asked for: from behind, to ahead, within what the elbow allows."""
        for name, place, side in (("start", start, -1), ("target", target, 1)):
            if isinstance(place, bool) or not is_finite(place):
                raise InputError(f"impulses: a {name} is a finite number, got {place!r}")
            if place * side <= 0:
                where = "behind, negative" if side < 0 else "ahead, positive"
                raise InputError(f"impulses: a {name} is {where}, got {place:g} m")
            self.check_places(np.array([place]), f"a {name}")
        least = self.targets[0]
        if target < least * (1 - 1e-12):
            raise InputError(f"impulses: a target is at least {least:.4g} m ahead, got {target:g} m")
        return float(start), float(target)

    def swing(
        self, start: Any, begin: Any, size: Any, length: Any, *, bar: float | None = None, radius: float | None = None,
        below: float = 0.0, time: float | None = None, step: float = STEP, threads: int | None = None,
    ) -> Trials:  # fmt: skip
        """Make trials: up to the level again, or to within a radius of a bar on it, m ahead, the robot's own if None.

        With ``below`` they end so far below the level, m, as where a hand takes hold of a rope on it.

        Each of start, begin, size and length is a number, or an array of as many as there are trials.
        """
        given = tuple(rows("impulses", start=start, begin=begin, size=size, length=length))
        self._check_impulses(*given[1:])
        threads = chosen_threads(threads)
        time, step = positive(self.time if time is None else time, "impulses: time"), positive(step, "impulses: step")
        if finite(below, "impulses: below") < 0:
            raise InputError(f"impulses: below the level is not negative, got {below:g} m")
        if step > time:
            raise InputError(f"impulses: a step of {step:g} s is longer than the trial of {time:g} s")
        angles = self.angles(given[0])
        block, extra = self._aimed(bar, radius, step, below)
        W = _loaded((*angles, given[1], given[1] + given[3], given[2]), 0.0 if bar is None else -math.inf)
        p = np.concatenate([self.mode.values(), extra]).astype(np.float32)
        self._run(block, W, p, step, round(time / step), threads)
        return self._told(W, len(given[0]), given, bar)

    def _check_impulses(self, begin: np.ndarray, size: np.ndarray, length: np.ndarray) -> None:
        for name, values in (("begin", begin), ("length", length)):
            if values.min() < 0:
                raise InputError(f"impulses: a {name} must not be negative, got {values.min():g} s")
        if np.abs(size).max() > self.limit * (1 + 1e-9):
            raise InputError(f"impulses: a torque is beyond the limit of {self.limit:g} N m")

    def _aimed(self, bar: float | None, radius: float | None, step: float, below: float) -> tuple[Block, list[float]]:
        """The motion to the level or to a bar, and its further parameters."""
        if bar is None:
            if radius is not None:
                raise InputError(f"impulses: a radius is one about a bar, and there is none; got {radius!r} m")
            return self.level, [AHEAD * self.distances[1], step, below]
        reach = self.capture if radius is None else positive(radius, "impulses: radius")
        return self._to_bar(), [positive(bar, "impulses: bar"), 0.0, reach]

    def _run(self, block: Block, W: np.ndarray, p: np.ndarray, step: float, steps: int, threads: int | None) -> None:
        call, _ = _kicker()
        parameters = pointer_to(p)

        def run(part: range) -> None:
            for k in part:
                call(block.place, pointer_to(W[k]), parameters, step, steps)

        # small parts, so that Ctrl-C is heard
        parts = [range(first, min(first + 8, len(W))) for first in range(0, len(W), 8)]
        with ThreadPoolExecutor(threads or os.cpu_count() or 1) as pool:
            for _ in pool.map(run, parts):
                pass

    def _told(self, W: np.ndarray, count: int, given: tuple[np.ndarray, ...], bar: float | None) -> Trials:
        lanes = np.ascontiguousarray(W.transpose(1, 0, 2)).reshape(ROOM, -1)[:, :count].astype(float)
        reached, when, peak = lanes[S.HIT] >= 0, lanes[WHEN], lanes[S.PEAK]
        states = lanes[[S.Q0, S.Q1, S.V0, S.V1]]
        x, kinetic = self._ends(states)
        gone = np.where(reached, 0.0, np.nan)
        start, begin, size, length = given
        return Trials(
            start, begin, size, length, reached=reached, x=x + gone, time=when + gone, residual=kinetic + gone,
            force=np.sqrt(peak) if bar is None else np.full(count, np.nan),
            miss=np.full(count, np.nan) if bar is None else np.sqrt(np.maximum(-peak, 0.0)),
        )  # fmt: skip

    def _ends(self, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Where the hand is, and the kinetic energy, of some states."""
        mode: Reduced = self.mode
        end = self.robot.once(
            f"impulses: end {self.holds}",
            lambda: ca.Function("end", [mode.q, mode.v, mode.p], [self._hand[0], mode.kinetic]),
        )
        x, kinetic = end.map(states.shape[1])(states[:2], states[2:], np.tile(mode.values()[:, None], states.shape[1]))
        return np.array(x).ravel(), np.array(kinetic).ravel()


def _loaded(lanes: tuple[np.ndarray, ...], peak: float) -> np.ndarray:
    """Blocks of lanes at rest: angles, begin, end and size of the impulse; the last lane fills the last block."""
    count = len(lanes[0])
    blocks = -(-count // BLOCK)
    W = np.zeros((blocks, ROOM, BLOCK), dtype=np.float32)
    padded = np.minimum(np.arange(blocks * BLOCK), count - 1)
    for row, values in zip((S.Q0, S.Q1, BEGIN, END, SIZE), lanes, strict=True):
        W[:, row] = values[padded].reshape(blocks, BLOCK)
    W[:, S.HIT] = -1.0
    W[:, S.PEAK] = peak
    return W


@equal_by_content
@dataclass(frozen=True)
class Ranges:
    """From what random impulses are drawn, evenly: where the free hand starts, m behind; begin, s; length, s."""

    start: tuple[float, float] = STARTS
    begin: tuple[float, float] = BEGINS
    length: tuple[float, float] = LENGTHS

    def __post_init__(self) -> None:
        for name, pair in vars(self).items():
            object.__setattr__(self, name, rising(pair, f"ranges: {name}"))
        if self.start[1] >= 0 or self.begin[0] < 0 or self.length[0] <= 0:
            raise InputError(
                f"ranges: starts are behind, negative, begins not negative and lengths positive, got {self.start}, "
                f"{self.begin} and {self.length}"
            )


def random_impulses(
    swinger: Swinger, count: int = 165_000, seed: int = 0, ranges: Ranges | None = None, threads: int | None = None,
    time: float | None = None,
) -> Trials:  # fmt: skip
    """Random trials, as many as [yang2016, 7.3.2] makes; torques up to the limit on either side.

    A trial lasts some time, s, as long as those of the swinger if None.
    """
    count, seed = whole(count, "impulses: the number of trials", 1), whole(seed, "impulses: a seed", 0)
    ranges = Ranges() if ranges is None else ranges
    swinger.check_places(np.array(ranges.start), "a start")
    draw = np.random.default_rng(seed)
    start, begin, length = (draw.uniform(*pair, count) for pair in (ranges.start, ranges.begin, ranges.length))
    size = draw.uniform(-swinger.limit, swinger.limit, count)
    return swinger.swing(start, begin, size, length, time=time, threads=threads)
