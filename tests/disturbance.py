"""Commands that are started, disturbed by a signal and looked after: what is left of them, what they go on to."""

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from lra.run import Run
from lra.training.curves import read_curves
from tests.conftest import outer_environment

MARK = "LRA_TEST_MARK"


def hear_all_but(deaf_to: int | None) -> None:
    """For a child process: a shell that started the tests may have made them deaf to signals."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN if number == deaf_to else signal.SIG_DFL)


class Disturbed:
    """A command in a process of its own, whose descendants are known by a mark in their environment."""

    def __init__(
        self,
        *words: str,
        data: Path,
        runs: Path,
        deaf_to: int | None = None,
        program: tuple[str, ...] = ("-m", "lra"),
        **env: str,
    ):
        self.mark = f"{MARK}={uuid.uuid4().hex}"
        self.runs = runs
        name, value = self.mark.split("=")
        runs.mkdir(parents=True, exist_ok=True)
        self.log = (runs / "stderr").open("w+")
        self.process = subprocess.Popen(
            [sys.executable, *program, *words],
            cwd=runs.parent,
            env={
                **outer_environment(),
                "OMP_NUM_THREADS": "1",
                "LRA_DATA_DIR": str(data),
                "LRA_RUNS_DIR": str(runs),
                name: value,
                **env,
            },
            stdout=subprocess.DEVNULL,
            stderr=self.log,
            preexec_fn=partial(hear_all_but, deaf_to),
        )

    def left(self) -> list[int]:
        """Processes of this command that are alive."""
        return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdecimal() and self._ours(entry)]

    def _ours(self, entry: Path) -> bool:
        try:
            return self.mark.encode() in (entry / "environ").read_bytes()  # a zombie's is empty
        except OSError:
            return False

    def error(self) -> str:
        self.log.seek(0)
        return self.log.read()

    def until(self, condition: Callable[[], bool], seconds: float = 120) -> None:
        """Wait for `condition`, while the command runs."""
        wait_for(lambda: condition() or self.process.poll() is not None, seconds)
        assert self.process.poll() is None, f"ended too early, code {self.process.returncode}: {self.error()}"

    def end(self, number: int, seconds: float = 60) -> int:
        """Send a signal to the command's first process; returns the exit code."""
        self.process.send_signal(number)
        return self.process.wait(seconds)


@contextmanager
def disturbed(*words: str, data: Path, runs: Path, **how: Any) -> Iterator[Disturbed]:
    """A command of which nothing outlives the block."""
    command = Disturbed(*words, data=data, runs=runs, **how)
    try:
        yield command
    finally:
        for pid in command.left():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        command.process.wait()
        command.log.close()


def wait_for(condition: Callable[[], bool], seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)


def steps(runs: Path, column: str = "train/loss") -> list[int]:
    """How far each run is, by the last step that has a number in this column."""
    curves = [read_curves(path) for path in runs.rglob("metrics.csv")]
    return [int(max((row["step"] for row in rows if column in row), default=0)) for rows in curves]


def locked(runs: Path) -> list[Path]:
    """Folders of runs that some process holds."""
    return [path.parent for path in runs.rglob("*lock") if Run(path.parent).locked]
