"""Mode graphs: what is possible, what runs visit, and that the second is part of the first."""

import json
import math
import os
import re
import shutil
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import saltus
from saltus import GroundPoint, Guard, HybridSystem, Mechanism, registry, robots
from saltus.contact import GRIP, Bar, Grip, JointUnit
from saltus.control import Constant, Continuous, Sampled
from saltus.engine import Command
from saltus.errors import InputError, SaltusError
from saltus.hybrid import find_statuses
from saltus.hybrid._graph import Edge, Node
from saltus.mechanism import Floating, Prismatic, Revolute

needs_graphviz = pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz's program 'dot' is not installed")


def triples(graph, *kinds):
    return {(edge.source, edge.label, edge.target) for edge in graph.edges if not kinds or edge.kind in kinds}


def pairs(graph):
    return {(edge.source, edge.target) for edge in graph.edges}


def names(graph):
    return [node.name for node in graph.nodes]


def ground_edges(point, opened="flight"):
    return {
        *((opened, f"{point}.touch", status) for status in (opened, "stick", "slip+", "slip-")),
        *((status, f"{point}.lift", opened) for status in ("stick", "slip+", "slip-")),
        ("stick", f"{point}.cone-", "slip+"),
        ("stick", f"{point}.cone+", "slip-"),
        ("slip+", f"{point}.turn", "stick"),
        ("slip+", f"{point}.turn", "slip-"),
        ("slip-", f"{point}.turn", "stick"),
        ("slip-", f"{point}.turn", "slip+"),
    }


# -- what is possible -------------------------------------------------------------------------


def test_ball():
    graph = saltus.mode_graph(saltus.robots.bouncing_ball())
    assert names(graph) == ["flight", "stick", "slip+", "slip-"]
    # nothing but the ball's own contact makes its forces jump
    assert triples(graph) == ground_edges("ball")
    assert {edge.label for edge in graph.edges if edge.kind == "impact"} == {"ball.touch"}


def test_hopper():
    hopper = saltus.robots.hopper()
    graph = saltus.mode_graph(hopper)
    modes = ("flight", "stick", "slip+", "slip-")
    assert names(graph) == [*modes, "end"]
    assert triples(graph, "guard", "impact") == ground_edges("P")
    assert triples(graph, "terminal") == {(mode, guard, "end") for mode in modes for guard in ("height_Q", "height_R")}
    assert triples(graph, "jump") == {(old, "jump", new) for old in modes[1:] for new in modes if old != new}
    assert pairs(saltus.mode_graph(hopper.with_parameters(tau_max=0.0))) == pairs(graph)
    assert not triples(saltus.mode_graph(hopper.with_parameters(tau_max=0.0)), "jump")


def test_actions_of_guards():
    hopper = saltus.robots.hopper().with_guards(height_Q="ignore", height_R="record")
    graph = saltus.mode_graph(hopper)
    assert names(graph) == ["flight", "stick", "slip+", "slip-"]
    assert triples(graph, "record") == {(mode, "height_R", mode) for mode in names(graph)}
    assert not triples(graph, "terminal")


def test_without_friction_a_point_still_sticks():
    # at rest, where nothing pushes it
    assert "stick" in names(saltus.mode_graph(saltus.robots.bouncing_ball(mu=0.0)))
    run = saltus.simulate(saltus.robots.bouncing_ball(mu=0.0, restitution=0.3))
    assert run.arc_modes[-1] == "stick"


def test_without_units():
    graph = saltus.mode_graph(saltus.robots.pendulum())
    assert names(graph) == ["free"]
    assert graph.edges == ()
    assert saltus.mode_graph(saltus.robots.pendulum(), by_unit=True) == graph


def pendulum(coulomb=0.0, lower=-math.inf, upper=math.inf):
    m = Mechanism("stopped_pendulum")
    m.gravity = 9.81
    rod = m.body("rod", Revolute("theta", offset=-math.pi / 2), mass=1.0, inertia=0.0, com=(1.0, 0.0))
    m.point("bob", rod, (1.0, 0.0))
    friction = m.parameter("coulomb", coulomb, "N m", lower=0)
    return HybridSystem(m, units=(JointUnit(m.coordinate("theta"), coulomb=friction, lower=lower, upper=upper),))


