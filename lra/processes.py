"""Processes that this one starts: they end with it, however it ends, and what went wrong in them is known here."""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import TracebackType

from lra.signals import check_stopped

PR_SET_PDEATHSIG = 1
STATUS = Path("/proc/self/status")  # of Linux
STOP_SECONDS = 60.0  # that a child gets to end in order
LOOK_SECONDS = 0.1
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None  # loaded here: between fork and exec nothing may be


def peak_resident_bytes() -> int:
    """Most memory that this process has held, since its program began.

    The count of `getrusage` goes on across the start of a program: a child would begin with its parent's memory.
    """
    if STATUS.exists():
        line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # macOS counts bytes


def end_with(parent: int) -> None:
    """Ask for SIGKILL when `parent`, the process that has started this one, ends; on Linux.

    The kernel says nothing of a parent that had ended before, so this looks whether it is still there.
    """
    if _LIBC is not None:
        _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)


def end_with_pool() -> None:
    """End with the process whose pool of workers this one is in, if it is in one; joblib's go on working otherwise."""
    parent = multiprocessing.parent_process()
    if parent is not None and parent.pid is not None:
        end_with(parent.pid)


class Child:
    """A process that ends with this one; as a context, it has ended when the block is left.

    Args:
        command: the program and its words.
        env: variables beside those of this process.
        echo: whether its stderr is passed on to this one's; it is kept in either case.
        keep_output: whether its stdout is kept for `output`, instead of being this one's.
        patience_seconds: what it gets to end in order.

    Attributes:
        output: the lines that it wrote to stdout, when it has ended.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        echo: bool = True,
        keep_output: bool = False,
        patience_seconds: float = STOP_SECONDS,
    ):
        self.patience_seconds = patience_seconds
        self._echo = echo
        self._lines: list[str] = []
        self.output: list[str] = []
        self._process = subprocess.Popen(
            command,
            env={**os.environ, **(env or {})},
            stdout=subprocess.PIPE if keep_output else None,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            preexec_fn=partial(end_with, os.getpid()),
        )
        self._readers = [threading.Thread(target=self._read_errors, daemon=True)]
        self._readers += [threading.Thread(target=self._read_output, daemon=True)] if keep_output else []
        for reader in self._readers:
            reader.start()

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        with self._process.stderr as lines:
            for line in lines:
                if self._echo:
                    sys.stderr.write(line)
                    sys.stderr.flush()
                self._lines.append(line.strip())

    def _read_output(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            self.output.extend(line.rstrip() for line in lines)

    def __enter__(self) -> Child:
        return self

    def __exit__(self, _: type[BaseException] | None, error: BaseException | None, __: TracebackType | None) -> None:
        stop([self])

    @property
    def code(self) -> int | None:
        """Its exit code; None while it runs."""
        return self._process.poll()

    def wait(self, seconds: float = float("inf")) -> int | None:
        """Wait for its end, at most so long; returns the exit code, None when it still runs."""
        end = time.monotonic() + seconds
        while not self.join(LOOK_SECONDS):
            check_stopped()
            if time.monotonic() >= end:
                return None
        return self.code

    def send(self, number: int) -> None:
        """Send it a signal, if it runs."""
        self._process.send_signal(number)

    def join(self, seconds: float) -> bool:
        """Wait at most so long, whatever happens to this process meanwhile; returns whether it has ended."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        for reader in self._readers:
            reader.join(1)
        return True

    def error(self) -> str:
        """The line that says why it ended as it did: what killed it, its own `lra:` line, or the last one it wrote."""
        code = self.code
        if code is not None and code < 0:
            name = signal.Signals(-code).name
            return f"killed by {name}" + (": out of memory?" if name == "SIGKILL" else "")
        said = [line.removeprefix("lra: ") for line in self._lines if line.startswith("lra: ")]
        return (said or [line for line in self._lines if line] or [f"exit code {code}"])[-1]


def wait_any(children: Sequence[Child]) -> tuple[Child, int]:
    """Wait for the first of several to end; returns it and its exit code.

    Raises:
        Stopped: when a signal has come.
    """
    while True:
        for child in children:
            if child.join(LOOK_SECONDS):
                code = child.code
                assert code is not None
                return child, code
        check_stopped()


def stop(children: Iterable[Child]) -> None:
    """End those that still run: all are asked at once, and killed when their patience is over."""
    running = [child for child in children if child.code is None]
    for child in running:
        child.send(signal.SIGTERM)  # not SIGINT: a Python that only just starts would show a traceback
    begun = time.monotonic()
    for child in running:
        if not child.join(max(begun + child.patience_seconds - time.monotonic(), 0)):
            child.send(signal.SIGKILL)
            child.join(STOP_SECONDS)
