"""``saltus`` and ``python -m saltus`` are the command line."""

import gc
import os
import sys
import warnings
from typing import Any

# How many objects come between two searches for garbage. Libraries make very many that live to the end, and Python's
# own 700 would look through them again and again while they load.
OBJECTS = 50_000


def main() -> None:
    """Run the command line, and leave without a last search for garbage, which would take as long as a short run."""
    gc.set_threshold(OBJECTS)
    warnings.showwarning = _say
    try:
        _command()
    finally:
        gc.freeze()


def _say(message: Warning | str, *where: Any, **more: Any) -> None:
    """A warning in one line, as errors are; where in the program it comes from helps nobody here."""
    print(f"saltus: {message}", file=sys.stderr)


def _command() -> None:
    """Load the command line and run it; Ctrl-C while it loads ends it as later."""
    try:
        from saltus.cli import main as command
    except KeyboardInterrupt:
        print("saltus: interrupted", file=sys.stderr)
        sys.exit(130)
    try:
        command()
    except SystemExit as leaving:
        if leaving.code == 130:
            # LLVM, which Ctrl-C left half-way, may crash as it is taken down; all is written by now
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(130)
        raise


if __name__ == "__main__":
    main()
