"""What all figures have in common: a plain look, names with units, files as PNG, SVG or PDF."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from saltus._write import write
from saltus.errors import unknown_name
from saltus.gaits import Gait
from saltus.gaits._map import unit_of

# How a figure is written unless said otherwise, and how it can be.
FORMS = ("png", "svg")
ALL_FORMS = (*FORMS, "pdf")
# Dots of an inch: where texts are measured is where they are drawn.
DPI = 150

# Colours that people with any colour vision can tell apart [okabe2008].
BLUE, ORANGE, GREEN, RED, GREY = "#0072B2", "#E69F00", "#009E73", "#D55E00", "#8A8A8A"
PURPLE, SKY, YELLOW, BLACK = "#CC79A7", "#56B4E9", "#F0E442", "#000000"
# Curves differ in colour and in their dashes, so that they can be told apart in grey too.
STYLES: tuple[dict[str, Any], ...] = (
    {"color": BLUE, "linestyle": "-"}, {"color": ORANGE, "linestyle": (0, (5, 1.6))},
    {"color": GREEN, "linestyle": (0, (1.3, 1.2))}, {"color": RED, "linestyle": (0, (6, 1.4, 1.2, 1.4))},
    {"color": PURPLE, "linestyle": (0, (3, 1.2))}, {"color": SKY, "linestyle": (0, (9, 1.8))},
    {"color": BLACK, "linestyle": (0, (1, 2.2))}, {"color": GREY, "linestyle": (0, (6, 1.2, 1, 1.2, 1, 1.2))},
)  # fmt: skip
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
    "pdf.fonttype": 42,
}

_GREEK = {"theta": r"\theta", "phi": r"\phi", "psi": r"\psi", "alpha": r"\alpha", "omega": r"\omega"}


def look() -> AbstractContextManager[None]:
    """The look of all figures, for as long as one is drawn."""
    context: AbstractContextManager[None] = matplotlib.rc_context(_LOOK)
    return context


def blank(width: float = 6.4, height: float = 4.2) -> Figure:
    """An empty figure of a size in inches, which belongs to no window and finds its own layout."""
    return Figure(figsize=(width, height), layout="constrained")


def sheet(width: float, height: float) -> Figure:
    """An empty figure whose parts are put where they belong once, by whoever draws it."""
    figure = Figure(figsize=(width, height), dpi=DPI)
    FigureCanvasAgg(figure)
    return figure


def style(k: int) -> dict[str, Any]:
    """Colour and dashes of a curve by its number; those after the eighth pair them anew."""
    count = len(STYLES)
    return {"color": STYLES[k % count]["color"], "linestyle": STYLES[(k + k // count) % count]["linestyle"]}


def label(name: str, unit: str) -> str:
    """A quantity and its unit, as they stand at an axis."""
    dotted = name.startswith("d") and any(name[1:].startswith(word) for word in _GREEK)
    base = name[1:] if dotted else name
    for word, sign in _GREEK.items():
        if base.startswith(word):
            index = base[len(word) :].lstrip("_")
            index = index if index.isdigit() else rf"\mathrm{{{index.replace('_', ' ')}}}" if index else ""
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
    """A figure as the content of a file; the same figure is the same file, so that it has no date."""
    if form not in ALL_FORMS:
        raise unknown_name("form of a figure", form, ALL_FORMS)
    how: dict[str, Any] = {
        "png": {"pil_kwargs": {"compress_level": 4}},  # hardly larger than by the default, in half the time
        "svg": {"metadata": {"Date": None}},
        "pdf": {"metadata": {"CreationDate": None}},
    }
    file = io.BytesIO()
    with look():
        figure.savefig(file, format=form, dpi=DPI, **how[form])
    return file.getvalue()


def save_figure(figure: Figure, folder: Path | str, name: str, forms: Sequence[str] = FORMS) -> list[Path]:
    """Write a figure to a folder, a file for each form."""
    return [write(Path(folder) / f"{name}.{form}", figure_bytes(figure, form)) for form in forms]
