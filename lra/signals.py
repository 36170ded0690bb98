"""An end by a signal: Ctrl-C, SIGTERM and SIGHUP each end a command in order, with an exit code of its own.

While a command starts up there is nothing to put in order, and it ends at once. At work, a signal raises `Stopped` in
the main thread: what is half done is taken back, children end, locks are released.
"""

from __future__ import annotations

import functools
import os
import signal
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import ParamSpec

P = ParamSpec("P")

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
REPEAT_SECONDS = 5.0  # an earlier second signal is the same Ctrl-C, come by way of the parent too


class Stopped(BaseException):
    """A signal has asked this process to end.

    Attributes:
        number: of the signal.
        kept: what is kept and how to go on, for the user's line.
    """

    def __init__(self, number: int, kept: str = ""):
        super().__init__(number, kept)
        self.number, self.kept = number, kept

    @property
    def code(self) -> int:
        """The exit code that shells give for an end by this signal."""
        return 128 + self.number

    def __str__(self) -> str:
        """The user's line."""
        name = signal.Signals(self.number).name
        how = "interrupted" if self.number == signal.SIGINT else f"stopped by {name}"
        return f"{how}; {self.kept}" if self.kept else how


class _Heard:
    """What this process has heard; one object, since handlers have no other place to keep things."""

    number: int | None = None
    seconds = 0.0
    in_order = False


def _hear(number: int, _: FrameType | None) -> None:
    if _Heard.number is not None:
        if time.monotonic() - _Heard.seconds > REPEAT_SECONDS:
            os._exit(128 + number)  # the orderly end takes too long for the user
        return
    _Heard.number, _Heard.seconds = number, time.monotonic()
    if number == signal.SIGHUP:
        _leave_terminal()
    if not _Heard.in_order:
        with suppress(OSError):  # nobody may be there to read it
            os.write(2, f"lra: {Stopped(number)}\n".encode())
        os._exit(128 + number)
    raise Stopped(number)


def _leave_terminal() -> None:
    """A terminal that has hung up takes no more words; writing to it would be an error of its own.

    Nor does it answer that it is a terminal, so every device of characters counts as one.
    """
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (1, 2):
        with suppress(OSError):  # closed by the caller
            if stat.S_ISCHR(os.fstat(stream).st_mode):
                os.dup2(nowhere, stream)
    os.close(nowhere)


def check_stopped() -> None:
    """Raise `Stopped` if a signal has come: its exception may have been lost in a library, or become another error."""
    if _Heard.number is not None:
        raise Stopped(_Heard.number)


@contextmanager
def ends_in_order() -> Iterator[None]:
    """Work that a signal ends by an exception, which runs what stands in `finally` and `with`."""
    before, _Heard.in_order = _Heard.in_order, True
    try:
        yield
    finally:
        _Heard.in_order = before


def hears_signals(say: Callable[[str], object]) -> Callable[[Callable[P, int]], Callable[P, int]]:
    """Decorate a main function: it answers signals, says the line of `Stopped` by `say`, and returns its exit code.

    A signal that is ignored stays ignored: `nohup` and shells' background jobs mean it.
    """

    def decorate(main: Callable[P, int]) -> Callable[P, int]:
        @functools.wraps(main)
        def run(*args: P.args, **settings: P.kwargs) -> int:
            before = {number: signal.getsignal(number) for number in SIGNALS}
            try:
                for number, handler in before.items():
                    if handler is not signal.SIG_IGN:
                        signal.signal(number, _hear)
                return main(*args, **settings)
            except Stopped as stopped:
                say(str(stopped))
                return stopped.code
            finally:
                for number, handler in before.items():
                    signal.signal(number, handler)
                _Heard.number = None

        return run

    return decorate
