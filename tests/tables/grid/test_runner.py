"""Cells are run once, whoever runs them and whatever dies; the training is a stand-in that takes the real lock."""

import errno
import subprocess
import sys
import time
from collections import Counter

import pytest
from filelock import FileLock
from rich.console import Console

from lra.base.processes import WARNING
from lra.run import TRAINING as LOCK
from lra.run import Run, RunLockedError
from lra.tables.grid import runner
from tests.conftest import ROOT, hear_ctrl_c, outer_environment
from tests.tables.grid.stand_in import RECORD, make_cells

RUNNER = """
import sys
from pathlib import Path
from types import SimpleNamespace
from rich.console import Console
from lra.tables.grid import runner
from tests.tables.grid.stand_in import make_cells, use_stand_in
use_stand_in()
runner.POLL_SECONDS = 0.1
runner.run_missing(make_cells(Path(sys.argv[1]), sys.argv[3:], sys.argv[2]), Console())
"""


@pytest.fixture(autouse=True)
def _stand_in(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(runner, "PROGRAM", "tests.tables.grid.stand_in:train")
    monkeypatch.setattr(runner, "IMPORTS", ())


def start(place, names, seconds):
    words = [sys.executable, "-c", RUNNER, str(place), str(seconds), *names]
    return subprocess.Popen(words, cwd=ROOT, env=outer_environment(), preexec_fn=hear_ctrl_c)


def log(place):
    return (place / "log").read_text().splitlines() if (place / "log").exists() else []


def finished(cells):
    return sum(cell.run.finished for cell in cells)


def wait_for(condition, seconds=30):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def test_what_is_missing_is_run_and_only_that(tmp_path, capsys):
    (tmp_path / "b").mkdir()
    (tmp_path / "b/result.json").write_text(RECORD.read_text())
    cells = make_cells(tmp_path, "abc")
    runner.run_missing(cells, Console())
    runner.run_missing(cells, Console())
    assert log(tmp_path) == ["begun a", "done a", "begun c", "done c"]
    assert capsys.readouterr() == ("", ""), "what has become of them is printed by another"
    assert (finished(cells), runner.failed_cells(cells)) == (3, {})


def test_a_cell_that_stops_early_has_not_failed(tmp_path, capsys):
    cells = make_cells(tmp_path, ["early", "b"])
    runner.run_missing(cells, Console())
    assert log(tmp_path) == ["begun early", "begun b", "done b"]
    assert "stopped early, not finished: a cell" in capsys.readouterr().out
    assert (finished(cells), runner.failed_cells(cells)) == (1, {})


@pytest.mark.slow
def test_a_failing_cell_is_noted_does_not_stop_the_others_and_is_tried_again_next_time(tmp_path):
    cells = make_cells(tmp_path, ["bad", "killed", "good"])
    for tries in (1, 2):
        runner.run_missing(cells, Console())
        assert finished(cells) == 1
        failed = runner.failed_cells(cells)
        assert failed[Run(tmp_path / "bad")] == "nothing will come of this"
        assert failed[Run(tmp_path / "killed")] == "killed by SIGKILL: out of memory?"
        assert Counter(log(tmp_path))["begun bad"] == tries
    assert Counter(log(tmp_path))["begun good"] == 1


def test_a_cell_that_is_killed_after_its_result_was_written_is_finished(tmp_path, capsys):
    cells = make_cells(tmp_path, ["late"])
    runner.run_missing(cells, Console(width=1000))
    assert log(tmp_path) == ["begun late"]
    assert (finished(cells), runner.failed_cells(cells)) == (1, {})
    assert Run(tmp_path / "late").failure is None
    assert "killed by SIGKILL" in capsys.readouterr().out


def test_a_success_takes_the_mark_of_failure_away(tmp_path):
    (cell,) = make_cells(tmp_path, "a")
    cell.run.fail("an older fault")
    runner.run_missing([cell], Console())
    assert cell.run.failure is None


@pytest.mark.slow
def test_two_runners_share_the_cells(tmp_path):
    names = [f"c{number}" for number in range(4)]
    both = [start(tmp_path, names, 0.3) for _ in range(2)]
    assert [one.wait(60) for one in both] == [0, 0]
    assert Counter(log(tmp_path)) == Counter(f"{what} {name}" for name in names for what in ("begun", "done"))


@pytest.mark.slow
def test_a_killed_runners_cell_is_taken_up_and_every_cell_is_finished_once(tmp_path):
    names = [f"c{number}" for number in range(5)]
    first = start(tmp_path, names, 30)
    wait_for(lambda: "begun c0" in log(tmp_path))
    second = start(tmp_path, names, 0.2)
    wait_for(lambda: "begun c1" in log(tmp_path))
    first.kill()
    assert second.wait(60) == 0
    counts = Counter(log(tmp_path))
    assert [counts[f"done {name}"] for name in names] == [1] * 5
    assert counts["begun c0"] == 2, "begun by the killed one, taken up by the other"


def test_a_run_in_a_folder_that_cannot_be_written_is_not_locked(tmp_path, monkeypatch):
    def refuses(*_: object, **__: object) -> None:
        raise PermissionError(errno.EACCES, "no")

    (tmp_path / LOCK).touch()
    monkeypatch.setattr(FileLock, "acquire", refuses)
    assert not Run(tmp_path).locked


def test_a_lock_is_one_processs_and_gone_with_it(tmp_path):
    assert not Run(tmp_path).locked
    hold = "import sys, time; from pathlib import Path; from lra.run import Run\n"
    hold += "with Run(Path(sys.argv[1])).lock(): print('held', flush=True); time.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", hold, str(tmp_path)], stdout=subprocess.PIPE, cwd=ROOT)
    assert child.stdout is not None
    child.stdout.readline()
    assert Run(tmp_path).locked
    with pytest.raises(RunLockedError, match="another process"), Run(tmp_path).lock(patience_seconds=0):
        pass
    child.kill()
    child.wait()
    assert not Run(tmp_path).locked


