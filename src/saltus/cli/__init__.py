"""The command line: every verb works for people, and with --json for programs."""

from saltus.cli import _contacts, _gaits, _optimize, _papers, _runs, _search  # noqa: F401 - each brings its verbs
from saltus.cli._app import app, main

__all__ = ["app", "main"]
