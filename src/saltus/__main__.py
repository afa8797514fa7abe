"""``saltus`` and ``python -m saltus`` are the command line."""

import sys


def main() -> None:
    """Run the command line; Ctrl-C while it is being loaded is told as later."""
    try:
        from saltus.cli import main as command
    except KeyboardInterrupt:
        print("saltus: interrupted", file=sys.stderr)
        sys.exit(130)
    command()


if __name__ == "__main__":
    main()