@pytest.mark.slow
def test_ctrl_c_reaches_the_child_and_waits_for_it(tmp_path):
    import signal

    one = start(tmp_path, ["a"], 30)
    wait_for(lambda: "begun a" in log(tmp_path))
    one.send_signal(signal.SIGINT)
    assert one.wait(30) != 0
    wait_for(lambda: not Run(tmp_path / "a").locked, 5)
    assert log(tmp_path) == ["begun a"]


@pytest.mark.slow
def test_what_takes_long_to_import_is_imported_before_a_cell_is_forked(home):
    """In a process of its own: what other tests have imported would hide what is missing in the list."""
    script = """
import sys
from importlib import import_module
from lra.tables.grid.runner import IMPORTS
for module in IMPORTS:
    import_module(module)
assert "wandb" not in sys.modules
before = set(sys.modules)
from lra.cli import main
assert main(["train", "size=tiny", "recipe.steps=2", "recipe.eval_every=2"]) == 0
print(*sorted(set(sys.modules) - before), file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, env=outer_environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    later = {name.split(".")[0] for name in done.stderr.splitlines()[-1].split()}
    assert "lra" in later, "the attentions are imported when they are chosen"
    assert not later & {"torchmetrics", "pytorch_lightning", "matplotlib", "pandas", "numpy", "requests"}


@pytest.mark.slow
def test_each_forked_cell_has_a_whole_run_of_wandb(home):
    """What W&B makes at its import, such as temporary folders, is no cell's to take away from the next."""
    words = "compare run attention=none,average seed=0,1 size=tiny recipe.steps=2 recipe.eval_every=2"
    done = subprocess.run(
        [sys.executable, "-m", "lra", *words.split()], cwd=ROOT, env=outer_environment(), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert WARNING not in done.stdout + done.stderr
    tables = list(home.rglob("wandb/offline-run-*/files/media/table/test/*.table.json"))
    assert len(tables) == 4
