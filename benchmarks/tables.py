"""Tables in Markdown, padded so that they also read well as plain text."""

from __future__ import annotations

from collections.abc import Sequence


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, words: int = 1) -> str:
    """A table whose first columns hold words, to the left, and whose others hold numbers, to the right.

    Parameters
    ----------
    words
        How many columns hold words.
    """
    widths = [max(3, *(len(row[k]) for row in (headings, *rows))) for k in range(len(headings))]

    def line(cells: Sequence[str]) -> str:
        padded = [
            cell.ljust(width) if k < words else cell.rjust(width)
            for k, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        return f"| {' | '.join(padded)} |"

    rule = ["-" * width if k < words else "-" * (width - 1) + ":" for k, width in enumerate(widths)]
    return "\n".join([line(headings), line(rule), *map(line, rows)])


def milliseconds(seconds: float) -> str:
    """A time in milliseconds, three digits or more."""
    value = 1e3 * seconds
    return f"{value:.3f}" if value < 10 else f"{value:.1f}" if value < 1000 else f"{value:.0f}"


def ratio(value: float) -> str:
    """A ratio, three digits or more."""
    return f"{value:.2f}" if value < 10 else f"{value:.1f}" if value < 100 else f"{value:.0f}"
