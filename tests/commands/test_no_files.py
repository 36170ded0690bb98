"""What is no file, or holds something else, in the place of a run's file: one line, and nothing waits for it."""

import os
import shutil
import signal
from contextlib import contextmanager

import pytest

from lra.cli import main
from lra.run import RUNNER, TRAINING
from lra.runs import files as run_files

CSV = ("size=tiny", "recipe.steps=4", "recipe.eval_every=2", "attention=none", "logger=csv", "trainer.threads=1")
WANDB = tuple(word for word in CSV if word != "logger=csv")
FILES = sorted(value for name, value in vars(run_files).items() if name.isupper() and isinstance(value, str))
KINDS = ("fifo", "nested", "folder", "empty", "garbage")
SECONDS = 300  # a pipe without a writer would be waited for without end


def put(kind, path):
    """Put something else in the place of a file."""
    if os.path.lexists(path):
        path.unlink()
    match kind:
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case _:
            path.write_bytes({"empty": b"", "garbage": bytes(range(256)) * 4, "nested": b"[" * 200_000}[kind])


@contextmanager
def limited():
    """Fail instead of waiting, as for a writer of a pipe."""

    def fail(*_):
        raise AssertionError(f"not done in {SECONDS} s")

    before = signal.signal(signal.SIGALRM, fail)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def said(capsys, words) -> int:
    """Type a command: it ends in time, with its work done or one line that was thought of."""
    with limited():
        code = main(words)
    err = [line for line in capsys.readouterr().err.splitlines() if line.startswith("lra: ")]
    assert code in (0, 2), words
    assert len(err) == (code != 0), (words, err)
    assert not [line for line in err if "not foreseen" in line], (words, err)
    return code


@pytest.fixture(scope="module")
def runs_of_old(data_dir, tmp_path_factory):
    """A folder of runs with one run that was begun, and one with one that is finished."""
    place = tmp_path_factory.mktemp("old")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LRA_DATA_DIR", str(data_dir))
        for name, words in (("begun", ("trainer.max_steps=3",)), ("finished", ())):
            patch.setenv("LRA_RUNS_DIR", str(place / name))
            assert main(["train", *(WANDB if name == "begun" else CSV), *words]) == 0
    return place


def folder_in(home, old):
    if home.exists():
        shutil.rmtree(home)
    shutil.copytree(old, home)
    (path,) = home.rglob("config.yaml")
    return path.parent


@pytest.mark.slow
@pytest.mark.some_in_ci(6)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*FILES, TRAINING, RUNNER])
def test_a_run_that_was_begun(home, runs_of_old, capsys, name, kind):
    folder = folder_in(home, runs_of_old / "begun")
    put(kind, folder / name)
    said(capsys, ["show", "runs"])
    of_wandb = name in (run_files.WANDB_ID, run_files.WANDB_POINTS, run_files.METRICS)
    said(capsys, ["train", *(WANDB if of_wandb else CSV)])
    said(capsys, ["show", "runs"])


@pytest.mark.slow
@pytest.mark.some_in_ci(10)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", [*FILES, TRAINING, RUNNER])
def test_a_finished_run(home, runs_of_old, capsys, name, kind):
    folder = folder_in(home, runs_of_old / "finished")
    put(kind, folder / name)
    for words in (
        ["show", "runs"],
        ["evaluate", f"run={folder}"],
        ["export", f"run={folder}", f"to={home.parent / 'exported'}"],
        ["report", "run_group=default"],
        ["import", str(home), "into=other"],
    ):
        said(capsys, words)