DRY = {
    ("stuck", "limit+", "free+"), ("stuck", "limit-", "free-"),
    ("free+", "turn", "stuck"), ("free+", "turn", "free-"),
    ("free-", "turn", "stuck"), ("free-", "turn", "free+"),
}  # fmt: skip


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, set()),
        ({"coulomb": 0.1}, DRY),
        ({"upper": 1.0}, {("free", "upper", "upper"), ("free", "upper", "free"), ("upper", "push", "free")}),
        ({"lower": -1.0}, {("free", "lower", "lower"), ("free", "lower", "free"), ("lower", "push", "free")}),
        (
            {"coulomb": 0.1, "lower": -1.0},
            DRY | {("free-", "lower", "lower"), ("free-", "lower", "free+"), ("lower", "push", "free+")},
        ),
        (
            {"coulomb": 0.1, "upper": 1.0},
            DRY | {("free+", "upper", "upper"), ("free+", "upper", "free-"), ("upper", "push", "free-")},
        ),
    ],
)
def test_joints_by_their_parameters(options, expected):
    system = pendulum(**options)
    graph = saltus.mode_graph(system)
    assert triples(graph) == {(old, f"theta.{guard}", new) for old, guard, new in expected}
    assert set(names(graph)) == ({status for old, _, new in expected for status in (old, new)} or {"free"})
    # a parameter that is changed later changes the graph
    other = {**options, "coulomb": 0.0 if "coulomb" in options else 0.2}
    assert saltus.mode_graph(system.with_parameters(coulomb=other["coulomb"])) == saltus.mode_graph(pendulum(**other))


@pytest.mark.parametrize("coulomb", [0.0, 0.01])
def test_a_joint_falls_back_from_its_stop_at_once(coulomb):
    system = pendulum(coulomb=coulomb, upper=0.5)
    run = saltus.simulate(system, {"theta": -1.0}, until=2.0)
    event = next(event for event in run.events if event.guard == "theta.upper")
    assert (event.mode_before, event.mode_after) == (("free", "free") if coulomb == 0 else ("free+", "free-"))
    assert triples(run.mode_graph(), "impact") <= triples(saltus.mode_graph(system))


def walker(holds=True):
    m = Mechanism("walker")
    m.gravity = 1.0
    body = m.body("body", Floating("x", "y", "angle"), mass=1.0, inertia=0.1)
    hands = [m.point(name, body, (side, 0.0)) for name, side in (("left", -0.5), ("right", 0.5))]
    bars = (Bar((-0.5, 0.0), 0.1), Bar((0.5, 0.0), 0.1)) if holds else ()
    return HybridSystem(m, units=(Grip(hands[0], bars, closed=True), Grip(hands[1], bars)))


def test_grips_with_and_without_holds():
    graph = saltus.mode_graph(walker(holds=False), by_unit=True)
    assert names(graph) == ["left:open", "left:closed", "right:open", "right:closed"]
    assert triples(graph) == {
        (f"{hand}:{old}", f"{hand}.{wish}", f"{hand}:{new}")
        for hand in ("left", "right")
        for old, wish, new in (("open", "close", "closed"), ("closed", "open", "open"))
    }
    graph = saltus.mode_graph(walker(), by_unit=True)
    assert len(graph.nodes) == 8
    assert ("left:closed", "left.open", "left:open") in triples(graph, "command")
    assert ("left:reaching", "left.catch", "left:closed") in triples(graph, "impact")
    assert ("left:released", "left.leave", "left:open") in triples(graph, "guard")


def test_a_grip_that_lets_go_beyond_its_reach_has_left():
    walking = walker()
    run = saltus.simulate(
        walking, {"x": 3.0}, controller=lambda t, state, mode, memory: Command((), {"left": "open"}), until=0.1
    )
    assert [(event.guard, event.mode_after) for event in run.events] == [("command", "left:open right:open")]
    assert pairs(run.mode_graph()) - {("start", run.arc_modes[0]), (run.arc_modes[-1], "end")} <= pairs(
        saltus.mode_graph(walking)
    )


@pytest.mark.parametrize("status", ["reaching", "released"])
def test_a_grip_without_holds_cannot_start_in_what_it_never_is(status):
    with pytest.raises(InputError, match="closed, open"):
        saltus.simulate(walker(holds=False), mode={"right": status}, until=0.1)


