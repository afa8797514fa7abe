"""A cycle of a gait as data for a page: its phases one after the other, as one motion."""

from __future__ import annotations

from typing import Any

import numpy as np

from saltus.gaits import Cycle
from saltus.show._curves import KINDS, axis_of
from saltus.show._points import Points, bars, ground_lines, rails, wheels
from saltus.show._record import frames, packed, plain_label


def cycle_record(cycle: Cycle, name: str = "") -> dict[str, Any]:
    """A cycle as a page shows it; its modes are its phases, its events their ends."""
    robot = cycle.gait.robot
    # a phase that takes no time has no run
    phases = [phase.name for phase in cycle.gait.phases][: len(cycle.runs)]
    whole = Points(robot)
    places = [Points(run.system) for run in cycle.runs]
    parts = [frames(run, one)[0] for run, one in zip(cycle.runs, places, strict=True)]
    ends = np.cumsum([run.end_time for run in cycle.runs])
    begins = np.concatenate([[0.0], ends[:-1]])
    t = np.concatenate([part.t + begin for part, begin in zip(parts, begins, strict=True)])
    counts = np.cumsum([len(part.t) for part in parts])
    order = [[one.names.index(name) for name in whole.names] for one in places]
    positions = [p.positions(s.x)[:, k] for p, s, k in zip(places, parts, order, strict=True)]
    velocities = [p.velocities(s.x)[:, k] for p, s, k in zip(places, parts, order, strict=True)]
    return {
        "name": name,
        "robot": robot.name,
        "status": "finished",
        "meaning": "the cycle came to its end",
        "start": 0.0,
        "end": float(ends[-1]),
        "dimension": 2,
        "t": packed(t, exact=True),
        "points": {
            "names": list(whole.names),
            "positions": packed(np.concatenate(positions)),
            "velocities": packed(np.concatenate(velocities)),
        },
        "skeleton": [list(pair) for pair in whole.skeleton],
        "wheels": [vars(wheel) for wheel in wheels(robot)],
        "ground": [vars(line) for line in ground_lines(robot)],
        "bars": [vars(bar) for bar in bars(robot)],
        "rails": [vars(rail) for rail in rails(robot)],
        "contacts": [],
        "bands": [
            {"mode": phase, "begin": float(begin), "end": float(end)}
            for phase, begin, end in zip(phases, begins, ends, strict=True)
        ],
        "events": [
            {
                "t": float(end),
                "guard": run.events[-1].guard if run.events else "clock",
                "from": phase,
                "to": after,
                "impulse": None,
                "lost": cycle.losses.get(phase),
                "frame": int(min(count, len(t) - 1)),
            }
            for phase, after, run, end, count in zip(
                phases, [*phases[1:], phases[0]], cycle.runs, ends, counts, strict=True
            )
        ],
        "plots": _plots(cycle, parts),
        "traces": [whole.names[whole.skeleton[-1][1]]] if whole.skeleton else [],
        "notes": [],
    }


def _plots(cycle: Cycle, parts: list[Any]) -> list[dict[str, Any]]:
    """Coordinates and velocities that all phases have, by their units, and the kinetic energy."""
    systems = [run.system for run in cycle.runs]
    mechanism = cycle.gait.robot.mechanism
    units = {**mechanism.coordinates, **mechanism.velocities}
    groups: dict[str, dict[str, np.ndarray]] = {}
    for name, unit in units.items():
        if all(name in system.state_names for system in systems):
            rows = [part.x[:, system.state_names.index(name)] for part, system in zip(parts, systems, strict=True)]
            groups.setdefault(unit, {})[name] = np.concatenate(rows)
    # the potential energy of a phase holds the work of its constant inputs, and is not that of the robot
    groups["J"] = {"kinetic energy": np.concatenate([part.kinetic for part in parts])}
    return [
        {
            "title": KINDS.get(unit, "state"),
            "axis": axis_of(unit),
            "series": [{"name": n, "label": plain_label(n), "values": packed(row)} for n, row in rows.items()],
            "lines": [],
        }
        for unit, rows in groups.items()
    ]
