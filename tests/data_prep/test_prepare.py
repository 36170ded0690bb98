"""The road from a source to a store: whole or not there, the same from every start."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from lra.data.manifest import MANIFEST
from lra.data.store import verify_store
from tests.conftest import outer_environment


def children(pid: int) -> list[int]:
    """Processes that a process has started (Linux)."""
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def wait_until(true: Callable[[], bool], seconds: float = 120) -> bool:
    """Whether something becomes true within this time."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            return False
        time.sleep(0.1)
    return True


@pytest.mark.slow
@pytest.mark.parametrize("task", ["text", "image", "retrieval", "pathfinder", "pathx"])
def test_a_tiny_store_is_the_same_every_time_and_says_where_it_is_from(prepare, tmp_path, task):
    first, splits = prepare(task)
    again, _ = prepare(task, "force=true")
    assert first["arrays"] == again["arrays"]
    assert first["origin"] == ("generated" if task.startswith("path") else "stand-in")
    assert first["builder"].endswith(f"/{import_module(f'lra.data.{task}').VERSION}")
    assert {"tensorflow-datasets", "numpy", "lra"} <= first["versions"].keys()
    assert all(split["label_counts"] and split["length_quantiles"] for split in first["splits"].values())
    longest = max(split["length_quantiles"]["1"] for split in first["splits"].values())
    assert longest <= (1024 if task == "pathx" else 256)
    assert not [path for path in (tmp_path / "data").rglob("*incomplete*")]
    assert len(splits["train"]) == first["splits"]["train"]["count"]


@pytest.mark.slow
def test_a_store_of_another_version_is_refused(prepare, tmp_path):
    prepare("text")
    path = tmp_path / "data/stores/text/tiny" / MANIFEST
    path.write_text(path.read_text().replace("/1.0.0", "/0.9.0"))
    line = prepare("text")
    assert "was made with version=0.9.0, but version=1.0.0 is asked for" in line
    assert "force=true" in line
    assert prepare("text", "force=true")[0]["builder"].endswith("/1.0.0")


@pytest.mark.slow
def test_a_store_of_other_settings_is_refused(prepare):
    prepare("pathfinder")
    assert "split=permutation, but split=seed42" in prepare("pathfinder", "task.split=seed42")


@pytest.mark.slow
def test_killed_in_the_middle_and_started_again(prepare, tmp_path):
    """The old store stays whole, and nothing of the killed one is left in the way."""
    before, _ = prepare("pathfinder")
    words = ["prepare", "task=pathfinder", "size=tiny", "force=true", "task.sizes.tiny.images=5000"]
    env = outer_environment()
    process = subprocess.Popen([sys.executable, "-m", "lra", *words], env=env, cwd=tmp_path)
    assert wait_until(lambda: bool(children(process.pid))), "no worker draws images"
    workers = children(process.pid)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert wait_until(lambda: not any(Path(f"/proc/{pid}/cmdline").exists() for pid in workers)), "workers live on"
    folder = tmp_path / "data/stores/pathfinder/tiny"
    assert json.loads((folder / MANIFEST).read_text()) == before
    verify_store(folder)
    assert prepare("pathfinder", "force=true")[0]["arrays"] == before["arrays"]
    assert not [path for path in (tmp_path / "data").rglob("*incomplete*")]


@pytest.mark.slow
def test_two_at_once_make_one_store(prepare, tmp_path):
    env = outer_environment()
    command = [sys.executable, "-m", "lra", "prepare", "task=text", "size=tiny"]
    both = [subprocess.Popen(command, env=env, cwd=tmp_path, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    outputs = [process.communicate(timeout=120)[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert all("256 examples" in output for output in outputs)
    verify_store(tmp_path / "data/stores/text/tiny")
