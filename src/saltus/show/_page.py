"""A page of text, tables and figures in one HTML file that needs nothing else."""

from __future__ import annotations

import base64
import html
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from matplotlib.figure import Figure

from saltus._write import write
from saltus.show._figure import figure_bytes

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; max-width: 66rem; margin: 2rem auto;
  padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2.5rem; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
.wide { overflow-x: auto; }
th, td { text-align: left; vertical-align: top; padding: 0.4rem 0.7rem; border-bottom: 1px solid #ddd; }
th { border-bottom: 2px solid #666; }
figure { margin: 1.5rem 0; } img { max-width: 100%; height: auto; } figcaption { font-size: 0.9rem; color: #444; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(26rem, 1fr)); gap: 1rem; }
@media (max-width: 30rem) { .figures { grid-template-columns: 1fr; } }
"""


@dataclass
class Page:
    """A page that grows from its top."""

    title: str
    parts: list[str] = field(default_factory=list)

    def heading(self, text: str) -> None:
        """A heading."""
        self.parts.append(f"<h2>{html.escape(text)}</h2>")

    def text(self, text: str) -> None:
        """A paragraph."""
        self.parts.append(f"<p>{html.escape(text)}</p>")

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """A table with a name above each column."""
        head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in columns)
        body = "".join(f"<tr>{''.join(f'<td>{html.escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        self.parts.append(f'<div class="wide">{table}</div>')

    def figures(self, figures: Sequence[tuple[Figure, str]]) -> None:
        """Figures side by side, each with its caption."""
        parts = []
        for figure, caption in figures:
            data = base64.b64encode(figure_bytes(figure)).decode()
            text = html.escape(caption)
            image = f'<img src="data:image/png;base64,{data}" alt="{html.escape(caption, quote=True)}">'
            parts.append(f"<figure>{image}<figcaption>{text}</figcaption></figure>")
        self.parts.append(f'<div class="figures">{"".join(parts)}</div>')

    def html(self) -> str:
        """The whole page."""
        title, parts = html.escape(self.title), "\n".join(self.parts)
        return (
            f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width, initial-scale=1">\n<title>{title}</title>\n'
            f"<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>\n{parts}\n</body>\n</html>\n"
        )

    def save(self, path: Path) -> Path:
        """Write it, all or nothing."""
        return write(path, self.html().encode())
