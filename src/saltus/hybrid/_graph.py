"""The mode graph: every mode and change of mode that is possible, or those that a run visited."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from saltus._content import equal_by_content
from saltus._write import check_path, write
from saltus.contact import JUMP
from saltus.contact._grip import CLOSED
from saltus.errors import InputError, unknown_name
from saltus.hybrid._diagram import dot, graphviz, mermaid, svg
from saltus.hybrid._system import HybridSystem

# More modes than this are not shown as such, but unit by unit.
MOST_MODES = 32


@equal_by_content
@dataclass(frozen=True)
class Node:
    """A mode; or where a run starts or ends; or, of a graph unit by unit, a status or all modes at once.

    ``kind`` is mode, start, end, status or any. ``visits`` and ``time`` (s) are those of a run.
    """

    name: str
    kind: str = "mode"
    unit: str = ""
    label: str = ""
    visits: int | None = None
    time: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        record: dict[str, Any] = {"name": self.name, "kind": self.kind}
        if self.unit:
            record["unit"] = self.unit
        if self.visits is not None:
            record |= {"visits": self.visits, "time": self.time}
        return record


@equal_by_content
@dataclass(frozen=True)
class Edge:
    """A change from one node to another, and what causes it.

    ``kind`` is guard, impact, command, jump (of forces or velocities), together (several units at
    once), record, terminal, start or end. ``count`` is how often a run took it.
    """

    source: str
    target: str
    label: str
    kind: str
    count: int | None = None

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        record = {"from": self.source, "to": self.target, "label": self.label, "kind": self.kind}
        return record if self.count is None else record | {"count": self.count}


@equal_by_content
@dataclass(frozen=True)
class ModeGraph:
    """Modes and the changes between them."""

    robot: str
    title: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]

    def mermaid(self) -> str:
        """A Mermaid flowchart."""
        return mermaid(self)

    def dot(self) -> str:
        """A graph in Graphviz's language."""
        return dot(self)

    def svg(self) -> str:
        """A picture, drawn by Graphviz."""
        return svg(self)

    def json(self) -> str:
        """The graph as JSON text."""
        return json.dumps(self.to_dict(), indent=2) + "\n"

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "robot": self.robot,
            "title": self.title,
            "nodes": [node.to_dict() for node in self.nodes],
            "edges": [edge.to_dict() for edge in self.edges],
        }

    def text(self, form: str) -> str:
        """The graph as mermaid, dot, json or svg."""
        check_graph_form(form)
        return FORMS[form](self)

    def save(self, path: str | Path) -> Path:
        """Write the graph to a .mmd, .dot, .json or .svg file, all or nothing."""
        path = Path(path)
        check_graph_target(path)
        return write(path, self.text(ENDINGS[path.suffix]).encode())


FORMS: dict[str, Callable[[ModeGraph], str]] = {
    "mermaid": ModeGraph.mermaid,
    "dot": ModeGraph.dot,
    "json": ModeGraph.json,
    "svg": ModeGraph.svg,
}
ENDINGS = {".mmd": "mermaid", ".dot": "dot", ".json": "json", ".svg": "svg"}


def check_graph_target(path: Path) -> None:
    """Refuse a path to which no graph could be written, before any work is done."""
    check_path(path, ENDINGS)
    check_graph_form(ENDINGS[path.suffix])


def check_graph_form(form: str) -> None:
    """Refuse a form that does not exist, or that needs a program which is not installed."""
    if form not in FORMS:
        raise unknown_name("format", form, FORMS, "a mode graph")
    if form == "svg":
        graphviz()


@dataclass(frozen=True)
class _Change:
    """What one unit may do, as numbers of its statuses."""

    old: int
    new: int
    label: str
    kind: str


def mode_graph(system: HybridSystem, *, by_unit: bool = False) -> ModeGraph:
    """Every mode that is possible with the system's present parameters, and every change between them.

    Units know no geometry: of what they allow, a mechanism may not be able to do all. A guard that
    touches zero and changes nothing is no change. Edges on which several units change at once are
    in the graph, and not drawn.

    Parameters
    ----------
    by_unit
        Show the statuses of each unit alone, as is always done of more than 32 modes.
    """
    if not isinstance(system, HybridSystem):
        raise InputError(f"a mode graph needs a robot, such as saltus.robots.hopper(), got {system!r}")
    statuses = [u.possible(values) for u, values in zip(system.units, system.unit_coefficients, strict=True)]
    changes = [_changes(system, k) for k in range(len(system.units))]
    count = math.prod(map(len, statuses))
    if count > MOST_MODES or (by_unit and system.units):
        return _unit_by_unit(system, statuses, changes, count)
    modes = {mode: system.mode_name(mode) for mode in itertools.product(*statuses) if _fits(system, statuses, mode)}
    edges = []
    for mode, name in modes.items():
        for k, change in _from(mode, changes):
            target = (*mode[:k], change.new, *mode[k + 1 :])
            if target in modes:
                edges.append(Edge(name, modes[target], change.label, change.kind))
    edges += [Edge(modes[old], modes[new], "several at once", "together") for old, new in _together(modes, changes)]
    nodes, own = _own_guards(system, list(modes.values()))
    return ModeGraph(
        system.name,
        f"{system.name}: possible modes" + (", one unit changing at a time" if len(system.units) > 1 else ""),
        (*(Node(name, label="\n".join(system.mode_words(mode))) for mode, name in modes.items()), *nodes),
        (*edges, *own),
    )


def _fits(system: HybridSystem, statuses: Sequence[Sequence[int]], mode: Sequence[int]) -> bool:
    """Whether units that act only while a grip is closed do so."""
    names = [unit.name for unit in system.units]
    return all(
        unit.gate is None or len(own) == 1 or (status == 0) == (mode[names.index(unit.gate)] != CLOSED)
        for unit, own, status in zip(system.units, statuses, mode, strict=True)
    )


