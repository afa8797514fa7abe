"""A and B of a robot, exactly: at an equilibrium that is found, at any state, or along a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from saltus._content import equal_by_content
from saltus.control._equilibrium import Place, find_equilibrium, held_values, on_the_edge, statuses_at
from saltus.control._independent import Choice, Flow, arrays, choose, direction_names, flow_at, read_choice
from saltus.control._linear import Linear
from saltus.control._protocol import per_actuator
from saltus.engine import Trajectory
from saltus.errors import InputError, unknown_name
from saltus.hybrid import HybridSystem, find_statuses

PLACES = ("equilibrium", "state")


def linearize(
    system: HybridSystem,
    state: Mapping[str, float] | Sequence[float] | np.ndarray | None = None,
    inputs: float | Mapping[str, float] | Sequence[float] | None = None,
    mode: Any = None,
    *,
    at: str | Mapping[str, float] = "equilibrium",
    keep: Sequence[str] = (),
) -> Linear:
    """The linear system of small differences from an equilibrium of a robot, or from a state.

    Parameters
    ----------
    state
        By name (the robot's start for the rest) or as a vector: where the search for an equilibrium begins, or the
        state itself.
    inputs
        One for all, by actuator, or in order; zero if None. An equilibrium with these is looked for first, and then one
        with others, all changes being as small as they can be.
    mode
        A status by name for each unit, or the name of a mode. If None, it is found: the engine must stay in it.
    at
        ``equilibrium``; ``state``, to take the state as it is; or coordinates by name at which an equilibrium is found.
    keep
        Coordinates (or readings) that stay as states where contacts leave fewer than there are. Others are
        chosen by pivoting on the rows of the contacts, of near equals the first coordinate being given up.
    """
    if not isinstance(system, HybridSystem):
        raise InputError(f"linearize needs a robot, such as saltus.robots.hopper(), got {system!r}")
    x = system.state(state)
    u = np.zeros(len(system.mechanism.actuators))
    if inputs is not None:
        u = np.array(per_actuator(system, inputs, "inputs"))
    told = held_values(system, at) if isinstance(at, Mapping) else {}
    if not told and at not in PLACES and not isinstance(at, Mapping):
        raise unknown_name("place", at, PLACES, "linearize")
    if at == "state":
        place = Place(x, u, find_statuses(system, mode) if mode is not None else statuses_at(system, x, u))
        if mode is None and (slips := on_the_edge(system, place)):
            raise InputError(f"{system.name} in mode {system.mode_name(place.statuses)}: {slips}")
    else:
        place = find_equilibrium(system, x, u, mode, told)
    return _at(system, place, keep)


def _at(system: HybridSystem, place: Place, keep: Sequence[str]) -> Linear:
    mechanism, flow = system.mechanism, flow_at(system, place.statuses, place.x)
    values, watched = _read(system, flow, 0.0, place.x, place.u)
    choice = choose(system, values[2], values[3], watched[0], keep)
    if not choice.names:
        raise InputError(f"{system.name} in mode {flow.name} cannot move at all; name another mode")
    A, B, full = read_choice(choice, values, watched)
    return Linear(
        robot=system.name,
        mode=flow.name,
        statuses=place.statuses,
        states=choice.names,
        inputs=tuple(mechanism.actuators),
        A=A,
        B=B,
        state=dict(zip(system.state_names, place.x.tolist(), strict=True)),
        input_values=dict(zip(mechanism.actuators, place.u.tolist(), strict=True)),
        acceleration=dict(zip(mechanism.velocities, values[5].ravel().tolist(), strict=True)),
        forces=dict(zip(system.row_names, values[6].ravel().tolist(), strict=True)),
        full=full,
        full_names=(*direction_names(system), *mechanism.velocities),
        limits=np.array(system.input_limits),
    )


def _read(
    system: HybridSystem, flow: Flow, t: float, x: np.ndarray, u: np.ndarray
) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Derivatives of a mode at a state, if the mode is possible there."""
    nq = system.mechanism.nq
    arguments = (t, x[:nq], x[nq:], u, system.parameter_values)
    values, watched = arrays(flow.linear, *arguments), arrays(flow.seen, *arguments)
    if not all(np.isfinite(part).all() for part in values) or np.min(values[7], initial=1.0) <= 0:
        raise InputError(
            f"{system.name} in mode {flow.name}: the closed contacts nearly say the same thing twice, or the mass "
            "matrix is singular, so that accelerations are not unique there"
        )
    return values, watched


@equal_by_content
@dataclass(frozen=True, eq=False)
class LinearArc:
    """A(t) and B(t) along an arc of a run: a matrix for each time, all of the same independent states.

    The inputs are those of the run as functions of time: what a feedback would add is B times its derivative.
    """

    mode: str
    arc: int
    t: np.ndarray
    x: np.ndarray
    u: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    A: np.ndarray
    B: np.ndarray
    full: np.ndarray


def linearize_along(
    run: Trajectory, times: Sequence[float] | np.ndarray | None = None, *, keep: Sequence[str] = ()
) -> list[LinearArc]:
    """A and B along a run, an entry for each arc in which some of the times are.

    Parameters
    ----------
    times
        That increase, s; those of the run's samples if None. At an event, the state after it.
    keep
        As for `linearize`; other independent states may be left in other modes.
    """
    if not isinstance(run, Trajectory):
        raise InputError(f"linearize_along needs a run, as saltus.simulate returns it, got {run!r}")
    seen = run.samples if times is None else run.everything_at(times)
    system = run.system
    limits = np.asarray(system.input_limits)
    found = []
    for arc in np.unique(seen.arc):
        here = seen.arc == arc
        t, x, u = seen.t[here], seen.x[here], np.clip(seen.inputs[here], -limits, limits)
        flow = flow_at(system, tuple(int(status) for status in run.arc_statuses[arc]), x[0])
        read = [_read(system, flow, float(ti), xi, ui) for ti, xi, ui in zip(t, x, u, strict=True)]
        choice = _common_choice(system, read, keep)
        parts = [read_choice(choice, values, watched) for values, watched in read]
        A, B, full = (np.stack([part[k] for part in parts]) for k in range(3))
        inputs = tuple(system.mechanism.actuators)
        found.append(LinearArc(flow.name, int(arc), t, x, u, choice.names, inputs, A, B, full))
    return found


def _common_choice(system: HybridSystem, read: Sequence[tuple[Any, Any]], keep: Sequence[str]) -> Choice:
    """The choice, of those for each time, whose states are independent at all times: that of the least worst map."""
    every = [choose(system, values[2], values[3], watched[0], keep) for values, watched in read]
    made = list({one.names: one for one in every}.values())
    if len(made) == 1:
        return made[0]
    worst = [max(float(np.abs(read_choice(one, *both)[2]).max()) for both in read) for one in made]
    return made[int(np.argmin(worst))]
