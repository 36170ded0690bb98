"""force=true: one process trains anew, the old result stays beside, whoever else comes."""

import json
import os
import subprocess
import sys

import pytest

from lra.cli import main
from lra.run import Run, RunLockedError
from lra.types import LOCKED
from tests.conftest import ROOT, outer_environment

COMMAND = ("train", "size=tiny", "recipe.steps=2", "recipe.eval_every=2", "logger=csv")
START = """
import sys
import lra.verbs.train, lra.training.run
from lra.cli import main
print(flush=True)
input()
sys.exit(main(sys.argv[1:]))
"""


def start(*words: str) -> subprocess.Popen[str]:
    """The command in a process that has imported everything and waits for a line."""
    process = subprocess.Popen(
        [sys.executable, "-c", START, *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=outer_environment(),
    )
    assert process.stdout is not None
    process.stdout.readline()
    return process


def folders(home):
    """The run's folder, and those that were set aside."""
    (run,) = [path.parent for path in home.rglob("config.yaml") if ".replaced-" not in path.parent.name]
    return run, sorted(run.parent.glob("*.replaced-*"))


def contents(folder):
    """Its files, but the lock."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != "lock"}


@pytest.mark.slow
def test_two_at_once_train_once_and_lose_nothing(home):
    assert main(COMMAND) == 0
    run, _ = folders(home)
    old = contents(run)
    both = [start(*COMMAND, "force=true") for _ in range(2)]
    for process in both:
        process.stdin.write("\n")
        process.stdin.flush()
    said = [process.communicate(timeout=180) for process in both]
    codes = sorted(process.returncode for process in both)
    assert codes == [0, LOCKED], said
    run, replaced = folders(home)
    assert Run(run).record is not None
    (kept,) = replaced
    assert contents(kept) == old


@pytest.mark.slow
def test_a_run_in_progress_is_left_alone(home):
    assert main([*COMMAND, "trainer.max_steps=1"]) == 0
    run, _ = folders(home)
    before = contents(run)
    code = "import sys; from pathlib import Path; from lra.run import Run\n"
    code += "with Run(Path(sys.argv[1])).lock(): print(flush=True); input()"
    holder = subprocess.Popen(
        [sys.executable, "-c", code, str(run)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    )
    try:
        holder.stdout.readline()
        assert main([*COMMAND, "force=true"]) == LOCKED
    finally:
        holder.kill()
        holder.wait()
    assert folders(home) == (run, [])
    assert contents(run) == before


@pytest.fixture
def finished(tmp_path):
    """A folder with a record and other files, and what they are."""
    folder = tmp_path / "seed0"
    folder.mkdir()
    from tests.tables.records import make_record

    files = {"result.json": json.dumps(make_record(seed=0)), "best.ckpt": "weights", "metrics.csv": "step\n"}
    for name, text in files.items():
        (folder / name).write_text(text)
    return folder, files


def test_a_move_that_was_killed_is_ended_by_the_next(finished, monkeypatch):
    folder, files = finished
    record = Run(folder).record
    replace, left = os.replace, [2]

    def killed(source, target):
        left[0] -= 1
        if left[0] == 0:
            raise KeyboardInterrupt
        replace(source, target)

    with Run(folder).lock():
        monkeypatch.setattr(os, "replace", killed)
        with pytest.raises(KeyboardInterrupt):
            Run(folder).keep_aside(record)
        assert Run(folder).record == record, "still a finished run"
        monkeypatch.setattr(os, "replace", replace)
        Run(folder).keep_aside(record)
    (kept,) = folder.parent.glob("*.replaced-*")
    assert {path.name: path.read_text() for path in kept.iterdir()} == files
    assert [path.name for path in folder.iterdir()] == ["lock"]


def test_a_second_result_of_the_same_second_has_a_folder_of_its_own(finished):
    folder, files = finished
    for _ in range(2):
        for name, text in files.items():
            (folder / name).write_text(text)
        with Run(folder).lock():
            Run(folder).keep_aside(Run(folder).record)
    assert len(list(folder.parent.glob("*.replaced-*/result.json"))) == 2


def test_a_result_that_came_since_is_not_moved(finished):
    folder, _ = finished
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises(RunLockedError) as refused:
        Run(folder).keep_aside(None)
    assert refused.value.kind == "finished"
    assert sorted(path.name for path in folder.iterdir()) == before
