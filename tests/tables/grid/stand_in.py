"""A stand-in for a sweep's training, which takes the real lock; runners in processes of their own import no torch."""

import sys
from pathlib import Path

from lra.base.overrides import Overrides
from lra.run import Run
from lra.tables.grid import runner
from lra.tables.grid.cell import Cell

RECORD = Path(__file__).resolve().parents[3] / "runs/published/demo.jsonl"  # one record
TRAINING = (
    f"RECORD = {str(RECORD)!r}"
    + """
import sys, time
from pathlib import Path
from lra.run import Run
folder = Path(sys.argv[1])
with Run(folder).lock():
    with open(folder.parent / "log", "a") as log: log.write(f"begun {folder.name}\\n")
    if folder.name == "bad":
        sys.exit("lra: nothing will come of this")
    if folder.name == "killed":
        import os; os.kill(os.getpid(), 9)
    if folder.name == "early":
        sys.exit(0)
    time.sleep(float(sys.argv[2]))
    (folder / "result.json").write_text(Path(RECORD).read_text())
    if folder.name == "late":
        import os; os.kill(os.getpid(), 9)
    with open(folder.parent / "log", "a") as log: log.write(f"done {folder.name}\\n")
"""
)


def use_stand_in():
    runner.TRAIN = (sys.executable, "-c", TRAINING)


class NamedCell(Cell):
    name = "a cell"

    @property
    def run(self):
        return Run(Path(self.overrides[0]))


def make_cells(place, names, seconds="0"):
    return [NamedCell(overrides=Overrides([str(place / name), seconds])) for name in names]
