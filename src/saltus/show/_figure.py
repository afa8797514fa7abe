"""What all figures have in common: a plain look, names with units, files as PNG and SVG."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.figure import Figure

from saltus._write import write
from saltus.gaits import Gait
from saltus.gaits._map import unit_of

FORMS = ("png", "svg")

# Colours that people with any colour vision can tell apart [okabe2008].
BLUE, ORANGE, GREEN, RED, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#8A8A8A"
# From dark to light, and even in grey.
SCALE = "viridis"

_LOOK: Any = {
    "font.size": 10.0,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 11.0,
    "axes.titlelocation": "left",
    "axes.grid": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.7,
    "axes.axisbelow": True,
    "lines.linewidth": 1.6,
    "lines.markersize": 4.5,
    "legend.frameon": False,
    # text stays text, and a file is the same each time it is made
    "svg.fonttype": "none",
    "svg.hashsalt": "saltus",
}

_GREEK = {"theta": r"\theta", "phi": r"\phi", "psi": r"\psi", "alpha": r"\alpha", "omega": r"\omega"}


def look() -> AbstractContextManager[None]:
    """The look of all figures, for as long as one is drawn."""
    context: AbstractContextManager[None] = matplotlib.rc_context(_LOOK)
    return context


def blank(width: float = 6.4, height: float = 4.2) -> Figure:
    """An empty figure of a size in inches, which belongs to no window."""
    return Figure(figsize=(width, height), layout="constrained")


def label(name: str, unit: str) -> str:
    """A quantity and its unit, as they stand at an axis."""
    dotted = name.startswith("d") and any(name[1:].startswith(word) for word in _GREEK)
    base = name[1:] if dotted else name
    for word, sign in _GREEK.items():
        if base.startswith(word):
            index = base[len(word) :]
            symbol = rf"\dot{{{sign}}}" if dotted else sign
            shown = f"${symbol}_{{{index}}}$" if index else f"${symbol}$"
            break
    else:
        shown = name.replace("_", " ")
    return shown if unit in ("", "1") else f"{shown} ({unit.replace('^2', '²')})"


def error_unit(gait: Gait, *, root: bool = False) -> str:
    """Unit of an error of a gait, or of its square root, in brackets; nothing if it adds up different units."""
    units = {unit_of(gait, name) for name in gait.free}
    unit = units.pop() if len(units) == 1 else ""
    if unit in ("", "1"):
        return ""
    return f" ({unit})" if root else f" (({unit})²)" if "/" in unit else f" ({unit}²)"


def gait_title(gait: Gait, what: str) -> str:
    """What is shown, of which gait of which robot."""
    return f"{gait.robot.name}, {gait.name}: {what}"


def wrapped(text: str, width: int = 96) -> str:
    """A text in lines that are not wider than a figure."""
    return "\n".join(textwrap.wrap(text, width))


def figure_bytes(figure: Figure, form: str = "png") -> bytes:
    """A figure as the content of a file."""
    file = io.BytesIO()
    with look():
        # without the date the same figure is the same file
        figure.savefig(file, format=form, dpi=150, metadata={"Date": None} if form == "svg" else None)
    return file.getvalue()


def save_figure(figure: Figure, folder: Path | str, name: str, forms: Sequence[str] = FORMS) -> list[Path]:
    """Write a figure to a folder, a file for each form."""
    return [write(Path(folder) / f"{name}.{form}", figure_bytes(figure, form)) for form in forms]
