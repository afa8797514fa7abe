"""A run as data for a page: where its points are, what acts on it, its curves, modes and events."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from saltus.engine import Trajectory
from saltus.engine._trajectory import Samples
from saltus.show._curves import Curves, curves, own_curves
from saltus.show._modes import bands_of
from saltus.show._points import Contact, Points, bars, closed, contacts, ground_lines, rails, wheels

# Frames for a second of motion, of any motion at least, of one at most; and how many bytes they may take on a page.
RATE, FEWEST, MOST_FRAMES, MOST_BYTES = 120.0, 400, 10_000, 2_500_000
# Events that are listed, and modes that are shown; the others are counted.
MOST_EVENTS = 10_000
# What a drawing may be off by, as a share of what it shows, before the page says so.
OFF = 1e-3
# Larger numbers do not fit into four bytes.
LARGEST = 1e37


def run_record(run: Trajectory, name: str = "", series: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """A run as a page shows it; ``notes`` say what was left out.

    Parameters
    ----------
    series
        Quantities of your own, ``{"height (m)": values}``, a value for each of ``run.t``.
    """
    points = Points(run.system)
    samples, notes = frames(run, points)
    places, speeds = points.full_positions(samples.x), points.full_velocities(samples.x)
    notes += _doubts(run, points, samples.t, places, speeds)
    groups = [*curves(run, samples), *own_curves(run, samples.t, series or {})]
    events, listed = run.events[:MOST_EVENTS], len(run.events)
    if listed > len(events):
        notes.append(f"Only the first {len(events):,} of {listed:,} events are listed.")
    return {
        "name": name,
        "robot": run.system.name,
        "status": run.status.name,
        "meaning": run.status.meaning,
        "start": run.start_time,
        "end": run.end_time,
        "dimension": run.system.mechanism.dimension,
        "t": packed(samples.t, exact=True),
        "points": {
            "names": list(points.names),
            "positions": packed(places, exact=_far_away(places)),
            "velocities": packed(speeds),
        },
        "skeleton": [list(pair) for pair in points.skeleton],
        "wheels": [vars(wheel) for wheel in wheels(run.system)],
        "ground": [vars(line) for line in ground_lines(run.system)],
        "bars": [vars(bar) for bar in bars(run.system)],
        "rails": [vars(rail) for rail in rails(run.system)],
        "contacts": [_contact(contact, run, samples) for contact in contacts(run.system)],
        "bands": _bands(run),
        "events": [_event(event, samples.t) for event in events],
        "plots": [_plot(group) for group in groups],
        "traces": [points.names[points.skeleton[-1][1]]] if points.skeleton else [],
        "notes": notes,
    }


def packed(values: Any, *, exact: bool = False) -> dict[str, str]:
    """Numbers as text: those of four bytes, or of eight if they are to be exact or do not fit."""
    flat = np.ascontiguousarray(values, dtype=float).reshape(-1)
    finite = flat[np.isfinite(flat)]
    wide = exact or (finite.size > 0 and float(np.abs(finite).max()) > LARGEST)
    kind = "f64" if wide else "f32"
    return {kind: _text(flat.astype("<f8" if wide else "<f4"))}


def _bands(run: Trajectory) -> list[dict[str, Any]]:
    """Modes and their times; of too many the rest is one stretch that names none."""
    made = [vars(band) for band in bands_of(run)]
    if len(made) <= MOST_EVENTS:
        return made
    return [*made[:MOST_EVENTS], {"mode": "many modes", "begin": made[MOST_EVENTS]["begin"], "end": run.end_time}]


def _far_away(places: np.ndarray) -> bool:
    """Whether places are so far from the origin, for how far they are apart, that four bytes do not tell them apart."""
    known = places[np.isfinite(places).all(axis=(1, 2))]
    if not known.size:
        return False
    size = float(np.ptp(known, axis=1).max()) or float(np.ptp(known, axis=0).max())
    return float(np.abs(known).max()) > 1e3 * size


def _doubts(run: Trajectory, points: Points, t: np.ndarray, places: np.ndarray, speeds: np.ndarray) -> list[str]:
    """What a page cannot show truly: a motion too fast for its frames, or a robot that has nothing to be drawn."""
    if not points.skeleton:
        return [f"{run.system.name} has no skeleton: only its points and its world can be drawn."]
    middle, step = 0.5 * (t[1:] + t[:-1]), np.diff(t)
    some = np.flatnonzero(step > 0)[:: max(1, len(t) // 200)]
    if not some.size:
        return []
    h = step[some, None, None]
    drawn = 0.5 * (places[some] + places[some + 1]) + 0.125 * h * (speeds[some] - speeds[some + 1])
    off = np.abs(drawn - points.full_positions(run.at(middle[some])))
    off = float(off[np.isfinite(off)].max(initial=0.0))
    size = float(np.ptp(places[np.isfinite(places).all(axis=(1, 2))], axis=(0, 1)).max(initial=0.0))
    if off <= OFF * size:
        return []
    return [f"The run is too long for its frames: between them what is drawn is off by up to {off:.2g} m."]


def _text(values: np.ndarray) -> str:
    return base64.b64encode(values.tobytes()).decode()


def frames(run: Trajectory, points: Points) -> tuple[Samples, list[str]]:
    """Everything at equal times and on both sides of each event, as many as a page can carry."""
    length = run.end_time - run.start_time
    system = run.system
    columns = 4 * len(points.names) + 2 * len(system.state_names) + 3 * len(system.row_names) + 24
    most = max(FEWEST, min(MOST_FRAMES, MOST_BYTES // (6 * columns)))
    count = min(max(FEWEST, math.ceil(RATE * length)), most)
    samples = replace(run, output_step=length / count if length > 0 else 1.0).samples
    if len(samples.t) <= 2 * most:
        return samples, []
    # so many events that not even they fit: every so many samples, and the last
    chosen = np.unique(np.append(np.arange(0, len(samples.t), -(-len(samples.t) // most)), len(samples.t) - 1))
    note = f"{len(run.events):,} events are more than this page can draw: it shows {len(chosen):,} instants of the run."
    return Samples(**{name: values[chosen] for name, values in vars(samples).items()}), [note]


def _contact(contact: Contact, run: Trajectory, samples: Samples) -> dict[str, Any]:
    """Where the world pushes the robot, and with which force, in the world's directions."""
    held = closed(run.arc_statuses[samples.arc], contact)
    return {
        "name": contact.name,
        "kind": contact.kind,
        "point": contact.point,
        "angle": contact.angle,
        "radius": contact.radius,
        "forces": packed(np.where(held[:, None], contact.forces(samples.forces, samples.x), 0.0)),
        "closed": {"u8": _text(held.astype("u1"))},
    }