def test_several_units():
    graph = saltus.mode_graph(saltus.robots.rod())
    assert len(graph.nodes) == 16
    assert ("A:open B:stick", "A.touch", "A:slip+ B:stick") in triples(graph, "impact")
    assert ("A:open B:stick", "jump", "A:open B:slip+") in triples(graph, "jump")
    # both ends may land at once, but what does not strike does not close
    assert ("A:open B:open", "A:stick B:stick") in pairs(graph)
    together = {(edge.source, edge.target) for edge in graph.edges if edge.kind == "together"}
    assert ("A:open B:stick", "A:stick B:slip+") in together
    assert not together & {(e.source, e.target) for e in graph.edges if e.kind != "together"}
    assert "several at once" not in graph.mermaid() + graph.dot()
    assert "one unit changing at a time" in graph.title


def test_joints_where_forces_jump():
    graph = saltus.mode_graph(saltus.robots.arm(), by_unit=True)
    moving = ("stuck", "free+", "free-")
    expected = {(old, new) for old in moving for new in moving if old != new} | {("lower", "free+"), ("upper", "free-")}
    assert triples(graph, "jump") == {(f"theta2:{old}", "jump", f"theta2:{new}") for old, new in expected}


def test_more_modes_than_can_be_shown_are_shown_unit_by_unit():
    graph = saltus.mode_graph(saltus.robots.rimless_wheel())
    assert len(graph.nodes) == 32
    assert {node.unit for node in graph.nodes} == {f"foot{k}" for k in range(8)}
    assert "65536 modes" in graph.title
    assert graph.mermaid().count("subgraph") == graph.dot().count("subgraph") == 8
    guarded = robots.find_robot("rimless_wheel")
    guarded = HybridSystem(guarded.mechanism, guarded.units, (Guard("up", guarded.mechanism.q[1]),), guarded.start)
    graph = saltus.mode_graph(guarded)
    assert ("any mode", "up", "end") in triples(graph, "terminal")


# -- what a run visits ------------------------------------------------------------------------


def test_hopper_of_the_paper():
    hopper = saltus.robots.hopper()
    run = saltus.simulate(hopper, controller=hopper.profiles["paper"].controller)
    graph = run.mode_graph()
    assert names(graph) == ["start", "stick", "slip-", "flight", "slip+", "end"]
    assert [(edge.source, edge.label, edge.target, edge.kind, edge.count) for edge in graph.edges] == [
        ("start", "", "stick", "start", 1),
        ("stick", "P.cone+", "slip-", "guard", 1),
        ("slip-", "break", "flight", "jump", 1),
        ("flight", "P.touch", "slip+", "impact", 1),
        ("slip+", "height_Q", "end", "terminal", 1),
    ]
    flight = next(node for node in graph.nodes if node.name == "flight")
    assert flight.visits == 1
    assert flight.time == pytest.approx(run.events[2].t - run.events[1].t, abs=1e-15)


def test_bounces_are_visits_and_records_are_not():
    ball = saltus.robots.bouncing_ball()
    level = HybridSystem(
        ball.mechanism, ball.units, (Guard("half", ball.mechanism.q[1] - 0.5, "record", "both"),), ball.start, until=1.0
    )
    run = saltus.simulate(level)
    graph = run.mode_graph()
    assert names(graph) == ["start", "flight", "end"]
    bounces = sum(event.guard == "ball.touch" for event in run.events)
    crossings = sum(event.guard == "half" for event in run.events)
    assert (bounces, crossings) == (1, 3)
    assert graph.nodes[1].visits == 1 + bounces
    assert graph.nodes[1].time == pytest.approx(1.0, abs=1e-14)
    assert Edge("flight", "flight", "half", "record", crossings) in graph.edges
    assert Edge("flight", "end", "finished", "end", 1) in graph.edges


def test_failed_runs():
    hopper = saltus.robots.hopper(mu=3.0)
    paradox = {"theta1": math.radians(60), "theta2": 0.0, "dx": -1.0}
    graph = saltus.simulate(hopper, paradox, raise_errors=False).mode_graph()
    assert triples(graph) == {("start", "no_consistent_mode", "end")}

    def failing(t, state, mode, memory):
        return 1 / 0 if t > 0.1 else 0.0

    run = saltus.simulate(saltus.robots.pendulum(), controller=failing, raise_errors=False)
    graph = run.mode_graph()
    assert names(graph) == ["start", "free", "end"]
    (last,) = [edge for edge in graph.edges if edge.target == "end"]
    assert "controller_failed" in last.label
    assert last.kind == "end"
    assert graph.nodes[1].time == pytest.approx(run.end_time, abs=1e-14)


