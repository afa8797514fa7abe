"""Figures of many swings: when hands caught, and the state just before."""

from __future__ import annotations

import numpy as np

from saltus.contact._grip import CLOSED
from saltus.engine import Batch, Figures
from saltus.engine._cases import columns
from saltus.hybrid import HybridSystem
from saltus.studies._swing_tasks import hand_places

# States of two links that float, catches that are kept, and what is kept of each: time, hand, state just before.
_STATES, _ROOM = 8, 64
_WIDTH = 2 + _STATES

# What is counted: catches; hands that hold at the end.
_COUNT, _HOLD, _FIRST = 0, 1, 2


def catches(moment, t, before, after, old, new, guard, p, out):  # type: ignore[no-untyped-def]
    """Note every event from which on both hands hold; of too many, the last is kept."""
    if moment == 1 and new[0] == CLOSED and new[1] == CLOSED and (old[0] != CLOSED or old[1] != CLOSED):
        place = _FIRST + _WIDTH * min(int(out[_COUNT]), _ROOM - 1)
        out[_COUNT] += 1.0
        out[place] = t
        out[place + 1] = 0.0 if old[0] != CLOSED else 1.0
        for k in range(_STATES):
            out[place + 2 + k] = before[k]
    if moment == 2:
        for hand in range(2):
            out[_HOLD] += 1.0 if new[hand] == CLOSED else 0.0
    return 0


CATCHES = Figures(("catches", "hold", *(f"catch {k}: {what}" for k in range(_ROOM) for what in range(_WIDTH))), catches)


class Caught:
    """All catches of a batch: a row for each run, not a number where there is none.

    ``count`` of catches, ``hold`` how many hands hold at the end; ``times``, s, and ``residuals``, kinetic energy just
    before, J, of each catch; ``bars`` by number, -1 for none.
    """

    def __init__(self, batch: Batch, system: HybridSystem):
        table = np.column_stack([batch.figures[name] for name in CATCHES.names])
        self.count, self.hold = table[:, _COUNT].copy(), table[:, _HOLD]
        rows = table[:, _FIRST:].reshape(len(table), _ROOM, _WIDTH)
        # a catch that ends a run is its last event and changes nothing any more: one hand still holds, and no more
        ended = np.flatnonzero((batch.status == "terminal") & (self.hold == 1) & (self.count < _ROOM))
        last = self.count[ended].astype(int)
        rows[ended, last, 0], rows[ended, last, 1] = batch.t_end[ended], 1.0
        rows[ended, last, 2:] = batch.states[ended]
        self.count[ended] += 1
        there = np.arange(_ROOM)[None, :] < np.nan_to_num(self.count)[:, None]
        self.times = np.where(there, rows[:, :, 0], np.nan)
        self.residuals = np.full(there.shape, np.nan)
        self.bars = np.full(there.shape, -1)
        if not there.any():
            return
        run, _ = np.nonzero(there)
        hands, kinetic = columns(hand_places(system), rows[there][:, 2:], batch.cases.parameters[run])
        self.residuals[there] = kinetic[:, 0]
        which = rows[there][:, 1].astype(int)
        caught = hands.reshape(-1, 2, 2)[np.arange(len(run)), which]
        self.bars[there] = _nearest(batch, caught, run)


def _nearest(batch: Batch, places: np.ndarray, run: np.ndarray) -> np.ndarray:
    """Numbers of the bars nearest to places, each in the world of its run."""
    parameters = batch.parameters
    count = sum(f"bar{k}_x" in parameters for k in range(len(parameters)))
    centres = np.stack([[parameters[f"bar{k}_{axis}"] for axis in "xy"] for k in range(count)])[:, :, run]
    return np.asarray(np.linalg.norm(centres - places.T[None], axis=1).argmin(axis=0))
