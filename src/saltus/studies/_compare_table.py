"""A comparison as tables of words: the rows of [yang2016, 7.5] with the thesis' figures beside ours, and rates."""

from __future__ import annotations

import math
from collections.abc import Sequence

from saltus.studies._compare import CONTROLLERS, Comparison
from saltus.studies._compare_mixes import DISTURBANCES, Rate

Rows = tuple[Sequence[str], Sequence[Sequence[str]]]

# As printed in 7.2 to 7.5: by row, for dynamic programming, impulses and energy.
PRINTED: dict[str, tuple[str, str, str]] = {
    "residual": ("7 J", "5 J", "1 J"),
    "residual up": ("15 J", "-", "-"),
    "time up": ("5.5 s free, 8 s with stops", "-", "6 s"),
    "torque": ("5.99 N m", "9.83 N m", "8.07 N m"),
    "torque gentle": ("3.33 N m", "-", "-"),
    "time": ("8 h per bar", "12 h", "none"),
    "memory": ("0.8 GB per bar", "-", "none"),
    "swing-up": ("yes", "no", "yes"),
    "ladder": ("yes", "no", "yes"),
    "rope": ("-", "yes", "-"),
    "torque ±10 %": ("fails", "-", "robust"),
    "friction not trained for": ("sometimes fails", "-", "robust"),
    "torque and friction": ("-", "-", "-"),
    "start off by 1-5 cm": ("-", "not robust", "-"),
    "sensor noise": ("sensitive", "sensitive", "-"),
    "all of it": ("-", "-", "-"),
    "impulse timing ±5 %": ("", "fails", ""),
    "impulse begun ±15 ms": ("", "fails", ""),
    "impulse amplitude ±10 %": ("", "not robust", ""),
    "complexity": ("complex", "impulse", "± max"),
}

COLUMNS = ("thesis | ours", "dynamic programming", "impulses", "energy")


def summary(found: Comparison) -> Rows:
    """The table of 7.5: in each cell the thesis' figure, ours, and what the thesis' own way comes to here."""
    rows = [
        ("residual, swing of 0.55 m", *_cells(found, "residual", "swing", lambda f, n: _residual(f, n, "swing"))),
        (
            "residual, swing-up to 0.568 m",
            *_cells(found, "residual up", "up", lambda f, n: _residual(f, n, "swing-up")),
        ),
        ("time of that swing-up", *_cells(found, "time up", "up", _time)),
        ("mean torque, swing", *_cells(found, "torque", "swing", _mean_torque)),
        ("the same with a torque cost", *_gentle(found)),
        ("training time", *_training(found)),
        ("memory of what is learned", *_memory(found)),
        *((what, *_scope(found, what)) for what in ("swing-up", "ladder", "rope")),
        *(
            (what.name, *_cells(found, what.name, "swing", lambda f, n, what=what: _rate(f.rate(n, what.name))))
            for what in DISTURBANCES
        ),
        ("torque: switches per s", *_cells(found, "complexity", "swing", lambda f, n: _used(f, n, "switches"))),
        ("torque: reversals per s", *_cells(found, "", "swing", lambda f, n: _used(f, n, "reversals"))),
        ("torque: variation, N m/s", *_cells(found, "", "swing", lambda f, n: _used(f, n, "variation"))),
    ]
    return COLUMNS, rows


def rates(found: Comparison) -> Rows:
    """How often each controller bears what is off, with 95 % intervals."""
    rows = []
    for what in DISTURBANCES:
        for task in what.tasks():
            cells = [found.rate(name, what.name, task) for name in CONTROLLERS]
            rows.append((what.name, task, *("-" if one is None else _interval(one) for one in cells)))
    return ("off", "task", *CONTROLLERS.values()), rows


