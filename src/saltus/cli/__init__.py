"""The command line: every verb works for people, and with --json for programs."""

from saltus.cli import _contacts, _gaits, _graph, _inspect, _linearize, _optimize, _papers, _runs, _search  # noqa: F401 - verbs
from saltus.cli._app import app, main

__all__ = ["app", "main"]
