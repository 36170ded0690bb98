"""Entry point of `lra` and `python -m lra`; Ctrl-C ends the process without a traceback, even during imports."""

import _signal as signal  # built in; the import of signal itself takes long enough for a Ctrl-C
import sys

if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else the shell has told the process to ignore it
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback from an import; the command sets its own handler later

if __name__ == "__main__" and not sys.flags.safe_path and f"{sys.path[0]}/lra/__main__.py" != __file__:
    del sys.path[0]  # the current folder, where `python -m` looks first: a file of the name of a package would run

from lra.cli import main

if __name__ == "__main__":  # the worker processes of a data generator import this file, and must not run a command
    sys.exit(main())
