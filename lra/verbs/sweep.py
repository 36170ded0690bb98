"""lra sweep landmarks: accuracy, time, memory and approximation error of Nyström attention against its landmarks.

  lra sweep landmarks                                    16 to 512 landmarks and exact attention, 3 seeds, ListOps
  lra sweep landmarks attention.num_landmarks=32,64,128 task=text,image seed=0,1
  lra sweep landmarks plan                               hours and memory that the runs would need
  lra sweep landmarks show format=csv out=landmarks.csv  from the runs that are finished
  lra sweep landmarks size=short                         minutes a cell; not the benchmark

Runs the missing cells, prints a table, and draws a figure (PNG, PDF, SVG) into the run group's folder. Two relative
errors are measured on the trained models with test batches: that of the pseudo-inverse, and that of the approximated
attention matrix against the exact one. All options of lra train can be given: protocol=clean attention.pinv=exact.
"""

from collections.abc import Sequence
from functools import partial

from rich.console import Console

from lra.results.landmarks import landmark_points, landmark_table
from lra.results.plot_landmarks import plot_landmarks
from lra.results.tables import TextTable
from lra.runs.schema import Record
from lra.sweeps.output import Draw, plan_run_or_show, write_task_tables
from lra.sweeps.run_set import RunSet, read_run_set
from lra.types import UserError

EXACT = "landmarks_exact"  # the sweep over exact attention, which the figure shows as a line


def main(words: Sequence[str]) -> None:
    """Plan, run or show."""
    if not words or words[0] != "landmarks":
        trouble = f"{words[0]!r} cannot be swept" if words else "sweep what?"
        raise UserError(f"{trouble}; type: lra sweep landmarks. Anything else: lra train -m key=value,value")
    mixer = next((word for word in words if word.startswith(("mixer=", "mixer."))), None)
    if mixer:
        line = f"{mixer} has no landmarks; leave it out, or vary its own options: lra train -m mixer=s4d seed=0,1"
        raise UserError(line)
    plan_run_or_show(read_run_set("sweep", words[1:], second_sweep=EXACT), show)


def show(run_set: RunSet, console: Console) -> None:
    """Print a table and draw a figure for every task."""

    def make(_task: str, records: list[Record], title: str) -> tuple[TextTable, dict[str, Draw]]:
        points = landmark_points(records)
        table = landmark_table(points, title=title)
        if not points:
            return table, {}
        rate = records[0]["outcome"]["majority_rate"]
        return table, {"landmarks": partial(plot_landmarks, points, title=title, majority_rate=rate)}

    write_task_tables(run_set, console, "landmarks", make)
