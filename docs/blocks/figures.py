"""Draw the figures that the documents show from the published records, and write their captions.

`python -m docs.blocks.figures FOLDER` draws all of them into a folder, each as PNG, PDF and SVG: `make figures`.
"""

import contextlib
import io
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import matplotlib.image
import numpy as np

from docs.blocks import landmarks, probes, short_table, short_tune, short_window
from docs.blocks.markdown import prose
from docs.blocks.published import PUBLISHED, bench, by_task, runs_in
from lra.base.text import for_markdown
from lra.cli import main as lra
from lra.terminal.figure_style import caption_in
from lra.tools.bench.plot import plot_bench
from lra.tools.diagnosis.page import plot_errors
from lra.tools.diagnosis.schema import read_diagnosis

COMMANDS = (
    "compare show run_group=published/listops.jsonl task=listops",
    probes.TABLE,
    probes.SWEEP,
    probes.OF_CAPACITY,
    short_table.COMPARE,
    landmarks.PATHFINDER,
    landmarks.LISTOPS,
    *map(short_tune.command, short_tune.trials()),
    *map(short_window.command, by_task(short_window.FILE)),
)
CAPTIONED = (  # the figures whose captions stand below them in the documents
    "bench_attention",
    "capacity-capacity-recall",
    "diagnosis_pathfinder-errors",
    "listops-curves-listops",
    "probes-heat_map-probes",
    "probes_landmarks-landmarks-recall",
    "short_landmarks-landmarks-pathfinder",
    "short_landmarks_listops_600-landmarks-listops",
    "short_table-compare-listops",
    "short_table-curves-listops",
    "short_tune-tune-image",
    "short_tune-tune-listops",
    "short_window-window-image",
    "short_window-window-listops",
    "short_window-window-pathfinder",
    "short_window-window-text",
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
            assert lra(command.split()) == 0, command
        (records / name).unlink()
    plot_bench(bench("bench_attention"), records / "bench_attention.png")
    diagnosis = read_diagnosis(PUBLISHED / "diagnosis_pathfinder.json")
    plot_errors(diagnosis, records / "diagnosis_pathfinder-errors.png", key="matrix_error")
    return sorted(records.glob("*.png"))


def is_same_picture(path: Path, other: Path) -> bool:
    """Whether two files show the same, with one caption; the bytes differ with the version of matplotlib."""
    if not path.exists() or caption_in(path) != caption_in(other):
        return False
    return np.array_equal(matplotlib.image.imread(path), matplotlib.image.imread(other))


def draw(shown: set[str]) -> list[str]:
    """Draw the published figures, and those that are shown, beside the records; return the names of what changed."""
    wanted = shown | {path.name for path in PUBLISHED.glob("*.png")}
    with tempfile.TemporaryDirectory() as scratch:
        changed = [
            path
            for path in drawn(Path(scratch))
            if path.name in wanted and not is_same_picture(PUBLISHED / path.name, path)
        ]
        for path in changed:
            shutil.copy(path, PUBLISHED)
        return [path.name for path in changed]


def caption(name: str) -> Callable[[], str]:
    """A block with the caption of a published figure, which its PNG holds."""
    return lambda: prose(f"*{for_markdown(caption_in(PUBLISHED / f'{name}.png'))}*")


def main(folder: Path) -> None:
    """Draw every figure into a folder, as PNG, PDF and SVG."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for png in drawn(Path(scratch)):
            for path in png.parent.glob(f"{png.stem}.*"):
                shutil.copy(path, folder)
            print(f"{folder / png.stem}.png, .pdf, .svg")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
