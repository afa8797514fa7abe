"""``python -m saltus`` is the command line."""

from saltus.cli import main

if __name__ == "__main__":
    main()
