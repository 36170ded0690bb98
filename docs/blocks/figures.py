"""Draw the figures that the documents show from the published records."""

import contextlib
import io
import shutil
import tempfile
from pathlib import Path

import matplotlib.image
import numpy as np

from docs.blocks import landmarks, short_table, short_tune, short_window
from docs.blocks.published import PUBLISHED, bench, by_task, runs_in
from lra.cli import main
from lra.tools.bench.plot import plot_bench
from lra.tools.diagnosis.page import plot_errors
from lra.tools.diagnosis.schema import read_diagnosis

COMMANDS = (
    "compare show run_group=published/listops.jsonl task=listops",
    short_table.COMPARE,
    landmarks.PATHFINDER,
    landmarks.LISTOPS,
    *map(short_tune.command, short_tune.trials()),
    *map(short_window.command, by_task(short_window.FILE)),
)


def drawn(folder: Path) -> list[Path]:
    """Draw the figures into an empty folder of runs; they are named as those beside the published records.

    Not among them are the matrices of a diagnosis: `lra diagnose` draws them from a trained model, not from its record.
    """
    records = folder / PUBLISHED.name
    records.mkdir()
    for command in COMMANDS:
        name = command.partition("run_group=published/")[2].split()[0]
        shutil.copy(PUBLISHED / name, records)
        with runs_in(folder), contextlib.redirect_stdout(io.StringIO()):
            assert main(command.split()) == 0, command
        (records / name).unlink()
    plot_bench(bench("bench_attention"), records / "bench_attention.png")
    diagnosis = read_diagnosis(PUBLISHED / "diagnosis_pathfinder.json")
    plot_errors(diagnosis, records / "diagnosis_pathfinder-errors.png", key="matrix_error")
    return sorted(records.glob("*.png"))


def is_same_picture(path: Path, other: Path) -> bool:
    """Whether two files show the same; the bytes of equal pictures differ with the version of matplotlib."""
    return path.exists() and np.array_equal(matplotlib.image.imread(path), matplotlib.image.imread(other))


def draw(shown: set[str]) -> list[str]:
    """Draw those figures that are shown, beside the published records; return the names of those that changed."""
    with tempfile.TemporaryDirectory() as scratch:
        changed = [
            path
            for path in drawn(Path(scratch))
            if path.name in shown and not is_same_picture(PUBLISHED / path.name, path)
        ]
        for path in changed:
            shutil.copy(path, PUBLISHED)
        return [path.name for path in changed]
