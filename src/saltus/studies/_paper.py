"""What a paper's file holds, and the report that comes of it: numbers, corrections and figures with their verdicts."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from saltus._content import equal_by_content
from saltus._records import write_json
from saltus._write import write
from saltus.errors import InputError, unknown_name
from saltus.show import Document, figure_bytes, save_figure, versions

LEAST_DETAIL = 20
VERDICTS = ("reproduced", "corrected", "not reproducible")

Value = float | str | Sequence[float] | None


def _check_verdict(verdict: str) -> None:
    if verdict not in VERDICTS:
        raise unknown_name("verdict", verdict, VERDICTS)


@equal_by_content
@dataclass(frozen=True)
class Number:
    """A number of a paper.

    Parameters
    ----------
    where
        Section or figure.
    published
        As it stands in the paper.
    printed
        What comes out by the formulas as they are printed; None where nothing was misprinted.
    corrected
        What comes out by the right ones.
    """

    where: str
    what: str
    published: Value
    corrected: Value
    verdict: str
    printed: Value = None
    unit: str = ""
    note: str = ""

    def __post_init__(self) -> None:
        _check_verdict(self.verdict)


@equal_by_content
@dataclass(frozen=True)
class Correction:
    """A formula or statement of a paper that is wrong: as printed, as it must be, and what comes out by either."""

    where: str
    printed: str
    right: str
    by_printed: str
    by_right: str
    verdict: str = "corrected"

    def __post_init__(self) -> None:
        _check_verdict(self.verdict)


@equal_by_content
@dataclass(frozen=True)
class Drawing:
    """A figure of a paper, made again."""

    name: str
    figure: Figure
    caption: str
    verdict: str

    def __post_init__(self) -> None:
        _check_verdict(self.verdict)

    @cached_property
    def png(self) -> bytes:
        """The picture as a PNG file, drawn once for the page and for its own file."""
        return figure_bytes(self.figure)

    def save(self, folder: Path, name: str) -> list[Path]:
        """Write the picture as PNG and SVG files."""
        return [write(folder / f"{name}.png", self.png), *save_figure(self.figure, folder, name, ("svg",))]


@equal_by_content
@dataclass(frozen=True)
class Report:
    """All that comes out when a paper is reproduced."""

    paper: Paper
    about: str
    numbers: tuple[Number, ...]
    corrections: tuple[Correction, ...]
    drawings: tuple[Drawing, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything but the figures themselves, for JSON."""
        return {
            "paper": self.paper.key,
            "title": self.paper.title,
            "about": self.about,
            "numbers": [
                {
                    "where": n.where, "what": n.what, "unit": n.unit, "published": n.published,
                    "as_printed": n.printed, "corrected": n.corrected, "verdict": n.verdict, "note": n.note,
                }
                for n in self.numbers
            ],
            "corrections": [vars(one) for one in self.corrections],
            "figures": [{"name": d.name, "caption": d.caption, "verdict": d.verdict} for d in self.drawings],
        }  # fmt: skip

    def number_table(self) -> tuple[Sequence[str], Sequence[Sequence[str]]]:
        """Columns and rows of the numbers, as text."""
        rows = []
        for n in self.numbers:
            values = (_shown(value, n.unit) for value in (n.published, n.printed, n.corrected))
            rows.append((n.where, n.what, *values, n.verdict, n.note))
        return ("where", "what", "published", "as printed", "corrected", "verdict", "note"), rows

    @property
    def title(self) -> str:
        """The paper's title and key."""
        return f"{self.paper.title} [{self.paper.key}]"

    def fill(self, document: Document) -> None:
        """Write the report into a document."""
        document.text(f"{self.paper.citation}\n\n{self.about}")
        document.table("Numbers", *self.number_table())
        document.table(
            "Corrections",
            ("where", "printed", "right", "what comes out as printed", "what comes out corrected", "verdict"),
            [(c.where, c.printed, c.right, c.by_printed, c.by_right, c.verdict) for c in self.corrections],
        )
        document.figures("Figures", [(d.png, f"{d.caption} Verdict: {d.verdict}.") for d in self.drawings])

    def save(self, folder: Path) -> list[Path]:
        """Write the page, the numbers and every figure to a folder."""
        document = Document(self.title)
        self.fill(document)
        document.facts("Made with", versions())
        files = [document.save(folder / f"{self.paper.key}.html", force=True)]
        files.append(write_json(folder / f"{self.paper.key}.json", _finite(self.to_dict())))
        for drawing in self.drawings:
            files += drawing.save(folder, f"{self.paper.key}-{drawing.name}")
        return files


@equal_by_content
@dataclass(frozen=True)
class Paper:
    """A paper that can be reproduced.

    ``make(paper, detail, progress)`` does the work: ``detail`` is how fine maps and the like are, cells along each
    side; ``progress`` is told what is being done and which share of the whole is behind.
    """

    key: str
    title: str
    citation: str
    robot: str
    make: Callable[[Paper, int, Callable[[str, float], None]], Report]

    def reproduce(self, *, detail: int = 200, progress: Callable[[str, float], None] | None = None) -> Report:
        """Make every figure and every number of it again."""
        self.check_detail(detail)
        return self.make(self, detail, progress or (lambda doing, share: None))

    @staticmethod
    def check_detail(detail: int) -> None:
        """Refuse a detail with which a map shows nothing."""
        if isinstance(detail, bool) or not isinstance(detail, int) or detail < LEAST_DETAIL:
            raise InputError(f"detail must be an integer of at least {LEAST_DETAIL}, got {detail!r}")


def _shown(value: Value, unit: str) -> str:
    if value is None:
        return "-"
    if isinstance(value, str):
        return value
    if isinstance(value, (int, float)):
        number = f"{value:.6g}"
    else:
        number = f"({', '.join(f'{v:.5g}' for v in value)})"
    return f"{number} {unit}".strip()


def _finite(value: Any) -> Any:
    """JSON has no NaN or infinity: they become null."""
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
