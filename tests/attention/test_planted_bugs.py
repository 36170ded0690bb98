"""Every test of an attention catches the bugs that planted_bugs.yaml has for it: each is planted in a copy of lra/."""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.attention import (
    test_backends,
    test_contract,
    test_linear_in_length,
    test_nystrom_choices,
    test_reformer,
    test_skyformer,
    test_sparse,
)
from tests.conftest import ROOT
from tests.model import test_groups

MODULES = (
    test_contract,
    test_backends,
    test_nystrom_choices,
    test_reformer,
    test_sparse,
    test_skyformer,
    test_linear_in_length,
    test_groups,
)
PROMISE = "test_keeps_its_promise"
TESTS = {
    f"{Path(module.__file__).relative_to(ROOT)}::{name}"
    for module in MODULES
    for name, test in vars(module).items()
    if name.startswith("test_") and name != PROMISE and inspect.isfunction(test)
} | {f"tests/attention/test_contract.py::{PROMISE}[{promise}]" for promise in test_contract.PROMISES}
TABLE = yaml.safe_load(Path(__file__).with_name("planted_bugs.yaml").read_text())
PLANTED = [
    (f"{module}::{name}", bug["file"], bug["old"], bug["new"])
    for module, tests in TABLE.items()
    for name, bugs in tests.items()
    for bug in bugs
]


def test_every_test_of_a_backend_has_a_bug():
    assert {name for name, *_ in PLANTED} == TESTS


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
    test, _, promise = name.rstrip("]").partition("[")
    words = ["-m", "pytest", "-x", "-p", "no:cacheprovider", test, *(["-k", promise] if promise else [])]
    env = {**os.environ, "PYTHONPATH": str(tmp_path)}
    done = subprocess.run([sys.executable, *words], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout  # 1: a test failed; 2 to 5: none was run
