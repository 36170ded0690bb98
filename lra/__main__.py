"""`lra` and `python -m lra`: the process's entry; Ctrl-C ends it without a traceback, from the first import on."""

import sys


def main() -> int:
    """Run the process's command line; returns the exit code."""
    try:
        from lra.cli import main as run

        return run()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":  # not in the worker processes of a generator
    sys.exit(main())
