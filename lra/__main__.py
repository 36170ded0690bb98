"""`python -m lra` is `lra`."""

import sys

from lra.cli import main

if __name__ == "__main__":  # not in the worker processes of a generator
    sys.exit(main())
