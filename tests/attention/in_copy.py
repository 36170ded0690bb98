"""Runs tests of a copy of the project in a process that has torch already: importing it takes longer than a test."""

import multiprocessing
import os
import sys
from pathlib import Path

import pytest

LIBRARIES = [
    "pytest",
    "torch",
    "torch._dynamo",
    "pytorch_lightning",
    "torchmetrics",
    "hydra",
    "pydantic",
    "absl.logging",
]


def run_tests(folder: Path, words: list[str]) -> tuple[int, str]:
    """Run pytest with `words` in `folder`, a copy of `lra/`, `conf/` and `tests/`, and return its status and output."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(LIBRARIES)
    output = folder / "output.txt"
    child = server.Process(target=_in_child, args=(folder, words, output))
    child.start()
    child.join()
    assert child.exitcode is not None
    return child.exitcode, output.read_text()


def _in_child(folder: Path, words: list[str], output: Path) -> None:
    with output.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    for name in [name for name in sys.modules if name.partition(".")[0] in ("lra", "tests")]:
        del sys.modules[name]  # this file came from the project itself
    sys.exit(pytest.main(words))
