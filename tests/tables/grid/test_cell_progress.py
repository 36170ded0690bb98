"""How far a run is, from what training prints where there is no terminal; and how long the rest of a table takes."""

import io

import pytest
from rich.console import Console

from lra.run import Run
from lra.runs.files import METRICS, OUTPUT
from lra.tables.grid.cell_progress import CellTimes, Progress, read_progress
from lra.training.progress import RunProgress, Telemetry
from tests.training.test_progress import clock, trainer_at  # noqa: F401  (a fixture)


def lines_of_training(clock, *, steps_per_second: float) -> str:  # noqa: F811
    """What a run prints up to step 10 of 1,000, with the dev accuracy after it."""
    out = io.StringIO()
    telemetry = Telemetry(every_steps=10, last_step=1_000)
    progress = RunProgress(telemetry, console=Console(file=out, width=120), steps=1_000, eval_every=2_000)
    progress.on_train_start(trainer_at(0), None)
    for step in range(1, 11):
        clock.now += max(1 / steps_per_second, 16)  # seconds after which a line is due
        progress.on_train_batch_end(trainer_at(step))
    progress.on_validation_start(trainer_at(10), None)
    progress.on_validation_end(trainer_at(10), None)
    assert "10/1000" in out.getvalue()
    return out.getvalue()


def test_the_lines_of_training_are_read(clock, tmp_path):  # noqa: F811
    (tmp_path / OUTPUT).write_text("$ lra train\na header\n" + lines_of_training(clock, steps_per_second=1 / 20))
    progress = read_progress(Run(tmp_path))
    assert progress == Progress(10, 1000, 0.05, 990 * 20.0)
    assert (progress.step_text, progress.rate_text) == ("10/1,000", "20 s/step")


def test_the_lines_of_an_earlier_attempt_are_not(clock, tmp_path):  # noqa: F811
    (tmp_path / OUTPUT).write_text(lines_of_training(clock, steps_per_second=1 / 20) + "$ lra train\nGoing on\n")
    assert read_progress(Run(tmp_path)).seconds_left is None
    assert read_progress(Run(tmp_path)).step_text == "starting"
    with (tmp_path / OUTPUT).open("a") as file:
        file.write("preparing listops size=full …\n")
    assert read_progress(Run(tmp_path)).step_text == "preparing data"


def test_without_them_the_step_is_that_of_the_curves(tmp_path):
    (tmp_path / METRICS).write_text("step,train/loss\n50,1.0\n1250,0.9\n")
    progress = read_progress(Run(tmp_path))
    assert (progress.step_text, progress.rate_text, progress.seconds_left) == ("1,250", "", None)


def test_only_the_end_of_a_long_file_is_read(clock, tmp_path):  # noqa: F811
    lines = lines_of_training(clock, steps_per_second=1 / 20)
    (tmp_path / OUTPUT).write_text("$ lra train\n" + "step 1/9  9.00 steps/s  0:00:01 left\n" * 9000 + lines)
    assert read_progress(Run(tmp_path)).step == 10


@pytest.mark.parametrize(("rate", "said"), [(8.149, "8.1 steps/s"), (0.4, "2.5 s/step"), (None, ""), (0.0, "")])
def test_a_slow_step_has_its_seconds(rate, said):
    assert Progress(1, 2, rate, 1.0).rate_text == said


def test_the_time_left_is_that_of_all_cells_by_their_kinds():
    """Of a cell whose kind was run it is that of its kind, else the mean of all kinds."""
    times = CellTimes()
    assert times.left([("a0", "a", None)], ["a"], 0.0) is None
    times.begin("a0", 0.0)
    times.begin("b0", 0.0)
    times.end("a0", "a", 60.0)
    times.end("b0", "b", 120.0)
    assert times.left([], ["a", "b", "c"], 200.0) == 60 + 120 + 90
    times.begin("a1", 200.0)
    assert times.left([("a1", "a", None)], ["b"], 210.0) == 50 + 120
    assert times.left([("a1", "a", 30.0), ("b1", "b", 500.0)], [], 210.0) == 500, "no earlier than the last of them"
    assert times.left([("b1", "b", 100.0), ("b2", "b", 100.0)], ["b"] * 2, 210.0) == 220, "two at a time"


def test_a_cell_at_work_says_how_long_its_kind_takes_but_not_one_that_was_resumed():
    times = CellTimes()
    assert times.left([("a0", "a", 10.0)], ["a"], 50.0) is None
    times.begin("a1", 0.0)
    assert times.left([("a1", "a", 10.0)], ["a"], 50.0) == 10 + 60
    times.end("a0", "a", 99.0)
    assert times.left([("a1", "a", 10.0)], ["a"], 50.0) == 10 + 60
