"""What is told of one registered thing: what it is, which numbers it takes, and their defaults and units."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

from saltus import registry


def facts(kind: str, name: str) -> dict[str, Any]:
    """What everything registered has, and what is particular to its kind."""
    from saltus.robots._from_urdf import UrdfName

    file = UrdfName.of(name) if kind == "robots" else None
    if file is not None:
        return {"name": name, "file": str(file.path)} | _robot(name)
    particular = {
        "robots": _robot, "controllers": _controller, "laws": _law, "methods": _method, "gaits": _gait,
        "papers": _paper, "problems": _problem,
    }[kind](name)  # fmt: skip
    what = {} if kind == "robots" else {"kind": registry.KINDS[kind].singular}
    head = {"name": name, **what, "file": str(registry.where(kind, name))}
    return head | {"about": _first_sentence(registry.load(kind, name).__doc__)} | particular


def _first_sentence(text: str | None) -> str:
    return " ".join((text or "").partition("\n\n")[0].split())


def _robot(name: str) -> dict[str, Any]:
    from saltus.robots import find_robot

    system = find_robot(name)
    m = system.mechanism
    return {
        "name": system.name,
        "about": system.about,
        "coordinates": dict(m.coordinates),
        "velocities": m.velocities,
        "parameters": _numbers(m.parameters),
        "actuators": {name: actuator.unit for name, actuator in m.actuators.items()},
        "units": {unit.name: list(unit.statuses) for unit in system.units},
        "guards": {guard.name: f"{guard.action}: {guard.about}" for guard in system.guards}
        | dict.fromkeys(system.contact_guards, "record: of a contact; may be terminal"),
        "controllers": {name: str(one) for name, one in system.controllers.items()},
        "profiles": {name: profile.about for name, profile in system.profiles.items()},
        "start": system.start_values,
        "until": system.until,
    }


def _problem(name: str) -> dict[str, Any]:
    from saltus.optimize import find_problem

    problem = find_problem(name)
    return {
        "robot": problem.robot.name,
        "readings": list(getattr(registry.load("problems", name), "READINGS", ())),
        "objective": problem.objective,
        "rules": list(problem.rules),
        "variables": {name: f"{low:.6g} to {high:.6g}" for name, (low, high) in problem.variables.items()},
    }


def _numbers(parameters: Any) -> dict[str, Any]:
    return {
        name: {"value": p.value, "unit": p.unit, "about": p.about, "source": p.source} for name, p in parameters.items()
    }


def _controller(name: str) -> dict[str, Any]:
    from saltus.control import find_controller

    kind = find_controller(name)
    text = inspect.getdoc(kind) or ""
    told = _described(text)
    options = {}
    for field in dataclasses.fields(kind):
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        needed = default is dataclasses.MISSING
        options[field.name] = {
            "value": None if needed else default,
            "unit": "",
            "about": told.get(field.name, ""),
            "needed": needed,
        }
    return {"does": " ".join(text.partition("\nParameters\n")[0].split()), "options": options}


def _described(text: str) -> dict[str, str]:
    """What a docstring says of each parameter; some share their lines, as in ``motor_t, torque``."""
    found: dict[str, str] = {}
    for names, lines in re.findall(r"^([a-z]\w*(?:, \w+)*)\n((?:    .*\n?)+)", text.partition("\n-----")[2], re.M):
        found |= dict.fromkeys(names.split(", "), " ".join(lines.split()))
    return found


def _law(name: str) -> dict[str, Any]:
    from saltus.contact import find_law

    return {
        "coefficients": {
            c.name: {"value": c.default, "unit": "1", "about": f"from {c.lower:g} to {c.upper:g}"}
            for c in find_law(name).declared
        }
    }


def _method(name: str) -> dict[str, Any]:
    from saltus.engine import find_method

    tableau = find_method(name)
    return {"order": tableau.order, "stages": tableau.count}


def _gait(name: str) -> dict[str, Any]:
    from saltus.errors import InputError
    from saltus.gaits import find_gait

    module = registry.load("gaits", name)
    robot = getattr(module, "ROBOT", None)
    if not isinstance(robot, str):
        raise InputError(f"{module.__file__} has no ROBOT; name the robot it is for")
    made = find_gait(name, robot)
    m = made.held(0).mechanism
    units = {**m.coordinates, **m.velocities}
    return {
        "about": made.about or _first_sentence(module.__doc__),
        "robot": robot,
        "phases": [phase.name for phase in made.phases],
        "section": {key: f"{value:g} {units[key]}" for key, value in made.section.items()},
        "start": {
            key: {"value": float(value), "unit": units[key], "about": ""}
            for key, value in made.state().items()
            if key in made.free
        },
        "knobs": _numbers(made.knobs),
    }


def _paper(name: str) -> dict[str, Any]:
    from saltus.studies import find_paper

    paper = find_paper(name)
    detail = inspect.signature(paper.reproduce).parameters["detail"].default
    return {
        "title": paper.title,
        "citation": paper.citation,
        "robot": paper.robot,
        "options": {"detail": {"value": detail, "unit": "", "about": "cells along each side of a map"}},
    }
