"""A report in one HTML file: what was run, what came out and how it moved, as data that the page itself draws."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

from saltus._provenance import provenance
from saltus._write import check_path, write
from saltus.engine import Trajectory
from saltus.errors import InputError
from saltus.gaits import Cycle
from saltus.show._bundle import page
from saltus.show._cycle_record import cycle_record
from saltus.show._figure import figure_bytes
from saltus.show._record import run_record

FORMAT = 1


@dataclass
class Document:
    """A report that grows from its top; every part is plain data."""

    title: str
    subtitle: str = ""
    sections: list[dict[str, Any]] = field(default_factory=list)

    def text(self, text: str, *, title: str = "") -> None:
        """Paragraphs, with an empty line between them."""
        self._add("text", title, text=text)

    def command(self, command: str, *, title: str = "Again") -> None:
        """The command that makes it again."""
        self._add("command", title, text=command)

    def facts(self, title: str, rows: Sequence[tuple[str, Any, str]]) -> None:
        """Names, values and their units."""
        self._add("facts", title, rows=[[name, shown(value), unit] for name, value, unit in rows])

    def table(self, title: str, columns: Sequence[str], rows: Sequence[Sequence[Any]], *, note: str = "") -> None:
        """A table with a name above each column."""
        self._add("table", title, columns=list(columns), rows=[list(map(shown, row)) for row in rows], note=note)

    def links(self, title: str, items: Sequence[tuple[str, str, str, Figure | None]]) -> None:
        """Other pages: where each is, seen from this one, its name, what it is about, and a picture of it."""
        made: list[dict[str, str]] = []
        for href, text, about, figure in items:
            image = {} if figure is None else {"image": _image(figure)}
            made.append({"href": href, "text": text, "about": about, **image})
        self._add("links", title, items=made)

    def warnings(self, items: Sequence[str]) -> None:
        """What to be careful about; that there is nothing is told too."""
        self._add("warnings", "Warnings", items=list(items))

    def checks(self, title: str, rows: Sequence[tuple[bool, str, str, str]]) -> None:
        """Laws that were checked: whether each holds, its name, how far it is missed and how far it may be."""
        self._add("checks", title, rows=[[bool(ok), *words] for ok, *words in rows])

    def figures(self, title: str, figures: Sequence[tuple[Figure | bytes | str, str]]) -> None:
        """Pictures, the bytes of PNG files, or the text of SVG files, with their captions."""
        made = [{"image": _image(figure), "caption": caption} for figure, caption in figures]
        self._add("figures", title, figures=made)

    def runs(self, title: str, runs: Mapping[str, Trajectory], *, series: Mapping[str, Any] | None = None) -> None:
        """The motion itself: animation, plots and events; several runs lie over each other.

        Parameters
        ----------
        series
            Quantities of your own, ``{"height (m)": values}``, a value for each of ``run.t``; of a single run.
        """
        if not runs:
            raise InputError("there are no runs to be shown")
        if series and len(runs) > 1:
            raise InputError("series of your own belong to one run, and there are several")
        self._add_motion(title, [run_record(run, name, series) for name, run in runs.items()])

    def cycles(self, title: str, cycles: Mapping[str, Cycle]) -> None:
        """The motion of a gait in a cycle, or of several gaits over each other."""
        if not cycles:
            raise InputError("there are no cycles to be shown")
        self._add_motion(title, [cycle_record(cycle, name) for name, cycle in cycles.items()])

    def _add_motion(self, title: str, records: list[dict[str, Any]]) -> None:
        notes = [note for record in records for note in record.pop("notes")]
        self._add("runs", title, runs=records, note=" ".join(dict.fromkeys(notes)))

    def to_dict(self) -> dict[str, Any]:
        """The document as the page reads it."""
        return {"format": FORMAT, "title": self.title, "subtitle": self.subtitle, "sections": self.sections}

    def html(self) -> str:
        """The whole page."""
        return page(self.to_dict())

    def save(self, path: Path | str, *, force: bool = False) -> Path:
        """Write it, all or nothing; over an existing file only if ``force`` says so."""
        check_html(path, force=force)
        return write(Path(path), self.html().encode())

    def _add(self, kind: str, title: str, **content: Any) -> None:
        self.sections.append({"type": kind, "title": title, **content})


def _image(figure: Figure | bytes | str) -> str:
    if isinstance(figure, str):
        return f"data:image/svg+xml;base64,{base64.b64encode(figure.encode()).decode()}"
    content = figure if isinstance(figure, bytes) else figure_bytes(figure)
    return f"data:image/png;base64,{base64.b64encode(content).decode()}"


def check_html(path: Path | str, *, force: bool = False) -> None:
    """Refuse a path to which no page can be written, before any work."""
    check_path(Path(path), (".html",), force=force)


def shown(value: Any) -> str:
    """A value as it stands in a report."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.9g}"
    if isinstance(value, (list, tuple)):
        return ", ".join(map(shown, value))
    return str(value)


def versions() -> list[tuple[str, str, str]]:
    """Of saltus, of Python and of the libraries that results depend on, and the processor."""
    return [(name, value, "") for name, value in provenance().items()]
