"""The command line: every verb works for people, and with --json for programs."""

from saltus.cli import (  # noqa: F401 - verbs
    _compare,
    _contacts,
    _gaits,
    _graph,
    _inspect,
    _linearize,
    _optimize,
    _papers,
    _region,
    _robustness,
    _runs,
    _search,
    _train,
    _urdf,
)
from saltus.cli._app import app, main

__all__ = ["app", "main"]
