"""The verb linearize: A, B, eigenvalues, controllability and gains of a robot about an equilibrium or a state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from saltus.cli._app import app
from saltus.cli._experiment import GuardActions, Parameters, Start, changed_robot
from saltus.cli._report import Report, asked_report
from saltus.cli._words import Json, Progress, Robot, numbers, print_json, print_table
from saltus.errors import InputError

if TYPE_CHECKING:
    from saltus.control import Linear


@app.command("linearize")
def linearize_command(
    context: typer.Context,
    robot: Robot,
    at: Annotated[
        list[str] | None, typer.Option("--at", help="A coordinate of the equilibrium, name=value; the rest is found.")
    ] = None,
    mode: Annotated[
        str | None, typer.Option(help="The mode by its name, such as stick or 'A:closed'; else it is found.")
    ] = None,
    keep: Annotated[str | None, typer.Option(help="Coordinates or readings to have as states: theta,psi.")] = None,
    x0: Start = None,
    inputs: Annotated[list[str] | None, typer.Option("--input", help="An input, name=value; zero.")] = None,
    here: Annotated[
        bool, typer.Option("--here", help="About the state itself (--x0 and --at), an equilibrium or not.")
    ] = False,
    set_: Parameters = None,
    guard: GuardActions = None,
    q: Annotated[
        list[str] | None, typer.Option("--q", help="What a state costs, name=value; 1 for those that are not named.")
    ] = None,
    r: Annotated[float, typer.Option("--r", help="What an input at its limit costs (1, where it has none).")] = 1.0,
    period: Annotated[float | None, typer.Option(help="Gains for inputs that are held for so long, s.")] = None,
    as_json: Json = False,
) -> None:
    """Linearise a robot: A, B, eigenvalues, what its inputs can reach, and LQR gains."""
    report = asked_report(context)
    system = changed_robot(robot, set_, None, guard)
    told, start = numbers(at, "--at"), numbers(x0, "--x0")
    weights = numbers(q, "--q")
    kept = [name for name in (keep or "").replace(",", " ").split() if name]
    with Progress(quiet=as_json, doing="linearizing"):
        from saltus.control import linearize

        linear = linearize(
            system,
            start | told if here else start,
            numbers(inputs, "--input") or None,
            mode,
            at="state" if here else told or "equilibrium",
            keep=kept,
        )
        content = _content(linear, weights, r, period)
    if report is not None:
        _fill(report, linear, content)
    if as_json:
        print_json(content)
        return
    _print(linear, content)


def _content(linear: Linear, weights: dict[str, float], r: float, period: float | None) -> dict[str, Any]:
    """All of it, with gains, or why there are none."""
    from saltus.control._linear import as_pairs

    gains: dict[str, Any] = {"K": None, "closed_loop_eigenvalues": None, "period": period, "no_gains": None}
    Q, R = linear.weights(weights), linear.efforts(r)
    try:
        K = linear.lqr(weights, r, period=period)
    except InputError as error:
        if weights or period is not None:  # they were asked for
            raise
        gains["no_gains"] = str(error)
    else:
        gains |= {"K": K.tolist(), "closed_loop_eigenvalues": as_pairs(linear.closed_loop(K, period=period))}
    return linear.to_dict() | {"Q": np.diag(Q).tolist(), "R": np.diag(R).tolist()} | gains


def _matrix(linear: Linear) -> tuple[list[str], list[list[str]]]:
    columns = ["d/dt", *linear.states, *linear.inputs]
    rows = [
        [name, *(f"{value:.6g}" for value in np.concatenate([a, b]))]
        for name, a, b in zip(linear.states, _clean(linear.A), _clean(linear.B), strict=True)
    ]
    return columns, rows


def _clean(matrix: np.ndarray) -> np.ndarray:
    """Rounding left out: what is below 1e-12 of the largest; and no negative zeros."""
    size = float(np.abs(matrix).max(initial=0.0))
    return np.where(np.abs(matrix) < 1e-12 * max(size, 1.0), 0.0, matrix)


def _number(pair: list[float]) -> str:
    from saltus.control._linear import shown

    return shown(complex(*pair))


def _facts(linear: Linear, content: dict[str, Any]) -> list[tuple[str, str]]:
    """What there is to say beside the matrices, in words."""
    loop = content["closed_loop_eigenvalues"]
    kind = "an equilibrium" if linear.equilibrium else "a state that is no equilibrium"
    weak = linear.weak_mode
    what = "multipliers in closed loop" if content["period"] is not None else "eigenvalues in closed loop (1/s)"
    facts = [
        ("about", f"{kind} in mode {linear.mode}, largest acceleration {linear.residual:.2g}"),
        ("at", ", ".join(f"{name} = {value:.6g}" for name, value in linear.state.items() if abs(value) > 1e-12) or "0"),
        ("equilibrium", _beyond(linear)),
        ("inputs", ", ".join(f"{name} = {value:.6g}" for name, value in linear.input_values.items()) or "none"),
        ("follow", "; ".join(_follows(name, parts) for name, parts in linear.dropped.items())),
        ("eigenvalues (1/s)", ", ".join(map(_number, content["eigenvalues"]))),
        ("controllable", _reach(linear)),
    ]
    if weak is not None:
        moves = ", ".join(f"{name} {share:.0%}" for name, share in list(weak.states.items())[:4] if share > 0.005)
        value = _number([weak.eigenvalue.real, weak.eigenvalue.imag])
        facts.append(("weak mode", f"{value} 1/s, margin {weak.margin:.3g}, moves {moves}"))
    if content["no_gains"]:
        facts.append(("gains", content["no_gains"]))
    elif loop is not None:
        facts.append((what, ", ".join(map(_number, loop))))
    return [(name, value) for name, value in facts if value]


def _beyond(linear: Linear) -> str:
    """What the actuators cannot give of what would hold the robot there."""
    needs = [f"needs {one:.6g} of {name}, whose limit is {most:g}" for name, (one, most) in linear.beyond.items()]
    return f"no, {' and '.join(needs)}" if needs else ""


def _reach(linear: Linear) -> str:
    answer = "yes" if linear.controllable else "no"
    size = f"smallest singular value {linear.smallest_singular_value:.3g} (scaled)"
    return f"{answer}, rank {linear.rank} of {len(linear.states)}, {size}"


def _follows(name: str, parts: dict[str, float]) -> str:
    terms = " ".join(f"{value:+.6g} {state}" for state, value in parts.items())
    return f"{name} = {terms.removeprefix('+')}" if terms else f"{name} stays"


def _gain_table(linear: Linear, content: dict[str, Any]) -> tuple[list[str], list[list[str]]]:
    rows = [
        [f"{name}, cost {cost:.3g}", *(f"{value:.6g}" for value in row)]
        for name, cost, row in zip(linear.inputs, content["R"], content["K"], strict=True)
    ]
    return ["", *linear.states], [["weight", *(f"{value:.3g}" for value in content["Q"])], *rows]


def _print(linear: Linear, content: dict[str, Any]) -> None:
    columns, rows = _matrix(linear)
    print_table(columns, rows, f"{linear.robot}: A and B")
    for name, value in _facts(linear, content):
        print(f"{name}: {value}")
    if content["K"] is not None:
        print_table(*_gain_table(linear, content), _gain_title(content))


def _gain_title(content: dict[str, Any]) -> str:
    held = "" if content["period"] is None else f", held for {content['period']:g} s"
    return f"gains K of u = u0 - K z{held}"


def _fill(report: Report, linear: Linear, content: dict[str, Any]) -> None:
    document = report.begin(f"{linear.robot}, linear: {linear.mode}")
    document.facts("Key figures", [(name, value, "") for name, value in _facts(linear, content)])
    document.table("A and B", *_matrix(linear), note="rates of the rows by states and inputs, SI units")
    if content["K"] is not None:
        document.table("Gains", *_gain_table(linear, content), note=_gain_title(content))
