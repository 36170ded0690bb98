"""Trouble of the machine, damaged runs: one line each, and an exit code."""

import shutil

import pytest

from lra.cli import main
from tests.commands.test_cli import TRAIN, run
from tests.conftest import lra_here


@pytest.mark.slow
@pytest.mark.parametrize(
    "error, line",
    [
        (OSError(28, "No space left on device", "/data/x"), "no space is left at /data/x; what was there"),
        (OSError(28, "No space left on device", "/tmp/x", None, "/runs/best.ckpt"), "no space is left at /runs/best"),
        (RuntimeError("write() failed: No space left on device; at byte 2"), "no space is left"),
        (FileNotFoundError(2, "No such file or directory", "/proc/x"), "cannot be made at /proc/x"),
        (PermissionError(13, "Permission denied", "/runs"), "cannot be written at /runs"),
        (OSError(30, "Read-only file system", "/runs"), "read-only at /runs"),
        (RuntimeError("CUDA out of memory. Tried to allocate"), "4 fit (tried): trainer.accumulate_grad_batches=2"),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate"), "accumulate_grad_batches=2"),
        (MemoryError(), "out of memory with 8 examples at a time"),
        (ZeroDivisionError("x"), "LRA_DEBUG=1"),
    ],
)
def test_trouble_of_the_machine_gets_one_line_too(home, capsys, monkeypatch, error, line):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr("lra.training.run.fit", fails)
    code, _, err = run(capsys, *TRAIN, "logger=csv")
    assert code == 2
    assert line in err
    assert len(err.strip().splitlines()) == 1


def test_a_file_where_the_runs_should_be(home, capsys, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / "file"))
    code, _, err = run(capsys, *TRAIN, "logger=csv")
    assert code == 2
    assert "a file is where a folder should be" in err


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
