"""``saltus`` and ``python -m saltus`` are the command line."""

import os
import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is being loaded is told as later."""
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
