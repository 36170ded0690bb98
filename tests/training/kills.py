"""Kills a training at chosen moments of its file system's life, and lets it go on; for test_kills.py.

`python -m tests.training.kills FOLDER N[,N…]|all`: imports what a run needs once, then forks: an undisturbed run, and
for each N a run that dies at its N-th event, followed by the same command to its end. One JSON line says how each pair
ended. An event is what changes the run's folder: opening a file to write (before it, and after it with the file empty),
a rename, a removal, a new folder.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

WORDS = ("train", "size=tiny", "recipe.steps=6", "recipe.eval_every=2", "callbacks.log_every_steps=1", "logger=csv",
         "callbacks.checkpoint_every_seconds=0.001")  # fmt: skip
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.truncate")


class KillAt:
    """An audit hook that kills this process at the `moment`-th event below `folder`; without one it only counts."""

    def __init__(self, folder: Path, moment: int | None):
        self.folder, self.moment, self.count, self.busy = str(folder), moment, 0, False

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if self.busy or not args or not isinstance(args[0], str | os.PathLike):
            return
        path = os.fspath(args[0])
        if not isinstance(path, str) or not os.path.abspath(path).startswith(self.folder):
            return
        if event in CHANGES:
            self._happens(f"{event} {path}")
        elif event == "open" and args[2] & WRITES:
            self._happens(f"before opening {path}")
            self._happens(f"after opening {path}", opens=(path, args[2]))

    def _happens(self, what: str, opens: tuple[str, int] | None = None) -> None:
        self.count += 1
        if self.count == self.moment:
            self.busy = True
            if opens:
                os.open(*opens)
            print(what.replace(self.folder, ""), file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)


def train(runs: Path, moment: int | None = None) -> tuple[int, int]:
    """The command in a child; returns its exit code (negative: a signal) and how many events it had."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        runs.mkdir(parents=True, exist_ok=True)
        os.environ["LRA_RUNS_DIR"] = str(runs)
        log = os.open(runs / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        hook = KillAt(runs / "default", moment)
        sys.addaudithook(hook)
        from lra.cli import main

        code = main(WORDS)
        os.write(writes, str(hook.count).encode())
        os._exit(code)
    os.close(writes)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reads) as file:
        return os.waitstatus_to_exitcode(status), int(file.read() or 0)


def main(place: Path, moments: str) -> None:
    """Run the pairs."""
    import lra.cli
    import lra.commands.train
    import lra.results.plots
    import lra.training.run  # noqa: F401

    code, count = train(place / "whole")
    assert code == 0, (place / "whole/log").read_text()
    print(json.dumps({"events": count}), flush=True)
    for moment in range(1, count + 1) if moments == "all" else map(int, moments.split(",")):
        runs = place / str(moment)
        killed, _ = train(runs, moment)
        code, _ = train(runs)
        print(json.dumps({"moment": moment, "killed": killed, "code": code}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