def test_a_run_of_no_length():
    graph = saltus.simulate(saltus.robots.hopper(), until=0.0).mode_graph()
    assert names(graph) == ["start", "stick", "end"]
    assert graph.nodes[1].time == 0.0


# -- what is visited is possible ----------------------------------------------------------------


def check_events(run):
    """Every event of a run is an edge of the possible graph, by unit and, if it can be shown, as a whole."""
    system = run.system
    graph, alone = saltus.mode_graph(system), saltus.mode_graph(system, by_unit=True)
    whole, edges = pairs(graph), pairs(alone)
    labels = triples(alone)
    known = set(names(graph))
    for event in run.events:
        ended = event.mode_after == "end"
        touched = event.guard.rpartition(".")[0]
        if ended and run.status.good:
            assert ("any mode" if "any mode" in known else event.mode_before, event.guard, "end") in triples(graph)
        if ended:
            continue
        before, after = (find_statuses(system, mode) for mode in (event.mode_before, event.mode_after))
        changed = [k for k in range(len(system.units)) if before[k] != after[k]]
        for k in changed:
            unit = system.units[k]
            old, new = (f"{unit.name}:{unit.statuses[status]}" for status in (before[k], after[k]))
            assert (old, new) in edges, event
            inputs_jump = event.t in run.control.breaks or run.control.period
            if unit.name == touched and len(event.guards) == 1 and not inputs_jump:
                assert (old, event.guard, new) in labels, event
        if changed and graph.title.endswith("at a time"):
            assert (event.mode_before, event.mode_after) in whole, event
    if graph != alone:
        assert set(run.arc_modes) <= known


ALL = registry.names("robots", own=True)


@pytest.mark.parametrize("name", ALL)
def test_events_of_ready_experiments_are_edges(name):
    system = robots.find_robot(name)
    check_events(saltus.simulate(system))
    for profile in system.profiles.values():
        check_events(saltus.simulate(system, dict(profile.start), controller=profile.controller, until=profile.until))


def restless(system, generator, period):
    """Inputs and grips that change their mind at random."""
    limits = np.minimum(system.input_limits, 5.0)
    grips = [unit.name for unit in system.units if unit.kind == GRIP]
    if not grips and not limits.size:
        return None

    def act(t, state, mode, memory):
        torques = generator.uniform(-1, 1, len(limits)) * limits
        return Command(tuple(torques), {name: str(generator.choice(["close", "open", "keep"])) for name in grips})

    return Sampled(act, period=period)


@pytest.mark.parametrize("name", [name for name in ALL if robots.find_robot(name).units])
def test_events_of_random_runs_are_edges(name):
    generator = np.random.default_rng(11)
    system = robots.find_robot(name)
    for _ in range(12):
        start = system.state()
        if not any(unit.kind == GRIP for unit in system.units):
            start[system.mechanism.nq :] += generator.normal(0, 1, system.mechanism.nv)
        run = saltus.simulate(
            system, start, controller=restless(system, generator, 0.05), until=2.0, raise_errors=False, max_events=2000
        )
        check_events(run)


def test_events_of_random_grips_are_edges():
    generator = np.random.default_rng(5)
    seen = set()
    for holds in (True, False):
        system = walker(holds)
        for _ in range(20):
            run = saltus.simulate(system, controller=restless(system, generator, 0.07), until=3.0, raise_errors=False)
            check_events(run)
            seen |= {word for mode in run.arc_modes for word in mode.split()}
    assert {"left:reaching", "left:released", "right:closed", "left:open"} <= seen


# -- as text ------------------------------------------------------------------------------------

AWKWARD = [
    'a "b"', "1. list", "- dash", "+plus", "é 漢字 🙂", "<b>&amp;&c;", "\\N \\l \\", "`c` **b**", "%%{init: 1}%%",
    "style a:b#c;", "classDef x:y#z;", "end", "line\nbreak", "{}[]()|", "#35; #quot;", "\x00 \ud800", "-->",
    "fa:fa-car",
]  # fmt: skip


@pytest.fixture(scope="module")
def awkward():
    nodes = tuple(Node(name) for name in AWKWARD)
    edges = tuple(Edge(AWKWARD[0], name, name, "guard") for name in AWKWARD)
    return saltus.ModeGraph("awkward", 'a "title": # 100 %', nodes, edges)


