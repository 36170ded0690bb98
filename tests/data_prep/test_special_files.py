"""Pipes, sockets, devices, unreadable files: refused in one line, never waited for."""

import contextlib
import os
import re
import signal
import socket
import tempfile
from pathlib import Path

import pytest

from data_prep.archives import open_files
from lra.base.files import regular_file
from lra.data.manifest import MANIFEST, read_manifest
from lra.data.store import open_store, verify_store
from lra.terminal.errors import explain
from lra.types import TaskSpec, UserError

NOBODY = 65534


@pytest.fixture(autouse=True)
def _no_endless_wait():
    """A test that waits for a pipe ends as a failure."""
    signal.alarm(300)
    yield
    signal.alarm(0)


@pytest.fixture
def open_to_all():
    """A folder that every user can enter, and that only its owner can write."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@contextlib.contextmanager
def as_nobody():
    """Without root's right to read everything."""
    if os.getuid():
        yield
        return
    os.seteuid(NOBODY)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_device_is_no_source(prepare):
    assert "source=/dev/zero " in prepare("text", "source=/dev/zero")


@pytest.mark.slow
def test_a_pipe_and_a_socket_are_no_source(prepare, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    assert f"source={tmp_path / 'pipe'} " in prepare("image", f"source={tmp_path / 'pipe'}", "verify=false")
    with socket.socket(socket.AF_UNIX) as opened:
        opened.bind("socket")
        assert f"source={tmp_path / 'socket'} " in prepare("image", f"source={tmp_path / 'socket'}")
    (tmp_path / "elsewhere").mkdir()
    os.mkfifo(tmp_path / "elsewhere/aclImdb_v1.tar.gz")
    assert "aclImdb_v1.tar.gz " in prepare("text"), "found by itself"


def test_a_pipe_in_a_folder_of_files_is_refused(prepare, tmp_path):
    (tmp_path / "aclImdb/train/pos").mkdir(parents=True)
    os.mkfifo(tmp_path / "aclImdb/train/pos/0_9.txt")
    assert "0_9.txt " in prepare("text", f"source={tmp_path / 'aclImdb'}")


@pytest.mark.slow
@pytest.mark.parametrize("name", [MANIFEST, "tokens.npy"])
def test_a_pipe_in_a_store_is_refused(prepare, tmp_path, name):
    prepare("text")
    folder = tmp_path / "data/stores/text/tiny"
    manifest = read_manifest(folder)
    (folder / name).unlink()
    os.mkfifo(folder / name)
    spec = TaskSpec(**manifest["spec"])
    for opening in (lambda: open_store(folder, spec), lambda: verify_store(folder)):
        with pytest.raises(UserError, match=name):
            opening()


def test_an_unreadable_file_is_no_folder_that_cannot_be_written(open_to_all):
    path = open_to_all / "x.tar.gz"
    path.write_bytes(b"x")
    path.chmod(0)
    with as_nobody():
        with pytest.raises(UserError) as refused:
            regular_file(path)
        assert (refused.value.kind, refused.value.right) == ("unreadable", f"chmod u+r {path}")
        with pytest.raises(PermissionError) as error:
            path.open()
        assert f"cannot be read: {path}" in explain(error.value)
        assert "cannot be written" not in explain(error.value)


def test_a_folder_that_cannot_be_written_is_still_said_to_be(open_to_all):
    open_to_all.chmod(0o555)
    with as_nobody():
        with pytest.raises(PermissionError) as error:
            (open_to_all / "new").mkdir()
        assert "the folder cannot be written" in explain(error.value)


def test_an_unreadable_folder_within_a_source_is_named(open_to_all):
    (open_to_all / "a/inner").mkdir(parents=True)
    (open_to_all / "a/inner").chmod(0)
    with as_nobody():
        with pytest.raises(PermissionError) as error:
            list(open_files(open_to_all / "a", re.compile("a/.*"), lambda done, total: None))
        assert f"cannot be read: {open_to_all / 'a/inner'}" in explain(error.value)


def test_more_threads_than_a_machine_can_use_are_refused(home, refused):
    words = ["train", "task=listops", "size=tiny", "recipe.steps=2", "logger=csv", "trainer.threads=1000"]
    error = refused(*words)
    assert (error.key, error.value, error.right) == ("trainer.threads", 1000, os.cpu_count())
