"""The command line: every verb works for people, and with --json for programs."""

from saltus.cli._app import app, main

__all__ = ["app", "main"]
