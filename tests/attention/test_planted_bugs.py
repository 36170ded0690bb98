"""Every test of an attention backend catches the bugs its docstring names: each is planted in a copy of the package."""

from __future__ import annotations

import inspect
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.attention import test_backends, test_contract, test_reformer
from tests.conftest import ROOT
from tests.model import test_groups

BUG = re.compile(r"`([\w/]+\.py)`: `(.+?)` → `(.+?)`")
TESTS = {
    f"{Path(module.__file__).relative_to(ROOT)}::{name}": test
    for module in (test_contract, test_backends, test_reformer, test_groups)
    for name, test in vars(module).items()
    if name.startswith("test_") and inspect.isfunction(test)
}
PLANTED = [(name, *bug) for name, test in TESTS.items() for bug in BUG.findall(test.__doc__ or "")]


def test_every_test_of_a_backend_names_a_bug():
    assert {name for name, *_ in PLANTED} == TESTS.keys()


@pytest.mark.parametrize("name, file, old, new", PLANTED)
def test_a_planted_bug_has_one_place_to_be(name, file, old, new):
    assert (ROOT / "lra" / file).read_text().count(old) == 1


@pytest.mark.slow
@pytest.mark.parametrize("name, file, old, new", PLANTED)
def test_a_planted_bug_is_caught(name, file, old, new, tmp_path):
    for folder in ("lra", "conf", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    source = tmp_path / "lra" / file
    source.write_text(source.read_text().replace(old, new))
    words = ["-m", "pytest", "-x", "-p", "no:cacheprovider", name]
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, *words], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout  # 1: a test failed; 2 to 5: none was run
