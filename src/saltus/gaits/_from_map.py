"""Fixed points from a map of the error: from each of its minima, without a guess made by hand."""

from __future__ import annotations

from saltus.errors import SaltusError
from saltus.gaits._fixed import FixedPoint, solve
from saltus.gaits._map import ErrorMap

# Fixed points nearer than this to each other are one.
SAME = 1e-6


def fixed_points(found: ErrorMap, *, most: int = 20, below: float = 1.0) -> list[FixedPoint]:
    """All fixed points to which the minima of a map lead, the least unstable by the clock first.

    Those that graze are among them: they lose nothing (see `collisionless`).
    """
    gait = found.gait
    points: list[FixedPoint] = []
    for cell in found.minima(most, below):
        values = {found.x_name: cell.x, found.y_name: cell.y}
        start = {name: value for name, value in values.items() if name in gait.free}
        knobs = {**found.knobs, **{name: value for name, value in values.items() if name in gait.knobs}}
        try:
            point = solve(gait, start, knobs)
        except SaltusError:
            continue
        known = any(all(abs(point.start[name] - other.start[name]) < SAME for name in gait.free) for other in points)
        if not known:
            points.append(point)
    return sorted(points, key=lambda point: abs(point.multipliers_timed[0]))
