"""Kills a training at chosen moments of its file system's life, and lets it go on; for test_kills.py.

`python -m tests.training.kills FOLDER EVENT[,EVENT…]|all [key=value …]`: trains once to be warm, then forks: an
undisturbed run, and for each event a run that dies there, followed by the same command to its end. An EVENT is some
words of its text, of which the first with all of them is meant, such as `within writing best.ckpt`, or another one that
a number in front says, such as `2 within writing result.json`. One JSON line says how each pair ended.

An event is what changes the folder: opening a file to write (before it; after it with the file empty; with half of it
written, by a limit on the size of files), a rename, a removal, a new folder.
"""

import json
import os
import resource
import signal
import sys
from pathlib import Path
from typing import Any

WORDS = ("train", "size=tiny", "recipe.steps=6", "recipe.eval_every=2", "callbacks.log_every_steps=1", "logger=csv",
         "callbacks.checkpoint_every_seconds=0.001")  # fmt: skip
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
CHANGES = ("os.rename", "os.remove", "os.mkdir", "os.truncate")
ROW_BYTES = 5  # of a row that is appended to the curves, before the kill


class KillAt:
    """An audit hook that kills this process at the `moment`-th event below `folder`; without one it only counts.

    Args:
        folder: of the runs.
        moment: the event's number, from 1 on, or words that its text has.
        sizes: of the files of a whole run, by name.
    """

    def __init__(self, folder: Path, moment: int | str | None, sizes: dict[str, int]):
        self.folder, self.moment, self.sizes = str(folder), moment, sizes
        self.count, self.alike, self.busy = 0, 0, False

    def __call__(self, event: str, args: tuple[Any, ...]) -> None:
        if self.busy or not args or not isinstance(args[0], str | os.PathLike):
            return
        path = os.fspath(args[0])
        if not isinstance(path, str) or not os.path.abspath(path).startswith(self.folder):
            return
        if event in CHANGES:
            if self._is_due(f"{event} {path}"):
                self._kill()
        elif event == "open" and args[2] & WRITES:
            self._opens(path, args[2])

    def _opens(self, path: str, flags: int) -> None:
        if self._is_due(f"before opening {path}"):
            self._kill()
        if self._is_due(f"after opening {path}"):
            self.busy = True
            os.open(path, flags)
            self._kill()
        appends = bool(flags & os.O_APPEND)
        name = Path(path).name.removesuffix(".unfinished").removesuffix(".next")
        if (appends or self.sizes.get(name) != 0) and self._is_due(f"within writing {path}"):
            self.busy = True
            end = os.path.getsize(path) + ROW_BYTES if appends else self.sizes[name] // 2
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            resource.setrlimit(resource.RLIMIT_FSIZE, (end, end))

    def _is_due(self, what: str) -> bool:
        self.count += 1
        if isinstance(self.moment, str):
            ordinal, *words = self.moment.split() if self.moment[0].isdigit() else ["1", *self.moment.split()]
            self.alike += all(word in what.replace(self.folder, "") for word in words)
            due = self.alike == int(ordinal)
        else:
            due = self.count == self.moment
        if due:
            print(what.replace(self.folder, ""), file=sys.stderr, flush=True)
        return due

    def _kill(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def train(runs: Path, moment: int | str | None = None, sizes: dict[str, int] | None = None) -> tuple[int, int]:
    """The command in a child; returns its exit code (negative: a signal) and how many events it had."""
    reads, writes = os.pipe()
    child = os.fork()
    if child == 0:
        runs.mkdir(parents=True, exist_ok=True)
        log = os.open(runs / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(log, 1)
        os.dup2(log, 2)
        hook = KillAt(runs / "default", moment, sizes or {"lock": 0})
        sys.addaudithook(hook)
        code = run(runs)
        os.write(writes, str(hook.count).encode())
        os._exit(code)
    os.close(writes)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reads) as file:
        return os.waitstatus_to_exitcode(status), int(file.read() or 0)


def run(runs: Path) -> int:
    """The command in this process."""
    from lra.cli import main

    os.environ["LRA_RUNS_DIR"] = str(runs)
    return main([*WORDS, *sys.argv[3:]])


def main(place: Path, moments: str) -> None:
    """Run the pairs."""
    said = os.dup(1)
    os.dup2(2, 1)
    assert run(place / "warm") == 0
    os.dup2(said, 1)
    code, count = train(place / "whole")
    assert code == 0, (place / "whole/log").read_text()
    sizes = {path.name: path.stat().st_size for path in (place / "whole").rglob("*") if path.is_file()}
    print(json.dumps({"events": count}), flush=True)
    for moment in range(1, count + 1) if moments == "all" else moments.split(","):
        runs = place / str(moment)
        killed, _ = train(runs, moment, sizes)
        code, _ = train(runs)
        print(json.dumps({"moment": moment, "killed": killed, "code": code}), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
