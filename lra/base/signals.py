"""End a command cleanly after Ctrl-C, SIGTERM or SIGHUP, with the exit code that shells use for the signal.

A command that is still starting has nothing to clean up, so the process ends at once. Later, a signal raises `Stopped`
in the main thread: unfinished files are removed, child processes end, locks are released. A signal during an import
waits for its end: where C++ code imports, as torch's does, an exception would abort the process.
"""

import functools
import os
import signal
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import ParamSpec

P = ParamSpec("P")

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
REPEAT_SECONDS = 5.0  # a second signal within this time is the same Ctrl-C, which the parent has passed on
IMPORT_SECONDS = 0.1  # a signal during an import is raised again after this time


class Stopped(BaseException):
    """Raised when a signal has asked this process to end; `kept` tells the user what is kept and how to resume."""

    def __init__(self, number: int, kept: str = ""):
        super().__init__(number, kept)
        self.number, self.kept = number, kept

    @property
    def code(self) -> int:
        """The exit code that shells use for this signal."""
        return 128 + self.number

    def __str__(self) -> str:
        """The line that the user sees."""
        name = signal.Signals(self.number).name
        how = "interrupted" if self.number == signal.SIGINT else f"stopped by {name}"
        return f"{how}; {self.kept}" if self.kept else how


class _SignalState:
    """The state of the signal handler: the signal, its time, whether `Stopped` may be raised, and whether it waits."""

    number: int | None = None
    seconds = 0.0
    cleans_up = False
    waits_for_import = False


def _handle_signal(number: int, frame: FrameType | None) -> None:
    if _SignalState.number is None:
        _SignalState.number, _SignalState.seconds = number, time.monotonic()
        if number == signal.SIGHUP:
            _leave_terminal()
    elif not _SignalState.waits_for_import:
        if time.monotonic() - _SignalState.seconds > REPEAT_SECONDS:
            os._exit(128 + number)  # the user does not want to wait for the clean-up
        return
    if not _SignalState.cleans_up:
        with suppress(OSError):  # stderr may have no reader any more
            os.write(2, f"lra: {Stopped(number)}\n".encode())
        os._exit(128 + number)
    _SignalState.waits_for_import = _is_importing(frame)
    if _SignalState.waits_for_import:
        again = threading.Timer(IMPORT_SECONDS, signal.raise_signal, (number,))
        again.daemon = True
        again.start()
        return
    raise Stopped(_SignalState.number)


def _is_importing(frame: FrameType | None) -> bool:
    """Whether the interrupted code is an import that began within the main function."""
    while frame is not None and frame.f_code.co_filename != __file__:
        if frame.f_globals.get("__name__") == "importlib._bootstrap":
            return True
        frame = frame.f_back
    return False


def _leave_terminal() -> None:
    """Redirect output from a closed terminal to /dev/null, because writing to it would raise another error.

    A closed terminal no longer counts as one for `isatty`, so every character device is redirected.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        with suppress(OSError):  # the shell may have closed the descriptor
            if stat.S_ISCHR(os.fstat(stream).st_mode):
                os.dup2(nowhere, stream)
    os.close(nowhere)


def raise_if_stopped() -> None:
    """Raise `Stopped` if a signal has come: a library may have caught the first `Stopped` or replaced it."""
    if _SignalState.number is not None:
        raise Stopped(_SignalState.number)


@contextmanager
def _quiet_where_nothing_can_be_raised() -> Iterator[None]:
    """Print no traceback for a `Stopped` in a finalizer, where Python drops it: `raise_if_stopped` raises it again."""
    before = sys.unraisablehook
    sys.unraisablehook = lambda what: None if what.exc_type is Stopped else before(what)
    try:
        yield
    finally:
        sys.unraisablehook = before


@contextmanager
def clean_up_on_signals() -> Iterator[None]:
    """Within this context a signal raises `Stopped`, so that `finally` and `with` blocks clean up."""
    before, _SignalState.cleans_up = _SignalState.cleans_up, True
    try:
        yield
    finally:
        _SignalState.cleans_up = before


def exit_on_signals(say: Callable[[str], object]) -> Callable[[Callable[P, int]], Callable[P, int]]:
    """Decorate a main function so that a signal ends it cleanly with the signal's exit code.

    `say` prints the line of `Stopped`. A signal that the process ignores stays ignored, as `nohup` asks for.
    """

    def decorate(main: Callable[P, int]) -> Callable[P, int]:
        @functools.wraps(main)
        def run(*args: P.args, **settings: P.kwargs) -> int:
            hears = threading.current_thread() is threading.main_thread()  # Python lets no other thread
            before = {number: signal.getsignal(number) for number in SIGNALS if hears}
            try:
                for number, handler in before.items():
                    if handler is not signal.SIG_IGN:
                        signal.signal(number, _handle_signal)
                with _quiet_where_nothing_can_be_raised():
                    return main(*args, **settings)
            except Stopped as stopped:
                say(str(stopped))
                return stopped.code
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)
                _SignalState.number, _SignalState.waits_for_import = None, False

        return run

    return decorate
