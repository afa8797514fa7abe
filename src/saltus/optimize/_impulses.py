"""Swings by one torque impulse [yang2016, 7.3]: many trials at once, each lane under its own impulse."""

from __future__ import annotations

import ctypes
import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from numba import types

from saltus._native import FLOATS, compile_entry, ctypes_entry, pointer_to
from saltus.contact import Grip
from saltus.control._hands import one_motor, two_hands
from saltus.control._protocol import finite
from saltus.engine import _single as S
from saltus.engine._reduced import Reduced, reduced
from saltus.engine._single import BLOCK, Aim, Block, call_move
from saltus.errors import InputError
from saltus.hybrid import HybridSystem

# Rows of a block after those of its motion: when the impulse begins and ends, its size, when the goal was met.
BEGINS, ENDS, SIZE, WHEN, ROOM = range(S.ROWS, S.ROWS + 5)

# A swing is over ahead of the hand that holds by at least this, m: not where it began.
AHEAD = 0.2

# How long a trial lasts, and its steps, s [yang2016, 7.3].
TIME, STEP = 1.2, 1e-3

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
            on = (t >= W[BEGINS * BLOCK + l]) & (t < W[ENDS * BLOCK + l])
            W[S.U * BLOCK + l] = W[SIZE * BLOCK + l] if on else np.float32(0.0)
        call_move(move, W, p, h, 1)
        for l in range(BLOCK):
            new = (W[S.HIT * BLOCK + l] >= np.float32(0.0)) & (W[WHEN * BLOCK + l] < np.float32(0.0))
            W[WHEN * BLOCK + l] = t if new else W[WHEN * BLOCK + l]
    return 0


@lru_cache(maxsize=1)
def _kicker() -> tuple[Any, Any]:
    key = Path(__file__).read_text() + Path(S.__file__).read_text()
    entry = compile_entry(kick, KICK, "kick", key)
    kinds = [ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_float, ctypes.c_int64]
    return ctypes_entry(entry, ctypes.c_int32, kinds), entry


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
        Whether the hand came to the level again, ahead; or, if there was a bar, to that.
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


class Swinger:
    """Swings of a robot of two links that hangs by its first hand, each by one impulse, in compiled blocks.

    Parameters
    ----------
    robot
        Hangs by the first of its two grips; the other lets go at a place on the same level, at rest.
    """

    def __init__(self, robot: HybridSystem):
        one_motor(robot, "impulses")
        self.robot = robot
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
        hand = self._hand
        self.level = Block(
            self.mode, Aim(ca.fmax(-hand[1], AHEAD - hand[0]), ca.SX(1), watched=self._force), "leapfrog"
        )
        self._bar: Block | None = None
        self.capture = float(robot.values.get("capture", 0.025))

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
        l1, l2 = self.robot.values["L1"], self.robot.values["L2"]
        away = np.abs(start)
        if not ((away < l1 + l2) & (away > abs(l1 - l2))).all():
            worst = float(start[np.argmax(np.abs(away - (l1 + abs(l1 - l2) + l2) / 2))])
            raise InputError(
                f"impulses: the free hand of {self.robot.name} can be from {abs(l1 - l2):g} to {l1 + l2:g} m away, and "
                f"a start is at {worst:g} m"
            )
        bend = np.arccos((away**2 - l1 * l1 - l2 * l2) / (2 * l1 * l2))
        inner = np.arccos((away**2 + l1 * l1 - l2 * l2) / (2 * l1 * away))
        # to the right: the link hangs below the way to the hand, by the inner angle
        side = np.where(start < 0, -1.0, 1.0)
        return np.stack([side * (math.pi / 2 - inner), side * bend])

    def swing(
        self, start: Any, begin: Any, size: Any, length: Any, *, bar: float | None = None, radius: float | None = None,
        time: float = TIME, step: float = STEP, threads: int | None = None,
    ) -> Trials:  # fmt: skip
        """Make trials: to the level again, or to within a radius of a bar on it, m ahead, the robot's own if None."""
        given = np.broadcast_arrays(
            *(np.atleast_1d(np.asarray(one, dtype=float)) for one in (start, begin, size, length))
        )
        start, begin, size, length = (np.ascontiguousarray(one) for one in given)
        if not all(np.isfinite(one).all() for one in given):
            raise InputError("impulses: starts, times and sizes are finite numbers")
        if np.abs(size).max() > self.limit * (1 + 1e-9):
            raise InputError(f"impulses: a torque is beyond the limit of {self.limit:g} N m")
        if finite(time, "impulses: time") <= 0 or finite(step, "impulses: step") <= 0:
            raise InputError("impulses: time and step must be positive")
        block, extra = (self.level, []) if bar is None else (self._to_bar(), [bar, 0.0, radius or self.capture])
        p = np.concatenate([self.mode.values(), extra]).astype(np.float32)
        count = len(start)
        blocks = -(-count // BLOCK)
        W = np.zeros((blocks, ROOM, BLOCK), dtype=np.float32)
        padded = np.minimum(np.arange(blocks * BLOCK), count - 1)
        rows = [*self.angles(start), begin, begin + length, size]
        for row, values in zip((S.Q0, S.Q1, BEGINS, ENDS, SIZE), rows, strict=True):
            W[:, row] = values[padded].reshape(blocks, BLOCK)
        W[:, S.HIT] = -1.0
        W[:, S.PEAK] = 0.0 if bar is None else -np.inf
        self._run(block, W, p, step, round(time / step), threads)
        return self._told(W, count, (start, begin, size, length), bar)

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


@dataclass(frozen=True)
class Ranges:
    """From what random impulses are drawn, evenly: where the free hand starts, m behind; begin, s; length, s."""

    start: tuple[float, float] = (-0.60, -0.40)
    begin: tuple[float, float] = (0.0, 0.6)
    length: tuple[float, float] = (0.02, 0.5)

    def __post_init__(self) -> None:
        for name, pair in vars(self).items():
            low, high = pair
            if not finite(low, f"ranges: {name}") < finite(high, f"ranges: {name}"):
                raise InputError(f"ranges: {name} must rise, got {low:g} to {high:g}")
        if self.start[1] >= 0 or self.begin[0] < 0 or self.length[0] <= 0:
            raise InputError("ranges: starts are behind, and times are positive")


def random_impulses(
    swinger: Swinger, count: int = 165_000, seed: int = 0, ranges: Ranges | None = None, threads: int | None = None
) -> Trials:
    """Random trials, as many as [yang2016, 7.3.2] makes; torques up to the limit on either side."""
    if isinstance(count, bool) or not isinstance(count, int) or count < 1:
        raise InputError(f"impulses: a positive number of trials is wanted, got {count!r}")
    ranges = Ranges() if ranges is None else ranges
    draw = np.random.default_rng(seed)
    start, begin, length = (draw.uniform(*pair, count) for pair in (ranges.start, ranges.begin, ranges.length))
    return swinger.swing(start, begin, draw.uniform(-swinger.limit, swinger.limit, count), length, threads=threads)
