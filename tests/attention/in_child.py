"""Runs tests in a process that has torch already: importing it takes longer than a test."""

import multiprocessing
import os
import sys
from importlib.abc import MetaPathFinder
from multiprocessing.connection import Connection
from pathlib import Path
from unittest import mock

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


def run_tests(folder: Path, words: list[str], finder: MetaPathFinder, output: Path) -> tuple[int, str]:
    """Run pytest with `words` in `folder`, where `finder` finds modules first; return its status and its output."""
    server = multiprocessing.get_context("forkserver")
    server.set_forkserver_preload(LIBRARIES)
    receive, send = server.Pipe(duplex=False)
    child = server.Process(target=_in_child, args=(folder, words, finder, output, send))
    with mock.patch.object(sys, "argv", ["pytest"]):  # a child unpickles it; overrides in it, of a verb, import lra
        child.start()
    send.close()
    child.join()
    assert child.exitcode == 0, output.read_text()  # what pytest found is in `status`, not in the process's own
    return receive.recv(), output.read_text()


def _in_child(folder: Path, words: list[str], finder: MetaPathFinder, output: Path, status: Connection) -> None:
    with output.open("w") as file:
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    imported = [name for name in sys.modules if name.partition(".")[0] == "lra"]
    assert not imported, f"{finder} would find nothing of {imported}, which {sys.modules['__main__']} has imported"
    sys.meta_path.insert(0, finder)
    status.send(int(pytest.main(words)))
