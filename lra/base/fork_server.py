"""Processes that are forked from one which has imported their program: the seconds of importing are spent once.

For Linux and programs that compute on the CPU: frameworks of macOS, and CUDA, must not be forked once they are loaded.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from types import TracebackType
from typing import Any, NamedTuple

from lra.base.processes import Child, die_with_parent, python_module, stop
from lra.base.signals import SIGNALS

CAN_FORK = sys.platform == "linux"
ANSWER = struct.Struct("i")
END_SECONDS = 0.5  # that the process which forks has to end, before it is killed
LOST = -signal.SIGKILL  # the exit code of a child whose parent has been killed, which takes it along


class _Parent(NamedTuple):
    """The process that forks, how it is asked to, and the version of what it has imported."""

    process: Child
    requests: socket.socket
    version: object


class ForkServer:
    """Starts processes, one at a time, that call a function as if it were the program of a new interpreter.

    The process that they are forked from is started with the first of them. It ends with this process, or when the
    `with` block is left.

    Args:
        program: the function without arguments, as `module:name`; it finds its words in `sys.argv`, and what it returns
            is the exit code.
        imports: modules that are slow to import, and that it would import itself.
        version: tells the version of all that is imported; when it has changed, the next process is forked from one
            that imports it anew.
    """

    def __init__(self, program: str, imports: Sequence[str] = (), *, version: Callable[[], object] = lambda: None):
        self._arguments = (program, *imports)
        self._version_of = version
        self._parent: _Parent | None = None

    def __enter__(self) -> ForkServer:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end_parent()

    def _end_parent(self) -> None:
        """End the process that forks: where it is not importing, it ends by itself, and reaps its last child."""
        if self._parent is not None:
            self._parent.requests.close()
            stop([self._parent.process])
            self._parent = None

    def start(self, words: Sequence[str], env: Mapping[str, str]) -> ForkedProcess:
        """Start a process with `words` behind the program's name and the environment `env`; see `Child`."""
        version = self._version_of()
        if self._parent is not None and (self._parent.process.code is not None or self._parent.version != version):
            self._end_parent()
        self._parent = self._parent or self._start_parent(version)
        requests = self._parent.requests
        (stdout, their_stdout), (stderr, their_stderr) = os.pipe(), os.pipe()
        with suppress(ConnectionError):  # it has been killed, which is seen when no answer comes
            socket.send_fds(requests, [b"\n"], [their_stdout, their_stderr])
            requests.sendall(f"{json.dumps([list(words), dict(env)])}\n".encode())
        os.close(their_stdout)
        os.close(their_stderr)
        return ForkedProcess(requests, stdout, stderr)

    def _start_parent(self, version: object) -> _Parent:
        ours, theirs = socket.socketpair()
        with theirs:
            command = python_module("lra.base.fork_server", str(theirs.fileno()), *self._arguments)
            process = Child(command, keep_output=True, patience_seconds=END_SECONDS, pass_fds=(theirs.fileno(),))
        return _Parent(process, ours, version)


class ForkedProcess:
    """A process that a `ForkServer` has started, with what `Child` uses of `subprocess.Popen`."""

    def __init__(self, answers: socket.socket, stdout: int, stderr: int):
        self.stdout = open(stdout, errors="replace")  # noqa: SIM115  (closed by its reader)
        self.stderr = open(stderr, errors="replace")  # noqa: SIM115
        self._answers = answers
        self._pid = _receive(answers)
        self._code = LOST if self._pid is None else None

    def poll(self) -> int | None:
        """Return the exit code; None while the process runs."""
        with suppress(subprocess.TimeoutExpired):
            self.wait(timeout=0)
        return self._code

    def wait(self, timeout: float) -> int:
        """Wait until the process ends, and return its exit code, which is -N if signal N has ended it.

        Raises:
            TimeoutExpired: of `subprocess`, when it still runs after `timeout` seconds.
        """
        if self._code is None:
            if not select.select([self._answers], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired("a forked process", timeout)
            code = _receive(self._answers)
            self._code = LOST if code is None else code
        return self._code

    def send_signal(self, sig: int) -> None:
        """Send the process a signal, if it runs."""
        if self.poll() is None and self._pid is not None:
            os.kill(self._pid, sig)


def _receive(answers: socket.socket) -> int | None:
    """Read one answer; None where the process that forks has ended."""
    with suppress(ConnectionError):  # it has left a request unread
        read = answers.recv(ANSWER.size, socket.MSG_WAITALL)
        return ANSWER.unpack(read)[0] if read else None
    return None


def serve(connection: socket.socket, program: Callable[[], int], of_child: Mapping[int, Any]) -> None:
    """Fork a process for each request, until the other end is closed.

    A request is one byte with two streams, and a line with the words and the environment. It has two answers: the
    process id, and the exit code, or minus the signal that ended it. `of_child` has the signal handlers of a child.
    """
    requests, server = connection.makefile("r", encoding="utf-8"), os.getpid()
    streams = socket.recv_fds(connection, 1, 2)[1]
    while streams:
        words, env = json.loads(requests.readline())
        child = os.fork()
        if not child:
            die_with_parent(server)
            requests.close()
            connection.close()
            atexit.unregister(shutil.rmtree)  # of a folder of matplotlib's, which is for all children
            for number, stream in enumerate(streams, 1):
                os.dup2(stream, number)
                os.close(stream)
            for number, handler in of_child.items():
                signal.signal(number, handler)
            os.environ.clear()
            os.environ.update(env)
            sys.argv[1:] = words
            sys.exit(program())
        for stream in streams:
            os.close(stream)
        connection.sendall(ANSWER.pack(child))
        end = os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
        assert end is not None
        connection.sendall(ANSWER.pack(end.si_status if end.si_code == os.CLD_EXITED else -end.si_status))
        streams = socket.recv_fds(connection, 1, 2)[1]
        os.waitpid(child, 0)  # not before: until its end was read, nobody else may get its process id, and a signal


def main(number: str, program: str, *imports: str) -> None:
    """Be the process that forks: import, then serve the socket with this file descriptor."""
    # Ignored here: this process outlives a child that a signal ends, and tells its exit code.
    of_child = {int(each): signal.signal(each, signal.SIG_IGN) for each in SIGNALS}
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, it would have the system forget the exit codes
    module, name = program.split(":")
    for each in (module, *imports):
        with suppress(Exception):  # a child that needs it imports it again, and says what is wrong
            import_module(each)
    gc.freeze()  # what is imported stays: a child's collections need not go through it, nor copy its pages
    serve(socket.socket(fileno=int(number)), getattr(import_module(module), name), of_child)


if __name__ == "__main__":
    main(*sys.argv[1:])
