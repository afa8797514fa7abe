"""Sampling a finished run: states, forces, inputs and energies anywhere on the recorded steps."""

from __future__ import annotations

from typing import Any

from saltus._native import compiled
from saltus.engine import _layout as L
from saltus.engine._flow import energies, flow, make_plan
from saltus.engine._guards import kinematics
from saltus.engine._tableau import Tableau, dense_at

STATES, EVERYTHING = range(2)


def make_sample(tableau: Tableau) -> Any:
    """The sampler for one method, ready to be compiled as an entry point."""

    def sample(I, D, steps, index, fraction, count, statuses, out, what):
        """Write a row per sample: state and integrals; then forces, inputs, energies, gaps, row speeds."""
        ny, nr, nu, nunit = I[L.NY], I[L.NROW], I[L.NU], I[L.NUNIT]
        wide = ny if what == STATES else ny + nr + nu + 2 + 2 * nunit + nr + I[L.NUSER]
        arc = -1
        for k in range(count):
            row, start = index[k] * I[L.STEP_ROW], k * wide
            dense_at(steps, row + L.S_VECTORS + nu, I[L.N], I[L.NRC], fraction[k], out, start)
            if what == STATES:
                continue
            t = steps[row + L.S_TIME] + fraction[k] * steps[row + L.S_LENGTH]
            I[L.PIECE] = int(steps[row + L.S_PIECE])
            if int(steps[row + L.S_ARC]) != arc:
                arc = int(steps[row + L.S_ARC])
                for unit in range(nunit):
                    I[I[L.STATUS] + unit] = statuses[arc * nunit + unit]
                make_plan(I, D)
            y = I[L.Y]
            for i in range(ny):
                D[y + i] = out[start + i]
            for i in range(nu):
                D[I[L.U] + i] = steps[row + L.S_VECTORS + i]
            code = flow(I, D, t, y, I[L.K], I[L.LAM])
            if code != 0:
                return code
            energies(I, D, t, y)
            kinematics(I, D, t, y)
            start += ny
            start = copy(D, I[L.LAM], out, start, nr)
            start = copy(D, I[L.U], out, start, nu)
            start = copy(D, I[L.ENERGIES], out, start, 2)
            start = copy(D, I[L.GAP], out, start, 2 * nunit + nr + I[L.NUSER])
        return 0

    return sample


@compiled
def copy(D, source, out, start, n):
    """Copy n numbers and return where they end."""
    for i in range(n):
        out[start + i] = D[source + i]
    return start + n
