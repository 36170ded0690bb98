"""What the process of a cell prints: kept in the run's folder; warnings are passed on with the name of the cell."""

import sys
import threading
from pathlib import Path
from types import TracebackType

from lra.base.processes import ERROR, WARNING
from lra.base.text import visible, without_credentials
from lra.runs.files import OUTPUT

COMMAND = "$ "  # begins the first line of each attempt, of which a run that is resumed has several


class RunOutput:
    """Writes each line into `output.log`, and passes warnings on to standard error.

    A warning is a line on standard output that begins so, or any on standard error but the run's error line, which
    belongs to the cell's own line. A full disk ends neither the run nor the reading of its output.

    Args:
        folder: the run's folder, which is there.
        name: the cell's name, in front of each warning.
        command: what is run, for the first line.
    """

    def __init__(self, folder: Path, *, name: str, command: str):
        self._name, self._writing = name, threading.Lock()  # the two streams are read by two threads
        self._file = (folder / OUTPUT).open("a", encoding="utf-8", errors="replace", buffering=1)
        self._is_writable = True
        self._write(f"{COMMAND}{command}")

    def __enter__(self) -> "RunOutput":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._writing:
            self._is_writable = False
            self._close()

    def hear_output(self, line: str) -> None:
        """Take a line of standard output."""
        self._write(line)
        if line.startswith(WARNING):
            self._pass_on(line)

    def hear_error(self, line: str) -> None:
        """Take a line of standard error."""
        self._write(line)
        if line.strip() and not line.startswith(ERROR):
            self._pass_on(line)

    def _write(self, line: str) -> None:
        with self._writing:
            if not self._is_writable:
                return
            try:
                self._file.write(f"{without_credentials(line)}\n")
                return
            except OSError as error:
                self._is_writable = False
                problem = error.strerror
                self._close()
        self._pass_on(f"{WARNING}{OUTPUT} in its folder cannot be written any more ({problem})")

    def _close(self) -> None:
        try:
            self._file.close()
        except OSError:  # what could not be written is lost, and has been said
            self._is_writable = False

    def _pass_on(self, line: str) -> None:
        sys.stderr.write(f"{self._name}: {visible(without_credentials(line))}\n")
        sys.stderr.flush()
