"""Locks where the file system has none: what it refuses, and what a kill leaves there, is one line."""

import errno
import fcntl
import io
import os
import shlex
import subprocess
import threading

import pytest
from rich.console import Console

from lra.cli import main
from lra.data.writer import store_lock
from lra.run import RUNNER, TRAINING, Run, RunLockedError
from lra.tables.grid.runner import run_missing
from lra.types import LOCKED, UserError
from tests.tables.grid.stand_in import make_cells

TINY = ("train", "size=tiny", "recipe.steps=2", "recipe.eval_every=2", "logger=csv")


@pytest.fixture
def flock_fails(monkeypatch):
    """Makes the system refuse each lock of a file with an error number."""

    def fail(number: int) -> None:
        def refuse(*_: object) -> None:
            raise OSError(number, os.strerror(number))

        monkeypatch.setattr(fcntl, "flock", refuse)

    return fail


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EIO, errno.ENOLCK, errno.EOPNOTSUPP])
def test_what_flock_refuses_names_the_folder_and_is_no_lock(tmp_path, flock_fails, number):
    (tmp_path / TRAINING).touch()
    flock_fails(number)
    for hold in (lambda: Run(tmp_path).lock(), lambda: store_lock(tmp_path / "store")):
        with pytest.raises(UserError) as refused, hold():
            pass
        assert (refused.value.kind, refused.value.value) == ("no_file_locks", errno.errorcode[number])
        assert str(tmp_path) in str(refused.value)
    assert not Run(tmp_path).locked


@pytest.mark.parametrize("number", [errno.EINVAL, errno.EIO])
def test_a_training_says_it_in_one_line(home, flock_fails, refused, number):
    flock_fails(number)
    assert refused(*TINY).value == errno.errorcode[number]


@pytest.mark.filterwarnings("ignore:flock not supported")
@pytest.mark.parametrize("content, named", [("", "no process"), ("17\nelsewhere\n", "17 on elsewhere")])
def test_a_lock_that_a_kill_left_without_flock_is_named_with_what_deletes_it(tmp_path, flock_fails, content, named):
    """An empty one is left by a folder's copy from a file system with flock, where lock files are empty and stay."""
    folder = tmp_path / "a run"
    folder.mkdir()
    (folder / TRAINING).write_text(content)
    flock_fails(errno.ENOSYS)
    with pytest.raises(RunLockedError) as refused, Run(folder).lock(patience_seconds=0):
        pass
    line = str(refused.value)
    assert named in line
    remedy = line[line.index("rm ") :]
    assert shlex.split(remedy) == ["rm", str(folder / TRAINING)]
    assert Run(folder).locked
    subprocess.run(remedy, shell=True, check=True)
    with Run(folder).lock(patience_seconds=0), Run(folder).lock(RUNNER):
        assert (folder / TRAINING).read_text().startswith(str(os.getpid()))
    assert not Run(folder).locked


@pytest.mark.filterwarnings("ignore:flock not supported")
def test_a_runner_that_waits_for_such_a_lock_names_it_too(tmp_path, flock_fails, monkeypatch):
    def end(_: float) -> None:
        raise InterruptedError

    (cell,), out = make_cells(tmp_path, "a"), io.StringIO()
    cell.run.folder.mkdir()
    (cell.run.folder / TRAINING).touch()
    flock_fails(errno.ENOSYS)
    monkeypatch.setattr("lra.tables.grid.runner.time.sleep", end)
    with pytest.raises(InterruptedError):
        run_missing([cell], Console(file=out, width=1000))
    assert f"rm {cell.run.folder / TRAINING}" in out.getvalue()


def test_with_flock_an_empty_file_that_nobody_holds_is_no_lock_and_one_that_is_held_is_not_to_be_deleted(tmp_path):
    (tmp_path / TRAINING).touch()
    assert not Run(tmp_path).locked
    with Run(tmp_path).lock():
        assert Run(tmp_path).locked
        with pytest.raises(RunLockedError) as refused, Run(tmp_path).lock(patience_seconds=0):
            pass
    assert "rm" not in str(refused.value).split()


def test_who_waits_for_data_that_another_process_makes_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("lra.base.file_lock.PATIENCE_SECONDS", 0.05)
    store, done = tmp_path / "store", []

    def wait() -> None:
        with store_lock(store):
            done.append(True)

    with store_lock(store):
        waiting = threading.Thread(target=wait)
        waiting.start()
        waiting.join(0.5)
        assert not done
    waiting.join(10)
    assert done
    assert str(store.with_name(".store.lock")) in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:flock not supported")
def test_a_training_without_flock_ends_and_one_that_finds_a_left_lock_is_told(home, flock_fails, capsys):
    flock_fails(errno.ENOSYS)
    assert main([*TINY]) == 0
    (folder,) = (path.parent for path in home.rglob("result.json"))
    assert not (folder / TRAINING).exists()
    (folder / TRAINING).touch()
    capsys.readouterr()
    assert main([*TINY, "force=true"]) == LOCKED
    assert f"rm {folder / TRAINING}" in capsys.readouterr().err
