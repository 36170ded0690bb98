"""A stand-in for a sweep's training, which takes the real lock; runners in processes of their own import no torch."""

import os
import signal
import sys
import time
from pathlib import Path

from lra.base.overrides import Overrides
from lra.run import Run
from lra.tables.grid import runner
from lra.tables.grid.cell import Cell

RECORD = Path(__file__).resolve().parents[3] / "runs/published/demo.jsonl"  # one record


def train() -> int:
    """What is called in place of `lra train FOLDER SECONDS`: the folder's name says what becomes of it."""
    folder, seconds = Path(sys.argv[2]), float(sys.argv[3])
    with Run(folder).lock():
        note(folder, "begun")
        if folder.name == "bad":
            sys.exit("lra: nothing will come of this")
        if folder.name == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if folder.name == "early":
            return 0
        time.sleep(seconds)
        (folder / "result.json").write_text(RECORD.read_text())
        if folder.name == "late":
            os.kill(os.getpid(), signal.SIGKILL)
        note(folder, "done")
    return 0


def note(folder: Path, what: str) -> None:
    with (folder.parent / "log").open("a") as log:
        log.write(f"{what} {folder.name}\n")


def note_gpu() -> int:
    """What is called in its place too: writes down which GPUs it sees."""
    Path(sys.argv[2]).with_name("seen").write_text(os.environ["CUDA_VISIBLE_DEVICES"])
    return 1


def use_stand_in():
    runner.PROGRAM, runner.IMPORTS = f"{__name__}:train", ()


class NamedCell(Cell):
    name = "a cell"
    is_on_gpu = False

    @property
    def run(self):
        return Run(Path(self.overrides[0]))


def make_cells(place, names, seconds="0"):
    return [NamedCell(overrides=Overrides([str(place / name), seconds])) for name in names]