def _event(event: Any, t: np.ndarray) -> dict[str, Any]:
    struck = any(event.impulse.values())
    return {
        "t": event.t,
        "guard": event.guard,
        "from": event.mode_before,
        "to": event.mode_after,
        "impulse": {name: value for name, value in event.impulse.items() if value} if struck else None,
        "lost": event.energy_lost if struck else None,
        "frame": min(int(np.searchsorted(t, event.t, side="right")) - 1, len(t) - 1),
    }


def _plot(group: Curves) -> dict[str, Any]:
    return {
        "title": group.title,
        "axis": group.axis,
        "series": [
            {"name": name, "label": plain_label(name), "values": packed(values)} for name, values in group.rows.items()
        ],
        "lines": [{"y": level, "label": text} for text, level in group.levels.items() if math.isfinite(level)],
        **({"note": group.note} if group.note else {}),
    }


_GREEK = {"theta": "θ", "phi": "φ", "psi": "ψ", "alpha": "α", "omega": "ω"}  # noqa: RUF001
_BELOW = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


def plain_label(name: str) -> str:
    """A quantity's name in letters that need no typesetting."""
    for word, sign in _GREEK.items():
        for dot, prefix in (("d", "d"), ("", "")):
            if name.startswith(dot + word) and name[len(dot + word) :].isdigit() | (name == dot + word):
                index = name[len(dot + word) :].translate(_BELOW)
                return f"{prefix}{sign}{index}/dt" if prefix else f"{sign}{index}"
    return name.replace("_", " ")