def shown_by_mermaid(label):
    """What Mermaid makes of a label; characters that mean something to it must not be left."""
    assert re.fullmatch(r"(?:[\w +\-:.,()=/]|#\d+;)*", label, flags=re.ASCII) or not label.isascii()
    # list items, definitions of styles (whose last semicolon Mermaid cuts off) and icons
    assert not re.search(r"^[-+*] |^\d+[.)] |(style|classDef).*:\S*#.*;|fa[bklrs]?:fa-", label)
    return re.sub(r"#(\d+);", lambda match: chr(int(match[1])), label)


def test_awkward_names_in_mermaid(awkward):
    lines = awkward.mermaid().splitlines()
    assert lines[:4] == ["---", 'title: "a \\"title\\": # 100 %"', "---", "flowchart LR"]
    labels = [re.fullmatch(r'  n\d+\("(.*)"\)', line)[1] for line in lines[4 : 4 + len(AWKWARD)]]
    shown = ["\n".join(map(shown_by_mermaid, label.split("<br/>"))) for label in labels]
    expected = [re.sub("[\x00\ud800]", "\N{REPLACEMENT CHARACTER}", name) for name in AWKWARD]
    assert shown == expected
    arrows = [re.fullmatch(r'  n0 -->\|"(.*)"\| n\d+', line)[1] for line in lines[4 + len(AWKWARD) :]]
    assert list(map(shown_by_mermaid, arrows)) == [name.replace("\n", " ") for name in expected]


@needs_graphviz
def test_awkward_names_in_graphviz(awkward):
    root = ElementTree.fromstring(awkward.svg())
    shown = {"".join(text.itertext()) for text in root.iter("{http://www.w3.org/2000/svg}text")}
    for name in AWKWARD:
        if name.isprintable():
            # in SVG, spaces at the ends and runs of them are written as hard ones
            assert name in {text.replace("\xa0", " ") for text in shown}
    assert 'a "title": # 100 %' in {text.replace("\xa0", " ") for text in shown}


@needs_graphviz
@pytest.mark.parametrize("name", ALL)
def test_graphviz_draws_every_robot(name):
    graph = saltus.mode_graph(robots.find_robot(name))
    root = ElementTree.fromstring(graph.svg())
    groups = [group.get("class") for group in root.iter("{http://www.w3.org/2000/svg}g")]
    assert groups.count("node") == len(graph.nodes)
    assert groups.count("edge") == len({(e.source, e.target) for e in graph.edges if e.kind != "together"})


def test_names_of_statuses_may_be_start_and_end():
    m = Mechanism("odd")
    m.gravity = 9.81
    body = m.body("body", Prismatic("y", axis=(0, 1)), mass=1.0)
    point = m.point("foot", body)
    guard = Guard("low", m.q[0] - 0.5)
    system = HybridSystem(m, (GroundPoint(point, open_name="end"),), (guard,), {"y": 1.0})
    assert "the end" in names(saltus.mode_graph(system))
    assert names(saltus.simulate(system).mode_graph()) == ["start", "end", "the end"]


def test_arrows_tell_impacts_from_commands():
    text = saltus.mode_graph(saltus.robots.arm(), by_unit=True).mermaid()
    assert re.search(r'==>\|"theta2.upper"\|', text)
    assert re.search(r'-\.->\|"hand.close"\|', text)
    assert re.search(r' -->\|"theta2.limit\+"\|', text)
    assert "jump" not in text


def test_counts_are_drawn():
    ball = saltus.simulate(saltus.robots.bouncing_ball())
    assert '|"ball.touch (6 times)"|' in ball.mode_graph().mermaid()
    assert "7 visits, 3 s" in ball.mode_graph().dot()


# -- files and the command line -----------------------------------------------------------------


def test_command_line(call):
    graph = saltus.mode_graph(saltus.robots.hopper())
    assert call("graph", "hopper") == (0, graph.mermaid(), "")
    assert call("graph", "hopper", "--format", "dot") == (0, graph.dot(), "")
    code, out, _ = call("graph", "hopper", "--format", "json")
    assert (code, json.loads(out)) == (0, graph.to_dict())
    code, out, _ = call("graph", "hopper", "--json")
    assert out.count("\n") == 1
    assert json.loads(out) == graph.to_dict() | {"out": None}
    assert "height_Q" not in call("graph", "hopper", "--guard", "height_Q=ignore")[1]
    assert "subgraph" in call("graph", "arm", "--by-unit", "--set", "coulomb=0")[1]


