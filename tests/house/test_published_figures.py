"""The committed figures are those that today's code draws from the committed records."""

from __future__ import annotations

import shutil
from pathlib import Path

import matplotlib
import matplotlib.image
import numpy as np
import pytest
from PIL import Image

from lra.bench.plot import plot_bench
from lra.bench.record import BENCH_RECORD
from lra.bench.record_file import read_bench
from lra.cli import main
from lra.diagnosis.figures import plot_errors
from lra.diagnosis.schema import read_diagnosis

PUBLISHED = Path(__file__).resolve().parents[2] / "runs/published"
SHORT = ("size=short", "run_group=published/short_table.jsonl")
COMMANDS = {
    "listops-curves-listops": ("compare", "show", "task=listops", "run_group=published/listops.jsonl"),
    "short_table-compare-listops": ("compare", "show", "task=listops", *SHORT),
    "short_table-curves-listops": ("compare", "show", "task=listops", *SHORT),
    "short_landmarks-landmarks-pathfinder": (
        *("sweep", "landmarks", "show", "task=pathfinder", "size=short"),
        "run_group=published/short_landmarks.jsonl",
    ),
    "short_landmarks_listops_600-landmarks-listops": (
        *("sweep", "landmarks", "show", "task=listops", "size=short", "recipe.steps=600"),
        *("attention.num_landmarks=1,2,4,8,16,64", "attention.value_skip_taps=35,0"),
        "run_group=published/short_landmarks_listops_600.jsonl",
    ),
}


def same_picture(drawn: Path, name: str) -> bool:
    committed = PUBLISHED / name
    software = Image.open(committed).info["Software"]
    if matplotlib.__version__ not in software:
        pytest.skip(f"{name} was drawn by {software}, and other versions place letters differently")
    return np.array_equal(matplotlib.image.imread(drawn), matplotlib.image.imread(committed))


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_figure_is_what_its_command_draws(home, name):
    words = COMMANDS[name]
    records = words[-1].removeprefix("run_group=")
    (home / "published").mkdir(parents=True)
    shutil.copy(PUBLISHED / Path(records).name, home / records)
    assert main(list(words)) == 0
    assert same_picture(home / f"published/{name}.png", f"{name}.png")


def test_the_figure_of_the_bench_is_that_of_its_record(tmp_path):
    plot_bench(read_bench(PUBLISHED / "bench_attention.json", BENCH_RECORD), tmp_path / "drawn.png")
    assert same_picture(tmp_path / "drawn.png", "bench_attention.png")


def test_the_figure_of_the_diagnosis_is_that_of_its_numbers(tmp_path):
    diagnosis = read_diagnosis(PUBLISHED / "diagnosis_pathfinder.json")
    plot_errors(diagnosis, tmp_path / "drawn.png", key="matrix_error")
    assert same_picture(tmp_path / "drawn.png", "diagnosis_pathfinder-errors.png")
