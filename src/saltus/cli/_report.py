"""Options of every verb about what it writes: --report for one HTML file of what was done, --force over older files."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from saltus.errors import InputError, SaltusError

if TYPE_CHECKING:
    from saltus.show import Document

# Under which names these options, and what is made of them, are kept while a verb runs.
PATH, REPORT, FORCE = "saltus.path", "saltus.report", "saltus.force"


class Report:
    """A report that a verb fills; it is written when the verb is done."""

    def __init__(self, path: Path, *, force: bool) -> None:
        self.path, self.force = path, force
        self.document: Document | None = None

    def begin(self, title: str, subtitle: str = "") -> Document:
        """The document, empty but for its title."""
        from saltus.show import Document

        self.document = Document(title, subtitle)
        return self.document


def asked_report(context: typer.Context) -> Report | None:
    """The report that was asked for, if its file can be written."""
    path = context.meta.get(PATH)
    if path is None:
        return None
    from saltus.show import check_html

    force = may_overwrite(context, path)
    check_html(path, force=force)
    context.meta[REPORT] = Report(path, force=force)
    report: Report = context.meta[REPORT]
    return report


def write_report(context: typer.Context, words: Sequence[str]) -> None:
    """Write the report that was asked for, with the command that makes it again."""
    report: Report | None = context.meta.get(REPORT)
    if report is None or report.document is None:
        if context.meta.get(PATH) is not None:
            raise SaltusError("nothing was reported, so that there is no report to write")
        return
    from saltus.show import versions

    report.document.command(command(words))
    report.document.facts("Made with", versions())
    report.document.save(report.path, force=report.force)
    print(f"wrote {report.path}", file=sys.stderr if "--json" in words else sys.stdout)


def forced(context: typer.Context) -> bool:
    """Whether --force was given."""
    return bool(context.meta.get(FORCE))


def may_overwrite(context: typer.Context, path: Path) -> bool:
    """Whether --force was given, or a person who was asked agrees to lose the older file."""
    if forced(context) or not path.is_file():
        return forced(context)
    if sys.stdin.isatty() and sys.stderr.isatty():
        return typer.confirm(f"{path} exists; write over it?", err=True)
    raise InputError(f"{path} exists already; --force writes over it")


def command(words: Sequence[str]) -> str:
    """The command that makes a report's content again: all its words but those about the report itself."""
    kept: list[str] = []
    rest = iter(words)
    for word in rest:
        if word == "--report":
            next(rest, None)
        elif word not in ("--force", "--json") and not word.startswith("--report="):
            kept.append(word)
    # what was written is there now
    keeps = {"compare", "optimize", "trade", "train", "--animation", "--view"} & set(kept)
    again = ["--force"] if keeps and "--resume" not in kept else []
    plugins = os.environ.get("SALTUS_PLUGINS")
    setting = f"SALTUS_PLUGINS={shlex.quote(plugins)} " if plugins else ""
    return setting + shlex.join(["saltus", *kept, *again])


def keep_report(context: typer.Context, path: Path | None) -> None:
    """Callback of --report."""
    if path is not None:
        context.meta[PATH] = path


def keep_force(context: typer.Context, force: bool) -> None:
    """Callback of --force."""
    if force:
        context.meta[FORCE] = True


def told(content: Any, *, depth: str = "") -> list[tuple[str, Any, str]]:
    """What a verb tells for programs, as names and values; lists of records are left to tables."""
    rows: list[tuple[str, Any, str]] = []
    for key, value in content.items():
        name = f"{depth}{key}".replace("_", " ")
        if isinstance(value, dict):
            rows += told(value, depth=f"{name}: ")
        elif not (isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value)):
            rows.append((name, value, ""))
    return rows
