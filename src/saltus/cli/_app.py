"""The command itself: options of all verbs, and how errors are told."""

from __future__ import annotations

import _thread
import contextlib
import json
import os
import signal
import sys
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer
import typer.main

import saltus
from saltus import registry
from saltus.cli._report import keep_force, keep_report, write_report
from saltus.cli._verbs import VerbGroup
from saltus.errors import SaltusError

app = typer.Typer(
    name="saltus",
    cls=VerbGroup,
    help="A laboratory for robots whose motion is smooth until something sudden happens.",
    epilog="Exit codes: 0 all is well; 1 a run or a check failed; 2 it was refused; 3 the audit of a run failed; "
    "130 interrupted.",
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

# The base of all errors about the command's words; typer keeps its own copy of it under a private name.
_CommandError: Any = typer.BadParameter.__mro__[2]


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; errors are one line for people, or a JSON object for programs."""
    arguments = sys.argv[1:] if arguments is None else arguments
    try:
        with _interrupts_insist():
            code = _obey(arguments or ["--help"])
    except _CommandError as error:
        code = _report(error.format_message(), arguments, 2)
    except SaltusError as error:
        code = _report(str(error), arguments, 2)
    except (KeyboardInterrupt, typer.Abort):
        code = _report("interrupted", arguments, 130)
    except BrokenPipeError:
        # what is still to be written at exit would fail again
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    except (OSError, MemoryError) as error:
        code = _report(f"{type(error).__name__}: {error}", arguments, 2)
    sys.exit(code)


def _obey(arguments: list[str]) -> int:
    """Run a verb; a command's own ``main`` would take Ctrl-C for a silent exit."""
    command = _command()
    try:
        with command.make_context(app.info.name, list(arguments)) as context:
            code = _invoke(command, context)
            write_report(context, arguments)
    except typer.Exit as leaving:
        return int(leaving.exit_code)
    return code


def _invoke(command: Any, context: typer.Context) -> int:
    """Run a verb; what it has to report is written even if what it did came to no good end."""
    try:
        command.invoke(context)
    except typer.Exit as leaving:
        return int(leaving.exit_code)
    return 0


@contextlib.contextmanager
def _interrupts_insist() -> Iterator[None]:
    """Repeat Ctrl-C until it has ended the verb: CasADi and LLVM drop what is raised while they call Python."""
    ordinary = signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not ordinary:
        yield
        return
    over, told = threading.Event(), sys.unraisablehook
    repeats: list[threading.Thread] = []

    def tell(lost: Any) -> None:
        if not isinstance(lost.exc_value, KeyboardInterrupt):
            told(lost)

    def repeat() -> None:
        while not over.wait(0.2):
            _thread.interrupt_main()

    def insist(number: int, frame: Any) -> None:
        if over.is_set():
            return
        if not repeats:
            sys.unraisablehook = tell
            repeats.append(threading.Thread(target=repeat, daemon=True))
            repeats[0].start()
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, insist)
    try:
        yield
    except Exception as error:
        if repeats:  # what came through compiled code has become another error there
            raise KeyboardInterrupt from error
        raise
    finally:
        try:
            over.set()
        except KeyboardInterrupt:
            over.set()
        for thread in repeats:
            thread.join()
        sys.unraisablehook = told
        signal.signal(signal.SIGINT, ordinary)


@cache
def _command() -> Any:
    """All verbs with the common options, which may stand before a verb or after it."""
    return typer.main.get_command(app)


def _report(message: str, arguments: list[str], code: int) -> int:
    if "--json" in arguments:
        print(json.dumps({"status": "error", "error": message}))
    print(f"saltus: {message}", file=sys.stderr)
    return code


def _print_version(wanted: bool) -> None:
    if wanted:
        print(saltus.__version__)
        raise typer.Exit


def _add_plugins(folders: list[Path] | None) -> None:
    for folder in folders or []:
        registry.add_folder(folder)


@app.callback()
def _common(
    plugins: Annotated[
        list[Path] | None,
        typer.Option(
            help="A folder of robots, controllers, laws and methods of your own; may be given several times.",
            is_eager=True,
            expose_value=False,
            callback=_add_plugins,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help="Write what was done and what came out to one HTML file.", expose_value=False, callback=keep_report
        ),
    ] = None,
    force: Annotated[
        bool,
        typer.Option("--force", help="Write over files that exist.", expose_value=False, callback=keep_force),
    ] = False,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    pass