def _cells(found: Comparison, row: str, task: str, told: object) -> list[str]:
    """Thesis | ours; and how the thesis' own way comes out here."""
    printed = PRINTED.get(row, ("", "", ""))
    both = ((printed[0], "dp", "dp_thesis"), (printed[1], "impulse", "committee"), (printed[2], "energy", None))
    made = []
    for thesis, ours, own in both:
        mine = told(found, ours)  # type: ignore[operator]
        if mine is None:
            made.append(_beside(thesis, "no" if thesis in ("no", "-") else "-"))
            continue
        theirs = None if own is None else told(found, own)  # type: ignore[operator]
        made.append(_beside(thesis, mine) + ("" if theirs is None else f" ({_OWN[str(own)]} {theirs})"))
    return made


_OWN = {"dp_thesis": "thesis' recipe:", "committee": "nets:"}


def _beside(thesis: str, ours: str) -> str:
    return f"{thesis} | {ours}" if thesis else ours


def _residual(found: Comparison, name: str, task: str) -> str | None:
    one = found.runs.get((name, task))
    if one is None:
        return None
    return f"{one.swing.residual:.2f} J" if one.caught and one.swing is not None else "not caught"


def _time(found: Comparison, name: str) -> str | None:
    one = found.runs.get((name, "swing-up"))
    if one is None or not one.caught or one.swing is None:
        return None if one is None else "not caught"
    free = found.runs.get(({"dp": "free", "dp_thesis": "free_thesis"}.get(name, ""), "swing-up"))
    words = f"{one.swing.time:.2f} s"
    if free is None:
        return words
    before = f"{free.swing.time:.2f} s" if free.caught and free.swing is not None else "not caught"
    return f"{before} free, {words} with stops"


def _mean_torque(found: Comparison, name: str) -> str | None:
    one = found.runs.get((name, "swing"))
    return None if one is None else f"{one.torque.mean:.2f} N m"


def _gentle(found: Comparison) -> tuple[str, str, str]:
    one = found.runs["gentle", "swing"]
    left = f", {one.swing.residual:.2f} J left" if one.caught and one.swing is not None else ", not caught"
    return f"{PRINTED['torque gentle'][0]} | {one.torque.mean:.2f} N m{left}", "", ""


def _training(found: Comparison) -> tuple[str, str, str]:
    s, thesis = found.seconds, PRINTED["time"]
    return (
        f"{thesis[0]} | {s['dp per table']:.1f} s per table, {s['dp']:.0f} s in all (thesis' recipe at "
        f"{found.effort.thesis_grid}⁴: {s['dp_thesis']:.1f} s)",
        f"{thesis[1]} | {s['impulse']:.1f} s (nets: {s['committee']:.1f} s)",
        f"{thesis[2]} | none",
    )


def _memory(found: Comparison) -> tuple[str, str, str]:
    m, thesis = found.memory, PRINTED["memory"]
    return (
        f"{thesis[0]} | {_bytes(m['dp per table'])} per table, {_bytes(m['dp'])} in all",
        f"{thesis[1]} | {_bytes(m['impulse'])} of trials (nets: {_bytes(m['committee'])})",
        f"{thesis[2]} | none",
    )


def _bytes(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def _scope(found: Comparison, what: str) -> list[str]:
    thesis = PRINTED[what]
    made = []
    for printed, ours, own in (
        (thesis[0], "dp", None),
        (thesis[1], "impulse", "committee"),
        (thesis[2], "energy", None),
    ):
        one = found.scope[ours][what]
        words = f"{'yes' if one.done else 'no'}: {one.told}"
        if own and what == "rope":
            words += f" (nets: {found.scope[own][what].told})"
        made.append(_beside(printed, words))
    return made


def _rate(one: Rate | None) -> str | None:
    return None if one is None else f"{one.interval[0]:.1%}"


def _interval(one: Rate) -> str:
    share, low, high = one.interval
    return f"{share:.1%} ({100 * low:.1f}-{100 * high:.1f})"


def _used(found: Comparison, name: str, what: str) -> str | None:
    one = found.torque.get(name)
    value = math.nan if one is None else float(getattr(one, what))
    return None if math.isnan(value) else f"{value:.3g}"
