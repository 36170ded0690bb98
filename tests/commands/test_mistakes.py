"""Trouble of the machine, damaged runs: one line each, and an exit code."""

import shutil
from errno import EACCES, ENOENT, ENOSPC, ENOTDIR, EROFS

import pytest

from lra.cli import main
from lra.terminal.errors import FOLDER_PROBLEMS, NOT_FORESEEN
from tests.commands.test_cli import TRAIN, run
from tests.conftest import lra_here


def fails_with(error, monkeypatch) -> None:
    """Let the training end with an error."""

    def fails(*_, **__):
        raise error

    monkeypatch.setattr("lra.training.run.fit", fails)


@pytest.mark.slow
@pytest.mark.parametrize(
    "error, problem, where",
    [
        (OSError(28, "No space left on device", "/data/x"), FOLDER_PROBLEMS[ENOSPC], "/data/x"),
        (
            OSError(28, "No space left on device", "/tmp/x", None, "/runs/a.ckpt"),
            FOLDER_PROBLEMS[ENOSPC],
            "/runs/a.ckpt",
        ),
        (RuntimeError("write() failed: No space left on device; at byte 2"), FOLDER_PROBLEMS[ENOSPC], "RuntimeError"),
        (FileNotFoundError(2, "No such file or directory", "/proc/x"), FOLDER_PROBLEMS[ENOENT], "/proc/x"),
        (PermissionError(13, "Permission denied", "/runs"), FOLDER_PROBLEMS[EACCES], "/runs"),
        (OSError(30, "Read-only file system", "/runs"), FOLDER_PROBLEMS[EROFS], "/runs"),
        (ZeroDivisionError("x"), NOT_FORESEEN, "LRA_DEBUG=1"),
    ],
)
def test_trouble_of_the_machine_gets_one_line_too(home, capsys, monkeypatch, error, problem, where):
    fails_with(error, monkeypatch)
    code, _, err = run(capsys, *TRAIN, "logger=csv")
    assert code == 2
    assert problem in err
    assert where in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "error",
    [
        RuntimeError("CUDA out of memory. Tried to allocate"),
        RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate"),
        MemoryError(),
    ],
    ids=str,
)
def test_of_a_batch_that_does_not_fit_the_largest_part_that_does_is_proposed(home, refused, monkeypatch, error):
    fails_with(error, monkeypatch)
    refusal = refused(*TRAIN, "logger=csv")
    assert (refusal.kind, refusal.key) == ("no_memory", "trainer.accumulate_grad_batches")
    assert refusal.right == "trainer.accumulate_grad_batches=2"
    assert "\n" not in str(refusal)


def test_a_file_where_the_runs_should_be(home, capsys, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / "file"))
    code, _, err = run(capsys, *TRAIN, "logger=csv")
    assert code == 2
    assert f"{FOLDER_PROBLEMS[ENOTDIR]} at {tmp_path / 'file'}" in err


def test_lra_debug_shows_the_traceback(home, monkeypatch):
    monkeypatch.setenv("LRA_DEBUG", "1")
    with pytest.raises(BaseException, match="nystorm"):
        main(["train", "attention=nystorm"])


@pytest.fixture(scope="module")
def trained_twice(data_dir, tmp_path_factory):
    """A folder of runs with one of Nyström attention, and in the group `other` one of full attention."""
    runs = tmp_path_factory.mktemp("trained") / "runs"
    for words in ((), ("attention=full", "run_group=other")):
        assert lra_here(*TRAIN, "logger=csv", *words, data=data_dir, runs=runs).returncode == 0
    return runs


@pytest.mark.slow
@pytest.mark.parametrize(
    "file, damage, kind",
    [
        ("best.ckpt", "cut", "damaged_file"),
        ("best.ckpt", "other", "other_model"),
        ("best.ckpt", "gone", "missing_file"),
        ("config.yaml", "gone", "missing_file"),
    ],
)
def test_a_damaged_run_is_named(trained_twice, home, refused, file, damage, kind):
    shutil.copytree(trained_twice, home)
    path = next((home / "default").rglob(file))
    if damage == "gone":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:-100])
    else:
        path.write_bytes(next((home / "other").rglob(file)).read_bytes())
    error = refused("evaluate", f"run={next(home.glob('default/*/*/*/*'))}")
    assert (error.kind, error.key) == (kind, file)
