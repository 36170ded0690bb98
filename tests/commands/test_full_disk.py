"""A disk that is full and a file system without locks: one line, and nothing half written."""

import errno
import fcntl
import os
import resource
import subprocess
import sys

import pytest
from safetensors import SafetensorError

from lra.cli import main
from lra.terminal.errors import NOT_FORESEEN, explain
from tests.conftest import outer_environment

TRAIN = ("train", "size=tiny", "recipe.steps=2", "recipe.eval_every=2", "attention=none", "logger=csv")


def lra_into(place, *words):
    """Type a command whose output goes to a file that takes nothing."""
    command = [sys.executable, "-m", "lra", *words]
    with open("/dev/full", "w") as full:
        streams = {"stdout": full, "stderr": subprocess.PIPE, "text": True}
        return subprocess.run(command, cwd=place, env=outer_environment(), check=False, **streams)


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["train", "--help"]])
def test_an_output_that_cannot_be_written_is_one_line(tmp_path, words):
    done = lra_into(tmp_path, *words)
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith("lra: ")
    assert os.strerror(errno.ENOSPC) in line


def test_errors_that_nobody_can_read_keep_their_exit_code(tmp_path):
    command = [sys.executable, "-m", "lra", "trian"]
    with open("/dev/full", "w") as full:
        done = subprocess.run(command, cwd=tmp_path, env=outer_environment(), stderr=full, check=False)
    assert done.returncode == 2


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.EFBIG, os.strerror(errno.EFBIG), "/x"),
        IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), "/x"),
        OSError(errno.ENOLCK, os.strerror(errno.ENOLCK)),
        SafetensorError("I/O error: No space left on device (os error 28)"),
        SafetensorError("I/O error: File too large (os error 27)"),
    ],
    ids=str,
)
def test_what_a_disk_refuses_is_foreseen(error):
    assert NOT_FORESEEN not in explain(error)


@pytest.mark.slow
def test_a_model_that_does_not_fit_is_not_half_exported(home, capsys):
    assert main(TRAIN) == 0
    (record,) = home.rglob("result.json")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    capsys.readouterr()
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
    try:
        assert main(["export", f"run={record.parent}", f"to={home.parent / 'exported'}"]) == 2
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    (line,) = capsys.readouterr().err.splitlines()
    assert NOT_FORESEEN not in line
    assert not [path for path in home.parent.iterdir() if "exported" in path.name]


@pytest.mark.slow
def test_a_file_system_without_locks_is_one_line_and_can_be_looked_at(home, refused, monkeypatch):
    assert main([*TRAIN, "recipe.steps=4", "trainer.max_steps=2"]) == 0

    def refuse(*_):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert main(["show", "runs"]) == 0
    error = refused(*TRAIN, "recipe.steps=4")
    assert (error.kind, error.value) == ("no_file_locks", "ENOLCK")
    assert "\n" not in str(error)
