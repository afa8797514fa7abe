"""Records of runs with motions in closed form, as pages show them."""

import base64

import numpy as np

LENGTHS = (0.5, 0.4)


def packed(values, kind="f64"):
    """Numbers as base64 of their bytes."""
    form = {"f32": "<f4", "f64": "<f8", "u8": "u1"}[kind]
    return {kind: base64.b64encode(np.ascontiguousarray(values, form).tobytes()).decode()}


def unpacked(array):
    """Numbers from base64 of their bytes, f64."""
    return np.frombuffer(base64.b64decode(array["f64"]), "<f8")


def double_pendulum(t, amplitude=0.9):
    """Angles of two links that swing as sines, and their rates."""
    first, second = amplitude * np.sin(3.0 * t), 0.7 * np.sin(5.0 * t + 0.4)
    return np.stack([first, second], axis=-1), np.stack(
        [3.0 * amplitude * np.cos(3.0 * t), 3.5 * np.cos(5.0 * t + 0.4)], axis=-1
    )


def places(t, amplitude=0.9):
    """Where the pivot, the elbow and the hand are, and how fast: arrays of (..., 3, 2)."""
    angles, rates = double_pendulum(np.asarray(t, float), amplitude)
    position = np.zeros((*angles.shape[:-1], 3, 2))
    velocity = np.zeros_like(position)
    position[..., 0, 1] = 1.2
    for k, length in enumerate(LENGTHS):
        arm = length * np.stack([np.sin(angles[..., k]), -np.cos(angles[..., k])], axis=-1)
        turn = length * rates[..., k, None] * np.stack([np.cos(angles[..., k]), np.sin(angles[..., k])], axis=-1)
        position[..., k + 1, :] = position[..., k, :] + arm
        velocity[..., k + 1, :] = velocity[..., k, :] + turn
    return position, velocity


def times(end, frames, event_times):
    """Times of frames, each event's twice, and the frame after each event."""
    plain = np.setdiff1d(np.linspace(0.0, end, frames), event_times)
    t = np.sort(np.concatenate([plain, np.repeat(event_times, 2)]))
    return t, np.searchsorted(t, event_times, side="right") - 1


def run_record(
    name="swing",
    *,
    end=3.0,
    frames=301,
    events=5,
    plots=3,
    amplitude=0.9,
    points=("pivot", "elbow", "hand"),
    trace=True,
):
    """A run of two links from a pivot, with contacts, modes and events at even times."""
    event_times = end * np.arange(1, events + 1) / (events + 1)
    t, after = times(end, frames, event_times) if frames > 1 else (np.zeros(1), np.zeros(0, int))
    position, velocity = places(t, amplitude)
    angles, rates = double_pendulum(t, amplitude)
    which = np.searchsorted(event_times, t, side="right")
    which[after - 1] = np.arange(events)
    modes = ["swing", "hold", "catch and hold"]
    edges = [0.0, *event_times, end]
    force = np.stack([4.0 * np.sin(3 * t), 12.0 + 5.0 * np.cos(6 * t)], axis=-1)
    ratio = np.where(np.sin(6 * t) > 0.2, np.tan(angles[:, 0]), np.nan)
    shapes = [
        ("angles", "angle (rad)", [("theta1", "θ₁", angles[:, 0]), ("theta2", "θ₂", angles[:, 1])], []),
        ("rates", "angular rate (rad/s)", [("dtheta1", "θ̇₁", rates[:, 0]), ("dtheta2", "θ̇₂", rates[:, 1] + which)], []),
        ("force ratio", "force ratio (1)", [("P", "P", ratio)], [{"y": 0.8, "label": "friction"}]),
    ]
    return {
        "name": name,
        "robot": "links",
        "status": "reached_end",
        "meaning": "the end of the time asked for",
        "start": float(t[0]),
        "end": float(t[-1]),
        "dimension": 2,
        "t": packed(t),
        "points": {"names": list(points), "positions": packed(position), "velocities": packed(velocity)},
        "skeleton": [[0, 1], [1, 2]],
        "wheels": [{"point": 2, "radius": 0.08}],
        "ground": [{"x": 0.0, "y": 0.1, "angle": 0.05}],
        "bars": [{"x": 0.0, "y": 1.2}, {"x": 0.6, "y": 1.2}],
        "contacts": [
            {
                "name": "grip",
                "kind": "grip",
                "point": 0,
                "forces": packed(np.where((which % 2 == 0)[:, None], force, 0.0), "f32"),
                "closed": packed(which % 2 == 0, "u8"),
            }
        ],
        "bands": [
            {"mode": modes[k % 3], "begin": edges[k], "end": edges[k + 1]} for k in range(len(edges) - 1) if frames > 1
        ],
        "events": [
            {
                "t": float(time),
                "guard": "P.touch" if k % 2 else "grip.open",
                "from": modes[k % 3],
                "to": modes[(k + 1) % 3],
                "impulse": {"P.t": 0.1 * k, "P.n": 1.2} if k % 2 else None,
                "lost": 0.01 * k if k % 2 else None,
                "frame": int(after[k]),
            }
            for k, time in enumerate(event_times if frames > 1 else [])
        ],
        "plots": [
            {
                "title": title if k < len(shapes) else f"{title} {k}",
                "axis": axis,
                "series": [
                    {"name": key, "label": label, "values": packed(values, "f32")} for key, label, values in series
                ],
                "lines": lines,
            }
            for k in range(plots)
            for title, axis, series, lines in [shapes[k % len(shapes)]]
        ],
        "traces": [points[2]] if trace else [],
    }


def document(*runs, title="A test", sections=()):
    """A document with other sections and a player."""
    player = [{"type": "runs", "title": "Motion", "runs": list(runs)}] if runs else []
    return {"format": 1, "title": title, "subtitle": "made by a test", "sections": [*sections, *player]}


def every_kind():
    """One section of each kind but the player, and one that no page knows."""
    picture = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
    return [
        {"type": "text", "title": "About", "text": "First part.\n\nSecond part."},
        {"type": "facts", "title": "Key figures", "rows": [["length", "0.5", "m"], ["mass ratio", "2", "1"]]},
        {"type": "command", "title": "Again", "text": "saltus run links --for 3"},
        {
            "type": "table",
            "title": "Many rows",
            "columns": ["k", "square"],
            "rows": [[str(k), str(k * k)] for k in range(450)],
        },
        {"type": "warnings", "title": "Warnings", "items": []},
        {
            "type": "checks",
            "title": "Audit",
            "rows": [[True, "energy", "1e-9", "1e-6"], [False, "drift", "0.2", "0.1"]],
        },
        {"type": "figures", "title": "Figures", "figures": [{"image": picture, "caption": "a dot"}]},
        {"type": "hologram", "title": "From the future"},
    ]