def _changes(system: HybridSystem, k: int) -> list[_Change]:
    """What a unit may do in this system: forces only jump at a unit where something else makes them."""
    unit, values = system.units[k], system.unit_coefficients
    others = any(other.edges(values[j]) for j, other in enumerate(system.units) if j != k)
    disturbed = others or bool((system.input_limits > 0).any())
    found = []
    for old, cause, new in unit.edges(values[k]):
        if cause == JUMP:
            if disturbed:
                found.append(_Change(old, new, JUMP, "jump"))
            continue
        kind = "guard" if cause in unit.guard_names[old] else "command"
        found.append(_Change(old, new, f"{unit.name}.{cause}", "impact" if cause in unit.impacts else kind))
    return found


def _from(mode: Sequence[int], changes: list[list[_Change]]) -> list[tuple[int, _Change]]:
    return [(k, change) for k, status in enumerate(mode) for change in changes[k] if change.old == status]


def _together(
    modes: dict[tuple[int, ...], str], changes: list[list[_Change]]
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Pairs of modes that differ in several units, each of which may change so."""
    pairs = []
    for mode in modes:
        choices = [[status] for status in mode]
        for k, change in _from(mode, changes):
            if change.new not in choices[k]:
                choices[k].append(change.new)
        for new in itertools.product(*choices):
            if new in modes and sum(a != b for a, b in zip(mode, new, strict=True)) > 1:
                pairs.append((mode, new))
    return pairs


def _own_guards(system: HybridSystem, sources: list[str]) -> tuple[list[Node], list[Edge]]:
    """The robot's own guards: terminal ones end a run from anywhere, recorded ones change nothing."""
    end = Node(_unused("end", sources), "end")
    edges = []
    for guard in system.guards:
        if guard.action != "ignore":
            edges += [Edge(s, end.name if guard.action == "terminal" else s, guard.name, guard.action) for s in sources]
    ends = any(guard.action == "terminal" for guard in system.guards)
    return [end] if ends else [], edges


def _unused(name: str, taken: Collection[str]) -> str:
    while name in taken:
        name = f"the {name}"
    return name


def _unit_by_unit(
    system: HybridSystem, statuses: Sequence[Sequence[int]], changes: list[list[_Change]], count: int
) -> ModeGraph:
    nodes, edges = [], []
    for unit, its_statuses, its_changes in zip(system.units, statuses, changes, strict=True):
        names = {status: f"{unit.name}:{unit.statuses[status]}" for status in its_statuses}
        nodes += [Node(name, "status", unit.name, unit.statuses[status]) for status, name in names.items()]
        edges += [Edge(names[change.old], names[change.new], change.label, change.kind) for change in its_changes]
    anywhere = Node(_unused("any mode", [node.name for node in nodes]), "any")
    ends, own = _own_guards(system, [anywhere.name])
    return ModeGraph(
        system.name,
        f"{system.name}: possible statuses of each unit ({count} modes together)",
        (*nodes, *([anywhere] if own else []), *ends),
        (*edges, *own),
    )


def visited(run: Any) -> ModeGraph:
    """The modes that a run visited, how often and how long, and the events that led from one to the next.

    A visit begins at the start, by a change of mode or by an impact; an event that is only recorded
    does not end one.
    """
    labels = {
        name: "\n".join(run.system.mode_words(statuses))
        for name, statuses in zip(run.arc_modes, run.arc_statuses.tolist(), strict=True)
    }
    if not run.events and not run.status.good and run.end_time == run.start_time:
        labels = {}  # no mode was found to start in
    start, end = Node(_unused("start", labels), "start"), Node(_unused("end", labels), "end")
    # arcs and the events at their ends, then what ended the last arc
    path = [*run.arc_modes, end.name] if labels else [end.name]
    edges = {Edge(start.name, path[0], "" if labels else run.status.name, "start"): 1}
    times = dict.fromkeys(labels, 0.0)
    since = run.start_time
    for k, event in enumerate(run.events):
        times[path[k]] += event.t - since
        since = event.t
        edge = Edge(path[k], path[k + 1], _label(run, event), _kind(run.system, event, path[k] == path[k + 1]))
        edges[edge] = edges.get(edge, 0) + 1
    if len(run.events) + 1 < len(path):
        times[path[-2]] += run.end_time - since
        edges[Edge(path[-2], end.name, run.status.name, "end")] = 1
    visits = dict.fromkeys(labels, 0)
    for edge, count in edges.items():
        if edge.target in visits and edge.kind != "record":
            visits[edge.target] += count
    nodes = [Node(name, label=labels[name], visits=visits[name], time=times[name]) for name in labels]
    title = f"{run.system.name}: modes visited from t = {run.start_time:.6g} s to {run.end_time:.6g} s"
    counted = tuple(replace(edge, count=count) for edge, count in edges.items())
    return ModeGraph(run.system.name, title, (start, *nodes, end), counted)


def _label(run: Any, event: Any) -> str:
    failed = event.ended and not run.status.good
    return f"{event.guard} ({run.status.name})" if failed else str(event.guard)


def _kind(system: HybridSystem, event: Any, same: bool) -> str:
    """What an event of a run was; jumps of the input are breaks and samples on its record."""
    own = event.guard in {guard.name for guard in system.guards}
    if event.ended:
        return "terminal" if own else "end"
    if event.guard == "command":
        return "command"
    if any(event.impulse.values()):
        return "impact"
    if own and same:
        return "record"
    return "jump" if event.guard in ("break", "sample") else "guard"
