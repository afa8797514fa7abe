"""Verbs that look at what is registered: list and check."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from saltus import registry
from saltus.cli._app import app
from saltus.cli._facts import facts
from saltus.cli._listed import everything
from saltus.cli._report import asked_report, told
from saltus.cli._words import Json, Progress, print_json, print_tree
from saltus.errors import InputError, unknown_name


@app.command("list")
def list_command(
    context: typer.Context,
    name: Annotated[str | None, typer.Argument(help="Show one thing in detail: a name, or gaits/name.")] = None,
    as_json: Json = False,
) -> None:
    """List all that can be used by name, or what one of them takes."""
    report = asked_report(context)
    with Progress(quiet=as_json, doing="looking"):
        content = everything() if name is None else facts(*_target(name))
    if report is not None:
        report.begin(name or "All that can be used by name").facts("What there is", told(content))
    if as_json:
        print_json(content)
    else:
        print_tree({key: value for key, value in content.items() if value not in ({}, [])})


@app.command("check")
def check_command(
    context: typer.Context,
    target: Annotated[str, typer.Argument(help="A file (.py or .urdf), a name, or robots/name and the like.")],
    as_json: Json = False,
) -> None:
    """Hold a robot, controller, law or method to what every one of its kind must satisfy, or lint a URDF file."""
    from saltus.cli._urdf import check_urdf
    from saltus.conformance import check
    from saltus.robots._from_urdf import UrdfName

    file = UrdfName.of(target)
    if file is not None:
        check_urdf(context, file, as_json)
        return
    report = asked_report(context)
    kind, name = _target(target)
    results: list[Any] = []
    going = check(kind, name)
    while True:
        with Progress(quiet=as_json, doing=f"check {len(results) + 1}"):
            result = next(going, None)
        if result is None:
            break
        results.append(result)
        if not as_json:
            print(f"ok   {result.check}" if result.ok else f"FAIL {result.check}: {result.reason}", flush=True)
    failed = sum(not result.ok for result in results)
    content = {
        "status": "failed" if failed else "ok",
        "kind": kind,
        "name": name,
        "file": str(registry.where(kind, name)),
        "checks": [{"check": result.check, "ok": result.ok, "reason": result.reason} for result in results],
    }
    if report is not None:
        document = report.begin(f"{kind}/{name}: {len(results)} checks, {failed or 'none'} failed")
        document.checks("Checks", [(result.ok, result.check, result.reason, "") for result in results])
    if as_json:
        print_json(content)
    else:
        print(f"{kind}/{name} ({content['file']}): {len(results)} checks, {failed or 'none'} failed")
    if failed:
        raise typer.Exit(1)


def _target(text: str) -> tuple[str, str]:
    """Kind and name of what a file, a name, or a name with its kind stands for."""
    from saltus.robots._from_urdf import UrdfName

    if UrdfName.of(text) is not None:
        return "robots", text
    kind, slash, name = text.partition("/")
    if slash and kind in registry.KINDS and not text.endswith(".py"):
        return registry.find(kind, name).kind, name
    if slash or text.endswith(".py"):
        entry = registry.add_file(text)
        return entry.kind, entry.name
    kinds = [kind for kind in registry.KINDS if text in registry.names(kind)]
    if len(kinds) > 1:
        raise InputError(f"{text!r} is ambiguous; say {' or '.join(f'{kind}/{text}' for kind in kinds)}")
    if kinds:
        return kinds[0], text
    for path, reason in registry.problems().items():
        if path.stem == text:
            raise InputError(f"cannot use {path}: {reason}")
    raise unknown_name("name", text, {name for kind in registry.KINDS for name in registry.names(kind)})
