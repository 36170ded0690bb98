"""Child processes that end when this process ends, report why they failed, and import installed code alone."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Protocol

from lra.base.signals import raise_if_stopped

PR_SET_PDEATHSIG = 1
STATUS = Path("/proc/self/status")  # exists on Linux only
CLEAR = Path("/proc/self/clear_refs")  # the same
STOP_SECONDS = 60.0  # time that a child has after SIGTERM before it is killed
POLL_SECONDS = 0.1
ERROR = "lra: "  # begins the line of a command's error on its stderr
WARNING = "Warning: "  # begins a line on its stdout that also a command must show which has started many
READ_SECONDS = 10.0  # time to read an ended child's last lines; less only if one of its own children holds the pipe
_LIBC = ctypes.CDLL(None) if sys.platform == "linux" else None  # a library must not be loaded between fork and exec
OUT_OF_MEMORY = (  # torch's allocator on a GPU, CUDA itself, cuBLAS, and the allocator on a CPU
    "CUDA out of memory",
    "CUDA error: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "not enough memory",
    "can't allocate memory",
)


def reset_peak_resident() -> None:
    """Let the largest resident memory begin anew from today's; nothing where the system does not allow it."""
    with contextlib.suppress(OSError):
        CLEAR.write_text("5")  # see proc(5)


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether an error is about too little memory."""
    return isinstance(error, MemoryError) or any(text in str(error) for text in OUT_OF_MEMORY)


def peak_resident_bytes() -> int:
    """Largest resident memory of this process since its program started or `reset_peak_resident`, in bytes.

    On Linux, `getrusage` would include the memory of the parent, because its count survives `exec`.
    """
    if STATUS.exists():
        line = next(line for line in STATUS.read_text().splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # macOS counts bytes


def die_with_parent(parent: int) -> None:
    """Make the kernel kill this process when its parent, with process id `parent`, ends; Linux only.

    The kernel does not report a parent that has ended already, so this is checked too.
    """
    if _LIBC is not None:
        _LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os.kill(os.getpid(), signal.SIGKILL)


def die_with_pool_owner() -> None:
    """Make a process of a multiprocessing pool end with the pool's owner: joblib's workers would go on otherwise."""
    parent = multiprocessing.parent_process()
    if parent is not None and parent.pid is not None:
        die_with_parent(parent.pid)


class _Process(Protocol):
    """What a `Child` needs of a process, such as `subprocess.Popen`: its pipes, its end, and that it hears signals."""

    @property
    def stdout(self) -> IO[str] | None: ...
    @property
    def stderr(self) -> IO[str] | None: ...
    def poll(self) -> int | None: ...
    def wait(self, timeout: float) -> int: ...
    def send_signal(self, sig: int) -> None: ...


class Child:
    """A child process that ends with this process; leaving its `with` block stops it.

    Args:
        env: environment variables that are added to those of this process.
        echo: whether the child's stderr is also written to this process's; it is kept for `error` in either case.
        keep_output: whether the lines of the child's stdout are kept in `output`, instead of going to this process's.
        hear_output: is called with each line of the child's stdout, in a thread; then it does not go to this process's.
        hear_error: is called with each line of its stderr, in another thread, in place of `echo`.
        patience_seconds: time that the child has after SIGTERM before it is killed.
        pass_fds: open files that the child shall have too.
        start: starts the process in place of `subprocess`, without `pass_fds`; is called with `command` and the whole
            environment.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str] | None = None,
        echo: bool = True,
        keep_output: bool = False,
        hear_output: Callable[[str], object] | None = None,
        hear_error: Callable[[str], object] | None = None,
        patience_seconds: float = STOP_SECONDS,
        pass_fds: Sequence[int] = (),
        start: Callable[[Sequence[str], Mapping[str, str]], _Process] | None = None,
    ):
        self.patience_seconds = patience_seconds
        self._lines: list[str] = []
        self.output: list[str] = []
        whole_env = {**os.environ, **(env or {})}
        self._process: _Process = (
            start(command, whole_env)
            if start is not None
            else subprocess.Popen(
                command,
                env=whole_env,
                stdout=subprocess.PIPE if keep_output or hear_output else None,
                stderr=subprocess.PIPE,
                text=True,
                errors="replace",
                pass_fds=pass_fds,
                preexec_fn=partial(die_with_parent, os.getpid()),
            )
        )
        hear_error = hear_error or (echo_line if echo else None)
        streams = (
            (self._process.stderr, self._lines, hear_error),
            (self._process.stdout, self.output if keep_output else None, hear_output),
        )
        self._readers = [threading.Thread(target=_read_lines, args=each, daemon=True) for each in streams if each[0]]
        for reader in self._readers:
            reader.start()

    def __enter__(self) -> Child:
        return self

    def __exit__(self, *_: object) -> None:
        stop([self])

    @property
    def code(self) -> int | None:
        """The child's exit code; None while it runs."""
        return self._process.poll()

    def wait(self, seconds: float = float("inf")) -> int | None:
        """Wait until the child ends, or for `seconds`; return the exit code, or None if it still runs.

        Raises:
            Stopped: when this process gets a signal meanwhile.
        """
        end = time.monotonic() + seconds
        while not self.join(POLL_SECONDS):
            raise_if_stopped()
            if time.monotonic() >= end:
                return None
        return self.code

    def send(self, number: int) -> None:
        """Send the child the signal `number`, if it runs."""
        self._process.send_signal(number)

    def join(self, seconds: float) -> bool:
        """Wait until the child ends, or for `seconds`, without heeding signals; return whether it has ended."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        for reader in self._readers:
            reader.join(READ_SECONDS)
        return True

    def error(self) -> str:
        """Word why the child ended: its `lra:` line, else the signal that killed it, else its last line on stderr."""
        code = self.code
        explained = [line.removeprefix(ERROR) for line in self._lines if line.startswith(ERROR)]
        printed = explained or [line for line in self._lines if line]
        if code is None or code >= 0 or explained:
            return (printed or [f"exit code {code}"])[-1]
        name = signal.Signals(-code).name
        why = "out of memory?" if name == "SIGKILL" else "".join(printed[-1:])  # SIGABRT: C++ prints why
        return f"killed by {name}: {why}" if why else f"killed by {name}"


def _read_lines(stream: IO[str], kept: list[str] | None, hear: Callable[[str], object] | None) -> None:
    with stream:
        for line in stream:
            if hear is not None:
                hear(line.rstrip("\n"))
            if kept is not None:
                kept.append(line.strip())


def echo_line(line: str) -> None:
    """Write a line to this process's stderr, at once."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def wait_any(children: Sequence[Child]) -> tuple[Child, int]:
    """Wait until one of several children ends; return this child and its exit code.

    Raises:
        Stopped: when this process gets a signal meanwhile.
    """
    while True:
        for child in children:
            code = child.wait(POLL_SECONDS)
            if code is not None:
                return child, code


def stop(children: Iterable[Child]) -> None:
    """Stop the children that still run: send SIGTERM to all, wait, then kill those that have not ended."""
    running = [child for child in children if child.code is None]
    for child in running:
        child.send(signal.SIGTERM)  # not SIGINT, for which a Python that is just starting would print a traceback
    begun = time.monotonic()
    for child in running:
        if not child.join(max(begun + child.patience_seconds - time.monotonic(), 0)):
            child.send(signal.SIGKILL)
            child.join(STOP_SECONDS)


def python_module(module: str, *arguments: str) -> tuple[str, ...]:
    """Return the command that runs an installed module with some arguments in a process of its own."""
    return (sys.executable, "-P", "-m", module, *arguments)