def test_command_line_of_a_run(call):
    code, out, _ = call("graph", "hopper", "--visited", "--profile", "paper", "--json")
    content = json.loads(out)
    assert code == 0
    assert [node["name"] for node in content["nodes"]] == ["start", "stick", "slip-", "flight", "slip+", "end"]
    assert content["nodes"][1]["visits"] == 1
    code, out, _ = call(
        "graph", "block", "--visited", "--controller", "sine", "--control", "amplitude=8", "--set", "mu=0.2",
        "--x0", "ds=1", "--until", "1",
    )  # fmt: skip
    assert code == 0
    assert "block.turn" in out
    code, out, err = call(
        "graph", "hopper", "--visited", "--set", "mu=3", "--x0", "theta1=60deg", "--x0", "theta2=0", "--x0", "dx=-1"
    )
    assert code == 1
    assert "no_consistent_mode" in out
    assert "Painleve" in err


@pytest.mark.parametrize("ending", ["mmd", "dot", "json", pytest.param("svg", marks=needs_graphviz)])
def test_out(call, tmp_path, ending):
    path = tmp_path / f"graph.{ending}"
    graph = saltus.mode_graph(saltus.robots.rod())
    assert call("graph", "rod", "--out", str(path)) == (0, f"wrote {path}\n", "")
    assert path.read_text() == graph.text({"mmd": "mermaid"}.get(ending, ending))
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


def test_a_failed_write_leaves_what_was_there(tmp_path, monkeypatch):
    path = tmp_path / "graph.dot"
    path.write_text("before")

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(SaltusError, match="no space left"):
        saltus.mode_graph(saltus.robots.rod()).save(path)
    assert path.read_text() == "before"
    assert [file.name for file in tmp_path.iterdir()] == ["graph.dot"]


def test_without_graphviz(call, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    path = tmp_path / "graph.svg"
    code, _, err = call("graph", "hopper", "--out", str(path))
    assert code == 2
    assert "install graphviz" in err
    assert not path.exists()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("hoper",), "hopper"),
        ((), "robot"),
        (("hopper", "--format", "png"), "mermaid"),
        (("hopper", "--out", "graph.png"), ".svg"),
        (("hopper", "--out", "no/such/folder/graph.dot"), "no folder"),
        (("hopper", "--out", "graph.dot", "--format", "json"), "contradict"),
        (("hopper", "--format", "dot", "--json"), "not both"),
        (("hopper", "--profile", "paper"), "--visited"),
        (("hopper", "--x0", "y=1", "--rtol", "1e-6"), "--x0, --rtol"),
        (("hopper", "--until", "0"), "--visited"),
        (("hopper", "--visited", "--by-unit"), "--by-unit"),
        (("hopper", "--visited", "--profile", "papper"), "paper"),
        (("hopper", "--set", "muu=1"), "mu"),
        (("hopper", "--visited", "--until", "-1"), "forward"),
    ],
)
def test_bad_input(call, arguments, says):
    code, out, err = call("graph", *arguments, "--json")
    assert code == 2
    assert says in json.loads(out)["error"]
    assert err.startswith("saltus: ")


def test_bad_input_of_functions(tmp_path):
    with pytest.raises(InputError, match="needs a robot"):
        saltus.mode_graph("hopper")
    graph = saltus.mode_graph(saltus.robots.hopper())
    with pytest.raises(InputError, match="mermaid"):
        graph.text("png")
    with pytest.raises(InputError, match=r"\.mmd"):
        graph.save(tmp_path / "graph.txt")


def test_a_constant_push_is_no_jump():
    # a run's own record says what happened, whatever is possible
    run = saltus.simulate(saltus.robots.block(), controller=Constant(50.0), until=1.0)
    assert triples(run.mode_graph(), "jump") == set()
    push = Continuous(lambda t, state, mode, memory: max(0.0, t - 0.5))
    run = saltus.simulate(saltus.robots.block(slope=0.0, mu=0.0), controller=push, until=1.0)
    assert ("stick", "block.cone-", "slip+") in triples(run.mode_graph(), "guard")
