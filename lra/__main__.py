"""`python -m lra` is `lra`."""

import signal
import sys

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # not where a shell has made it deaf
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # until the command listens itself: no traceback from an import

from lra.cli import main

if __name__ == "__main__":  # not in the worker processes of a generator
    sys.exit(main())
