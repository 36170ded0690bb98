"""Two threads, and a place for what was measured."""

import json
import os
from pathlib import Path

import pytest
import torch

from lra.runs.versions import git_commit, versions
from lra.training.memory import keep_freed_memory


@pytest.fixture(autouse=True)
def two_threads():
    """As every bar is stated; the allocator is set for both sides of a ratio."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    keep_freed_memory()
    yield
    torch.set_num_threads(before)


@pytest.fixture
def note():
    """Print a figure; with LRA_SPEED_RECORD=FILE also append it there, with commit and versions."""

    def write(what: str, **figures: float) -> None:
        rounded = {name: float(f"{value:.4g}") for name, value in figures.items()}
        print(what, rounded)
        if path := os.environ.get("LRA_SPEED_RECORD"):
            line = {"what": what, **rounded, "git_commit": git_commit(), "torch": versions()["torch"]}
            with Path(path).open("a") as file:
                file.write(json.dumps(line) + "\n")

    return write
