"""A comparison as tables of words: the rows of [yang2016, 7.5] with the thesis' figures beside ours, and rates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from saltus.studies._compare import CONTROLLERS, SHORT_NAMES, Comparison, mixes_for
from saltus.studies._compare_mixes import DISTURBANCES, Disturbance, Rate, timing_note
from saltus.studies._compare_printed import FAMILIES, NOTHING, printed
from saltus.studies._compare_runs import TASKS, Shown

Rows = tuple[Sequence[str], Sequence[Sequence[str]]]
Told = Callable[[Comparison, str], str | None]

COLUMNS = ("thesis | ours", "dynamic programming", "impulses", "energy, ours")

# What is said of a torque over time, as in `TorqueUse`.
USES = {"switches": "switches/s", "reversals": "reversals/s", "chatter": "chatter/s", "variation": "variation, N m/s"}

SCOPES = ("swing-up", "ladder", "rope")

# What is said of rates where no mix could start.
NO_START = "no start"

RATES_TITLE = "Caught of held-out mixes (how many), %, with 95 % intervals"

NOTE = (
    "Energy, ours, has friction in its model, and adapts it and the torque by the balance of energy: knowledge of its "
    "own, that tables and impulses do not have. An impulse has one forward swing to catch in; what of it would come "
    "before letting go is lost."
)

_OWN = {"dp_thesis": "thesis' recipe:", "committee": "nets:"}
_FREE = {"dp": "free", "dp_thesis": "free_thesis"}


def summary(found: Comparison) -> Rows:
    """The table of 7.5: in each cell the thesis' figure, ours, and what the thesis' own way comes to here."""
    rows = [
        ("residual, swing of 0.55 m", *_cells(found, "residual", lambda f, n: _swing(f, n, _residual))),
        ("residual, swing-up to 0.568 m", *_cells(found, "residual up", lambda f, n: _up(f, n, _residual))),
        ("time of that swing-up", *_cells(found, "time up", lambda f, n: _up(f, n, _time))),
        ("mean torque, swing", *_cells(found, "torque", lambda f, n: _swing(f, n, _mean_torque))),
        ("the same with a torque cost", *_gentle(found)),
        ("training time", *_training(found)),
        ("memory of what is learned", *_memory(found)),
        *((what, *_cells(found, what, _scope(what))) for what in SCOPES),
        *((what.name, *_cells(found, what.name, _rate(what))) for what in DISTURBANCES),
        *(
            (
                f"torque of a {task}: {words}",
                # the thesis' word is for swings
                *_cells(found, "complexity" if (task, what) == ("swing", "switches") else "", _used(task, what)),
            )
            for task in TASKS
            for what, words in USES.items()
        ),
    ]  # fmt: skip
    return COLUMNS, rows


def rates(found: Comparison) -> Rows:
    """How often each controller bears what is off, in percent with 95 % intervals; by its name how many mixes."""
    rows = []
    for what in DISTURBANCES:
        for task in what.tasks():
            cells = [found.rate(name, what.name, task) for name in CONTROLLERS]
            rows.append((what.name, task, *("-" if one is None else _interval(one) for one in cells)))
    names = [f"{SHORT_NAMES[name]} ({mixes_for(name, found.mixes)})" for name in CONTROLLERS]
    return ("off", "task", *names), rows


def reasons(found: Comparison) -> dict[str, int]:
    """How many mixes of the rates could not start, for each kind of reason, the most frequent first."""
    counts = sum((Counter(one.reasons) for one in found.rates), Counter[str]())
    return dict(counts.most_common())


def _cells(found: Comparison, row: str, told: Told) -> list[str]:
    """Thesis | ours; and how the thesis' own way comes out here."""
    made = []
    for family, (ours, own) in FAMILIES.items():
        mine, theirs = told(found, ours), None if own is None else told(found, own)
        words = (NOTHING if mine is None else mine) + ("" if theirs is None else f" ({_OWN[str(own)]} {theirs})")
        made.append(
            words if not row or words == printed(row, family) == NOTHING else f"{printed(row, family)} | {words}"
        )
    return made


def _of(one: Shown | None, told: Callable[[Shown], str]) -> str | None:
    return None if one is None else told(one)


def _residual(one: Shown) -> str:
    return "not caught" if one.residual is None else f"{one.residual:.2f} J"


def _time(one: Shown) -> str:
    return "not caught" if one.time is None else f"{one.time:.2f} s"


def _swing(found: Comparison, name: str, told: Callable[[Shown], str]) -> str | None:
    return _of(found.runs.get((name, "swing")), told)


def _up(found: Comparison, name: str, told: Callable[[Shown], str]) -> str | None:
    """Of a swing-up; of tables also of that without stops."""
    words = _of(found.runs.get((name, "swing-up")), told)
    free = _of(found.runs.get((_FREE.get(name, ""), "swing-up")), told)
    return words if free is None else f"{free} free, {words} with stops"


def _mean_torque(one: Shown) -> str:
    return f"{one.torque.mean:.2f} N m" + ("" if one.caught else ", not caught")


def _gentle(found: Comparison) -> tuple[str, str, str]:
    one = found.runs["gentle", "swing"]
    left = "" if one.residual is None else f", {one.residual:.2f} J left"
    return f"{printed('torque gentle', 'dynamic programming')} | {_mean_torque(one)}{left}", "", ""


def _training(found: Comparison) -> tuple[str, str, str]:
    s, thesis = found.seconds, [printed("time", family) for family in FAMILIES]
    return (
        f"{thesis[0]} | {s['dp per table']:.1f} s per table, {s['dp']:.0f} s in all (thesis' recipe at "
        f"{found.effort.thesis_grid}⁴: {s['dp_thesis']:.1f} s)",
        f"{thesis[1]} | {s['trials']:.1f} s of trials, {s['impulse per query']:.2f} s a query (nets: "
        f"{s['committee']:.1f} s)",
        f"{thesis[2]} | none",
    )


def _memory(found: Comparison) -> tuple[str, str, str]:
    m, thesis = found.memory, [printed("memory", family) for family in FAMILIES]
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


def _scope(what: str) -> Told:
    def told(found: Comparison, name: str) -> str | None:
        one = found.scope.get(name, {}).get(what)
        return None if one is None else f"{'yes' if one.done else 'no'}: {one.told}"

    return told


def _rate(what: Disturbance) -> Told:
    def told(found: Comparison, name: str) -> str | None:
        one = found.rate(name, what.name)
        if one is None:
            return None
        note = timing_note(what, found.answers.get(name))
        if not one.count:
            return NO_START
        return f"{one.interval[0]:.1%}" + (f", but {note}" if note else "")

    return told


def _used(task: str, what: str) -> Told:
    def told(found: Comparison, name: str) -> str | None:
        one = found.torque.get((name, task))
        if one is None:
            return None if (name, task) not in found.runs else "not caught"
        return f"{float(getattr(one, what)):.3g}"

    return told


def _interval(one: Rate) -> str:
    if not one.count:
        return NO_START
    share, low, high = (100 * part for part in one.interval)
    return f"{share:.1f} ({low:.0f}-{high:.0f})"
