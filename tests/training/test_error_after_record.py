"""The errors of attention matrices are measured when the record is written: no end of that loses a result."""

import json
import signal
import subprocess
import sys

import pytest

from lra.base.signals import Stopped
from lra.cli import main
from lra.run import Run
from lra.runs.files import RESULT
from lra.runs.record import read_record
from lra.training import approximation
from tests.conftest import outer_environment
from tests.training.offline_run import offline_runs

TINY = ("train", "size=tiny", "attention=nystrom", "recipe.steps=2", "recipe.eval_every=2", "model.num_layers=1")
CSV = (*TINY, "logger=csv")
MEASURE = "lra.verbs.train_record.measure_approximation"
KILLED = """
import json, os, signal, sys
from lra.cli import main
from lra.verbs import train_record

train_record.measure_approximation = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
sys.exit(main(json.loads(os.environ["WORDS"])))
"""


def recorded(home):
    (path,) = home.rglob(RESULT)
    return read_record(path.parent)


def raising(error):
    def measure(*_):
        raise error

    return measure


def check_that_the_run_is_finished(home, capsys):
    """It has its record, without these errors; the same command shows it, and leaves it alone."""
    record = recorded(home)
    assert "approximation" not in record
    assert record["outcome"]["test_accuracy"] > 0
    capsys.readouterr()
    assert main([*CSV, "finished=show"]) == 0
    assert "Finished before" in capsys.readouterr().out
    assert recorded(home) == record


@pytest.mark.slow
def test_the_record_is_there_before_the_errors_are_measured(home, monkeypatch):
    before = []
    monkeypatch.setattr(MEASURE, lambda *_: before.append(recorded(home)))
    assert main([*CSV]) == 0
    assert before == [recorded(home)]


@pytest.mark.slow
@pytest.mark.parametrize(
    "error, said",
    [
        (MemoryError(), "out of memory"),
        (RuntimeError("CUDA out of memory. Tried"), "out of memory"),
        (RuntimeError("shapes\ndiffer"), "RuntimeError: shapes"),
        (AssertionError(), "AssertionError"),
    ],
)
def test_an_error_of_any_kind_is_a_line_and_the_run_is_finished(home, monkeypatch, capsys, error, said):
    monkeypatch.setattr(MEASURE, raising(error))
    assert main([*CSV]) == 0
    out = capsys.readouterr().out
    assert [line for line in out.splitlines() if "Warning" in line and said in line and "differ" not in line], out
    check_that_the_run_is_finished(home, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("numbers", [float("nan"), float("inf")])
def test_errors_that_are_no_numbers_are_not_recorded(home, monkeypatch, capsys, numbers):
    bad = approximation.ApproximationError(pinv_residual=0.1, attention_error=numbers)
    monkeypatch.setattr("lra.training.approximation.approximation_error", lambda *_, **__: bad)
    assert main([*CSV]) == 0
    assert "Warning" in capsys.readouterr().out
    check_that_the_run_is_finished(home, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("attention.landmark_rule=random", "trainer.accumulate_grad_batches=2")])
def test_after_a_kill_then_the_same_command_adds_what_it_left_out(home, tmp_path, monkeypatch, capsys, words):
    environment = {**outer_environment(), "WORDS": json.dumps([*CSV, *words])}
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, check=False, env=environment)
    assert done.returncode == -signal.SIGKILL, done.stderr
    killed = recorded(home)
    assert "approximation" not in killed
    with Run(next(home.rglob(RESULT)).parent).lock():  # as another process that adds them
        assert main([*CSV, *words, "finished=show"]) == 0
    assert recorded(home) == killed
    assert main([*CSV, *words]) == 0
    completed = recorded(home)
    assert {key: value for key, value in completed.items() if key != "approximation"} == killed
    capsys.readouterr()
    assert main([*CSV, *words]) == 2, "a finished run"
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / "undisturbed"))
    assert main([*CSV, *words]) == 0
    assert recorded(tmp_path / "undisturbed")["approximation"] == completed["approximation"]


@pytest.mark.slow
def test_on_other_data_nothing_is_added(home, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        patch.setattr(MEASURE, raising(MemoryError()))
        assert main([*CSV]) == 0
    (path,) = home.rglob(RESULT)
    record = json.loads(path.read_text())
    record["provenance"]["data_sha256"] = dict.fromkeys(record["provenance"]["data_sha256"], "0" * 64)
    path.write_text(json.dumps(record))
    assert main([*CSV, "finished=show"]) == 0
    assert "approximation" not in recorded(home)


@pytest.mark.slow
def test_ctrl_c_then_says_that_the_run_is_finished(home, monkeypatch, capsys):
    with monkeypatch.context() as patch:
        patch.setattr(MEASURE, raising(Stopped(signal.SIGINT)))
        assert main([*TINY]) == 128 + signal.SIGINT
    assert "the run is finished" in capsys.readouterr().err
    (offline,) = offline_runs(home)
    assert [end.exit_code for end in offline.of_type("exit")] == [0], "W&B has the result, so there it has not failed"
    record = recorded(home)
    assert offline.summary["outcome/test_accuracy"] == record["outcome"]["test_accuracy"]
    assert main([*CSV]) == 0
    assert "approximation" in recorded(home)


@pytest.mark.slow
def test_record_and_wandb_have_the_same_errors(home):
    assert main([*TINY]) == 0
    record = recorded(home)
    (offline,) = offline_runs(home)
    assert record["approximation"]["sequences"] == 8
    for name in ("sequences", "pinv_residual", "attention_error"):
        assert offline.summary[f"approximation/{name}"] == record["approximation"][name]


@pytest.mark.slow
def test_half_a_record_that_a_kill_left_is_deleted_unless_it_is_being_written(home, capsys):
    assert main([*CSV]) == 0
    (path,) = home.rglob(RESULT)
    whole, half = path.read_text(), path.with_name(f"{RESULT}.unfinished")
    half.write_text(whole[:99])
    with Run(path.parent).lock():
        assert main([*CSV, "finished=show"]) == 0
    assert half.exists()
    assert main([*CSV, "finished=show"]) == 0
    assert not half.exists()
    assert json.loads(path.read_text()) == json.loads(whole)
