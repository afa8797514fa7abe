"""What [yang2016] says of its three controllers, in 7.2 to 7.5: its words, and what they claim; nothing else."""

from __future__ import annotations

# Controllers of its table, by name: ours, and its own way made again here, if there is one.
FAMILIES: dict[str, tuple[str, str | None]] = {
    "dynamic programming": ("dp", "dp_thesis"), "impulses": ("impulse", "committee"), "energy": ("energy", None)
}  # fmt: skip

NOTHING = "-"

# By row, for dynamic programming, impulses and energy. Robustness is told of swings only.
PRINTED: dict[str, tuple[str, str, str]] = {
    "residual": ("7 J", "5 J", "1 J"),
    "residual up": ("15 J free", NOTHING, NOTHING),
    "time up": ("5.5 s free, 8 s with stops", NOTHING, "6 s"),
    "torque": ("5.99 N m", "9.83 N m", "8.07 N m"),
    "torque gentle": ("3.33 N m", NOTHING, NOTHING),
    "time": ("8 h per bar", "12 h", "none"),
    "memory": ("0.8 GB per bar", NOTHING, NOTHING),
    "swing-up": ("yes", "no", "yes"),
    "ladder": ("yes", "rather the rope", "yes"),
    "rope": (NOTHING, "yes", NOTHING),
    "torque ±10 %": ("fails", NOTHING, "robust"),
    "friction not trained for": ("sometimes fails", NOTHING, "robust"),
    "start off by 1-5 cm": (NOTHING, "not robust", NOTHING),
    "sensor noise": ("sensitive", "sensitive", NOTHING),
    "impulse timing ±5 %": (NOTHING, "5 % of T1 fails", NOTHING),
    "impulse amplitude ±10 %": (NOTHING, "not robust", NOTHING),
    "complexity": ("complex", "torque impulse", "± max torque"),
}

# What its words mean, where they mean yes or no.
_MEANT = {
    "yes": True, "robust": True, "no": False, "rather the rope": False, "fails": False, "sometimes fails": False,
    "not robust": False, "sensitive": False, "5 % of T1 fails": False,
}  # fmt: skip


def printed(row: str, family: str) -> str:
    """The thesis' words on one row for one family of controllers."""
    return PRINTED.get(row, (NOTHING,) * 3)[list(FAMILIES).index(family)]


def said(row: str, family: str) -> bool | None:
    """Whether the thesis says that it is done, or borne; None where it says nothing of it."""
    return _MEANT.get(printed(row, family))
