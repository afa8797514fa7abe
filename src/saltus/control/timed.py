"""The open-loop controller of [ufford2009, 5.2]: exchange hands and drive the motor by the clock, over and over."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from saltus._content import equal_by_content
from saltus.contact._grip import CLOSED
from saltus.contact._unit import CLOSE, RELEASE
from saltus.control._function import bind_compiled
from saltus.control._hands import one_motor, sign_of, two_hands
from saltus.control._protocol import check_limit, check_period, finite
from saltus.engine import Control, ControlParameter
from saltus.engine import _layout as L
from saltus.errors import InputError
from saltus.hybrid import HybridSystem

# Data: hands, the sign of torques while the first holds, cycles, swaps in a cycle, pieces in a cycle; for
# each piece the number of its torque and how often hands were exchanged in the cycle until then;
# torques, the first of which is none.
HEAD = 6

# Pieces of all cycles, each of which has its break: as many as are made in a moment.
MOST = 10_000_000


def law(t, x, status, memory, p, data, piece, u, request):
    u[0] = 0.0
    if piece == 0:
        return 0
    cycles, swaps, pieces = int(data[3]), int(data[4]), int(data[5])
    cycle, k = (piece - 1) // pieces, (piece - 1) % pieces
    number, done = int(data[HEAD + 2 * k]), cycle * swaps + int(data[HEAD + 2 * k + 1])
    if cycle >= cycles:
        number, done = 0, cycles * swaps
    turn = done % 2
    torque = data[2] * data[HEAD + 2 * pieces + number]
    u[0] = -torque if turn == 1 else torque
    request[int(data[turn])] = CLOSE
    request[int(data[1 - turn])] = RELEASE
    return 0


@equal_by_content
@dataclass(frozen=True)
class Timed:
    """Exchange hands ``swap_t`` after the start of every cycle, then drive the motor for ``motor_t``; repeat.

    For robots with two grips and one motor. Hands are exchanged at one instant: one closes as the other
    opens, an impact with the new one alone.

    Parameters
    ----------
    swap_t
        When hands are exchanged, s from the start of the cycle; several times if it happens more than once.
    cycle_t
        How long a cycle is, s.
    motor_t, torque
        How long the motor acts after each exchange, s, and how strongly, N m. All torques are on the joint as seen
        from the hand that holds: as they are while the robot's first grip does, with the other sign while the second
        does.
    torques
        In place of these two, pairs of a time in the cycle and a torque, of any sign, that acts from then until the
        next or the end of the cycle.
    initial_t
        When the first cycle begins, s.
    period
        Times in the cycle and its length are rounded to multiples of it, s, so that all cycles are alike; None or 0
        for exact times.
    hands
        The two grips; the first holds when the first cycle begins. If none are named, it is the one that the
        robot itself begins with.
    cycles
        How many there are; after the last, the motor rests.
    """

    swap_t: float | Sequence[float]
    cycle_t: float
    motor_t: float = 0.0
    torque: float = 0.0
    torques: Sequence[tuple[float, float]] = ()
    initial_t: float = 0.0
    period: float | None = 1e-3
    hands: Sequence[str] = ()
    cycles: int = 1000

    @staticmethod
    def of(cycle: Any, cycles: int = 1000, period: float | None = None) -> Timed:
        """By the clock what a cycle of a gait did (see `saltus.gaits.run_cycle`), at its own times.

        Several cycles, each of which begins where the last ended, make one long one. Hands are exchanged
        where a phase begins with other names of the robot's parts.
        """
        row = list(cycle) if isinstance(cycle, Iterable) else [cycle]
        if not row:
            raise InputError("timed: no cycle is given")
        gait = row[0].gait
        held = {phase.holds for one in row for phase in one.gait.phases}
        if len(held) != 1 or None in held:
            raise InputError(f"gait {gait.name}: hands are exchanged by the clock only if one holds at all times")
        motor, first = one_motor(gait.robot, "timed"), held.pop()
        hands = (first, *(name for name in two_hands(gait.robot, (), "timed") if name != first))
        sign, now = sign_of(gait.robot, hands), 0.0
        swaps, torques = [], []
        for one in row:
            starts = (now, *(now + end for end in one.times.values()))
            swaps += [start for start, phase in zip(starts, one.gait.phases, strict=False) if phase.relabel]
            values = [sign * run.system.values[f"input {motor}"] for run in one.runs]
            torques += list(zip(starts, values, strict=False))
            now = starts[-1]
        if gait.phases[0].relabel:  # the first cycle begins as hands have been exchanged
            hands = hands[::-1]
        return Timed(tuple(swaps), now, torques=tuple(torques), period=period, hands=hands, cycles=cycles)

    @staticmethod
    def replay(run: Any, cycles: int = 1) -> Timed:
        """By the clock what a sampled controller did in a run, which is one cycle."""
        system, control, rows = run.system, run.control, run.step_rows
        if control.kind != L.SAMPLED:
            raise InputError(f"only what a sampled controller did is repeated by the clock; {control.name} is none")
        one_motor(system, "timed")
        hands = two_hands(system, (), "timed")
        names = [unit.name for unit in system.units]
        statuses = run.arc_statuses[rows[:, L.S_ARC].astype(int)]
        closed = statuses[:, [names.index(name) for name in hands]] == CLOSED
        if (closed.sum(axis=1) != 1).any():
            raise InputError(f"what {control.name} did is repeated by the clock only if one hand holds at all times")
        # seen from the hand that holds; and no negative zeros
        sign = np.where(closed[:, 0], 1, -1) * sign_of(system, hands)
        times, torques = rows[:, L.S_TIME] - run.start_time, sign * rows[:, L.S_VECTORS] + 0.0
        swaps = np.flatnonzero(np.diff(closed[:, 0])) + 1
        starts = np.append(0, np.flatnonzero(np.diff(torques)) + 1)
        return Timed(
            swap_t=tuple(times[swaps].tolist()),
            cycle_t=run.end_time - run.start_time,
            torques=tuple(zip(times[starts].tolist(), torques[starts].tolist(), strict=True)),
            initial_t=run.start_time,
            period=None,
            hands=hands if closed[0, 0] else hands[::-1],
            cycles=cycles,
        )

    def bind(self, system: HybridSystem) -> Control:
        one_motor(system, "timed")
        names = [unit.name for unit in system.units]
        hands = two_hands(system, self.hands, "timed")
        begin, swaps, cycle = self._clock()
        pieces, values = self._motor(swaps, cycle)
        check_limit(system, 0, max(values, key=abs), "timed")
        starts = sorted({0.0, *swaps, *(start for start, _ in pieces)})
        table = [[_last(pieces, start), sum(swap <= start for swap in swaps)] for start in starts]
        places = [names.index(name) for name in hands]
        head = [*places, sign_of(system, hands), self.cycles, len(swaps), len(starts)]
        data = np.concatenate([head, np.ravel(table), values])
        if self.cycles * len(starts) > MOST:
            raise InputError(
                f"timed: {self.cycles} cycles of {len(starts)} pieces each are more than a run needs: at most {MOST} "
                "pieces are possible"
            )
        counts = np.append(np.arange(self.cycles)[:, None] * cycle + np.array(starts), self.cycles * cycle)
        # whole numbers of periods, or seconds
        breaks = (begin + counts) * (self.period or 1.0)
        if (np.diff(breaks) <= 4 * np.spacing(breaks[-1])).any():
            raise InputError("timed: swaps and torques of a cycle are too near to each other to be told apart")
        first, single = HEAD + 2 * len(starts), not self.torques
        named = [ControlParameter("torque" if single else f"torque{k}", (first + k,)) for k in range(1, len(values))]
        return bind_compiled(law, data, breaks=breaks, name="timed", parameters=named)

    def _clock(self) -> tuple[float, list[float], float]:
        """When the first cycle begins, when in a cycle hands are exchanged, and how long it is; all checked."""
        if not isinstance(self.cycles, int) or self.cycles < 1:
            raise InputError(f"timed: cycles must be a positive whole number, got {self.cycles!r}")
        begin, cycle = self._time(self.initial_t, "initial_t"), self._time(self.cycle_t, "cycle_t")
        if cycle == 0:
            raise InputError(f"timed: cycle_t must be positive{self._rounding()}, got {self.cycle_t!r}")
        given = [self.swap_t] if isinstance(self.swap_t, Real) else self.swap_t
        if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
            raise InputError(f"timed: swap_t is a time or several, got {self.swap_t!r}")
        swaps = [self._time(swap, "swap_t") for swap in given]
        if any(b <= a for a, b in itertools.pairwise(swaps)) or any(swap >= cycle for swap in swaps):
            raise InputError(
                f"timed: hands are exchanged at times within a cycle of {self.cycle_t:g} s, one after the other"
                f"{self._rounding()}, got {', '.join(f'{swap:g}' for swap in given)}"
            )
        return begin, swaps, cycle

    def _motor(self, swaps: list[float], cycle: float) -> tuple[list[tuple[float, int]], list[float]]:
        """From when in a cycle which torque acts, and these torques, the first of which is none."""
        length, torque = self._time(self.motor_t, "motor_t"), finite(self.torque, "timed: torque")
        if len(self.torques):
            if self.motor_t or self.torque:
                raise InputError("timed: give motor_t and torque, or torques, not both")
            return self._pieces(cycle)
        if not swaps:
            raise InputError("timed: neither swaps nor torques are given; motor_t and torque are for after a swap")
        if torque < 0:
            raise InputError(f"timed: torque must not be negative, got {torque:g} N m; torques may be")
        for swap, end in zip(swaps, [*swaps[1:], cycle], strict=True):
            if swap + length > end * (1 + 1e-12):
                unit = self.period or 1.0
                raise InputError(
                    f"timed: the motor would act for {length * unit:g} s after the swap at {swap * unit:g} s, but the "
                    f"{'cycle ends' if end == cycle else 'next swap is'} at {end * unit:g} s"
                )
        # where it would stop as hands are exchanged again, the motor goes on
        pieces = {swap + length: 0 for swap in swaps if swap + length < cycle} | dict.fromkeys(swaps, 1)
        return sorted(pieces.items()) if length > 0 else [], [0.0, torque]

    def _pieces(self, cycle: float) -> tuple[list[tuple[float, int]], list[float]]:
        try:
            pairs = [(start, value) for start, value in self.torques]
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"timed: torques are pairs of a time and a torque, got {self.torques!r}") from None
        starts = [self._time(start, "a torque's start") for start, _ in pairs]
        values = [finite(value, "timed: a torque") for _, value in pairs]
        if any(b < a for a, b in itertools.pairwise(starts)) or starts[-1] > cycle:
            raise InputError(
                f"timed: torques begin at times within a cycle of {self.cycle_t:g} s, one after the other, "
                f"got {', '.join(f'{start:g}' for start, _ in pairs)}"
            )
        pieces = [(start, k + 1) for k, start in enumerate(starts) if start < cycle]
        return pieces, [0.0, *values]

    def _time(self, value: Any, what: str) -> float:
        """A time that is not negative: in seconds, or a whole number of periods."""
        time = finite(value, f"timed: {what}")
        if time < 0:
            raise InputError(f"timed: {what} must not be negative, got {time:g} s")
        return float(round(time / check_period(self.period))) if self.period else time

    def _rounding(self) -> str:
        return f" (rounded to multiples of {self.period:g} s)" if self.period else ""


def _last(pieces: list[tuple[float, int]], time: float) -> int:
    """Which torque acts at a time in the cycle."""
    return next((number for start, number in reversed(pieces) if start <= time), 0)


CONTROLLER = Timed
EXAMPLE = {"swap_t": 0.12, "cycle_t": 0.2, "motor_t": 0.03, "torque": 0.66}
