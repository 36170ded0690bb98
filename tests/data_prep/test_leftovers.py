"""What a preparation leaves beside its store: nothing, also after a kill."""

import shutil
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from data_prep.prepare import remove_leftovers
from lra.base.files import replaced_folder, unfinished_folder
from lra.data.writer import store_lock
from tests.conftest import outer_environment


def leftovers(folder):
    return [path for path in folder.rglob("*") if "incomplete" in path.name or ".unfinished" in path.name]


@pytest.mark.slow
@pytest.mark.parametrize("task", ["text", "image", "retrieval", "listops"])
def test_nothing_is_left_in_the_temporary_folder(prepare, tmp_path, monkeypatch, task):
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    prepare(task)
    assert not list((tmp_path / "temporary").iterdir())
    assert not leftovers(tmp_path / "data")
    files = {str(path.relative_to(tmp_path / "data")) for path in (tmp_path / "data").rglob("*") if path.is_file()}
    outside = {path for path in files if not path.startswith(f"stores/{task}/tiny/")}
    assert outside == {f"stores/{task}/.tiny.lock"}, "the TFDS dataset goes when the store is made"


@pytest.mark.slow
@pytest.mark.exhaustive
def test_what_a_killed_process_has_left_is_removed_by_the_next(prepare, tmp_path):
    before, _ = prepare("pathfinder")
    command = ["prepare", "task=pathfinder", "size=tiny", "force=true", "task.sizes.tiny.images=5000"]
    env = outer_environment()
    process = subprocess.Popen([sys.executable, "-m", "lra", *command], env=env, cwd=tmp_path)
    end = time.monotonic() + 300
    while not any("incomplete" in path.name for path in leftovers(tmp_path / "data")) and time.monotonic() < end:
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert leftovers(tmp_path / "data")
    assert prepare("pathfinder")[0]["arrays"] == before["arrays"]
    assert not leftovers(tmp_path / "data")


@pytest.mark.slow
def test_a_store_that_a_kill_left_between_two_renames_is_restored(prepare, tmp_path):
    made, _ = prepare("text")
    store = tmp_path / "data/stores/text/tiny"
    shutil.copytree(store, unfinished_folder(store))
    store.rename(replaced_folder(store))
    assert prepare("text")[0] == made, "the old store, not one that is made again"
    assert sorted(path.name for path in store.parent.iterdir()) == [".tiny.lock", "tiny"]


def test_leftovers_are_removed_and_an_old_store_restored_unless_it_is_being_made(tmp_path):
    store = tmp_path / "tiny"
    for folder in (replaced_folder(store), unfinished_folder(store)):
        folder.mkdir()
        (folder / folder.suffix).touch()
    with store_lock(store):
        remove_leftovers(store)
        assert not store.exists()
    remove_leftovers(store)
    assert [path.name for path in store.iterdir()] == [".replaced"]
    store.rename(unfinished_folder(store))
    remove_leftovers(store)
    assert [path.name for path in tmp_path.iterdir()] == [".tiny.lock"]


@pytest.mark.slow
def test_what_another_process_is_making_is_left_alone(prepare, tmp_path):
    prepare("text")
    work = tmp_path / "data/stores/text/.tiny.tfds.unfinished"
    work.mkdir()
    with store_lock(tmp_path / "data/stores/text/tiny"):
        prepare("text")
    assert work.exists()
    prepare("text")
    assert not work.exists()
