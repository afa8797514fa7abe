"""Mode graphs as text that draws them: Mermaid, Graphviz, and pictures that Graphviz makes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from saltus.errors import SaltusError

if TYPE_CHECKING:
    from saltus.hybrid._graph import ModeGraph, Node

# Of causes that share an arrow, the first here decides how it is drawn.
_STRENGTH = ("impact", "terminal", "end", "start", "guard", "record", "command", "jump")

_MERMAID_ARROWS = {"impact": "==>", "command": "-.->", "jump": "-.->"}
_DOT_ARROWS = {"impact": "penwidth=2.5", "command": "style=dashed", "jump": "style=dotted"}
_MERMAID_SHAPES = {"start": '(("{}"))', "end": '((("{}")))', "any": '[["{}"]]'}
_DOT_SHAPES = {"start": "circle", "end": "doublecircle", "any": "box"}


@dataclass
class _Arrow:
    """All edges from one node to another, drawn as one."""

    kind: str = ""
    labels: list[str] = field(default_factory=list)


def _arrows(graph: ModeGraph) -> dict[tuple[str, str], _Arrow]:
    """One arrow between two nodes, with all their labels.

    Changes of several units at once are not drawn, since these go from almost anywhere to almost
    anywhere; nor is a possible jump where another cause has drawn the arrow.
    """
    edges = [edge for edge in graph.edges if edge.kind != "together"]
    arrows = {(edge.source, edge.target): _Arrow() for edge in edges}
    for edge in sorted(edges, key=lambda edge: _STRENGTH.index(edge.kind)):
        arrow = arrows[edge.source, edge.target]
        if arrow.labels and edge.kind == "jump" and edge.count is None:
            continue
        arrow.kind = arrow.kind or edge.kind
        label = f"{edge.label} ({edge.count} times)" if (edge.count or 1) > 1 else edge.label
        if label and label not in arrow.labels:
            arrow.labels.append(label)
    return arrows


def _lines_of(node: Node) -> list[str]:
    lines = (node.label or node.name).split("\n")
    if node.visits is not None:
        lines.append(f"{node.visits} visit{'' if node.visits == 1 else 's'}, {node.time:.4g} s")
    return lines


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _written(
    graph: ModeGraph, node_line: Callable[[str, Node], str], opened: Callable[[int, str], str], closed: str
) -> Iterator[str]:
    """Lines of all nodes, those of a unit together."""
    units = dict.fromkeys(node.unit for node in graph.nodes)
    for number, unit in enumerate(units):
        if unit:
            yield opened(number, unit)
        for place, node in enumerate(graph.nodes):
            if node.unit == unit:
                yield ("  " if unit else "") + node_line(f"n{place}", node)
        if unit:
            yield closed


def mermaid(graph: ModeGraph) -> str:
    """The text of a Mermaid flowchart: impacts are thick arrows, commands and jumps dotted ones."""
    places = {node.name: f"n{place}" for place, node in enumerate(graph.nodes)}

    def node_line(place: str, node: Node) -> str:
        shape = _MERMAID_SHAPES.get(node.kind, '("{}")')
        return f"  {place}{shape.format('<br/>'.join(map(_in_mermaid, _lines_of(node))))}"

    lines = ["---", f"title: {json.dumps(_printable(graph.title), ensure_ascii=False)}", "---", "flowchart LR"]
    lines += _written(graph, node_line, lambda k, unit: f'  subgraph u{k}["{_in_mermaid(unit)}"]', "  end")
    for (source, target), arrow in _arrows(graph).items():
        label = "<br/>".join(map(_in_mermaid, arrow.labels))
        line = f"  {places[source]} {_MERMAID_ARROWS.get(arrow.kind, '-->')}"
        lines.append(f'{line}|"{label}"| {places[target]}' if label else f"{line} {places[target]}")
    return "\n".join(lines) + "\n"


def _in_mermaid(text: str) -> str:
    """Text that Mermaid shows as it is: what could mean something to it is written as a number."""
    text = _printable(text)
    # what begins like a list, a line about style or the name of an icon would be taken for one
    risky = {match.start() for match in re.finditer(r"^[-+]|^\d+[.)]|style|classDef|fa[a-z]?:fa-", text)}
    safe = " +-:.,()=/_"
    return "".join(
        c if (c.isalnum() or c in safe) and place not in risky else f"#{ord(c)};" for place, c in enumerate(text)
    )


def dot(graph: ModeGraph) -> str:
    """The text of a graph in Graphviz's language: impacts are thick arrows, commands dashed, jumps dotted ones."""
    places = {node.name: f"n{place}" for place, node in enumerate(graph.nodes)}

    def node_line(place: str, node: Node) -> str:
        shape = _DOT_SHAPES.get(node.kind, "box")
        style = ', style=""' if node.kind in _DOT_SHAPES else ""
        return f"  {place} [label={_in_dot(*_lines_of(node))}, shape={shape}{style}];"

    def opened(number: int, unit: str) -> str:
        return f"  subgraph cluster{number} {{\n    label={_in_dot(unit)};"

    lines = [
        "digraph modes {",
        f'  graph [rankdir=LR, label={_in_dot(graph.title)}, labelloc=t, fontname="Helvetica"];',
        '  node [style=rounded, fontname="Helvetica"];',
        '  edge [fontname="Helvetica", fontsize=10];',
        *_written(graph, node_line, opened, "  }"),
    ]
    for (source, target), arrow in _arrows(graph).items():
        style = _DOT_ARROWS.get(arrow.kind)
        label = f"label={_in_dot(*arrow.labels)}"
        lines.append(f"  {places[source]} -> {places[target]} [{', '.join(filter(None, (label, style)))}];")
    return "\n".join([*lines, "}"]) + "\n"


def _in_dot(*lines: str) -> str:
    """A quoted string of some lines; Graphviz reads backslashes and character references in it."""
    written = (_printable(line).replace("&", "&amp;").replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"' + "\\n".join(written) + '"'


def graphviz() -> str:
    """Where Graphviz's program is."""
    program = shutil.which("dot")
    if program is None:
        raise SaltusError(
            "an SVG needs Graphviz's program 'dot', which is not installed; get it by 'apt install graphviz', "
            "'brew install graphviz' or from graphviz.org, or write .mmd or .dot instead"
        )
    return program


def svg(graph: ModeGraph) -> str:
    """A picture of the graph, drawn by Graphviz."""
    done = subprocess.run([graphviz(), "-Tsvg"], input=dot(graph).encode(), capture_output=True, check=False)
    if done.returncode != 0:
        raise SaltusError(f"Graphviz could not draw the graph: {done.stderr.decode(errors='replace').strip()}")
    return done.stdout.decode()
