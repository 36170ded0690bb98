"""Every test of an attention catches the bugs that planted_bugs.yaml has for it: each is planted in a copy of lra/."""

import inspect
import shutil
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
from tests.attention.in_copy import run_tests
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
@pytest.mark.some_in_ci(12)
@pytest.mark.parametrize("name, file, old, new", PLANTED)
def test_a_planted_bug_is_caught(name, file, old, new, tmp_path):
    for folder in ("lra", "conf", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    source = tmp_path / "lra" / file
    source.write_text(source.read_text().replace(old, new))
    test, _, promise = name.rstrip("]").partition("[")
    of_its_own = Path(file).stem if Path(file).stem in test_contract.NAMES else ""  # others need not be tried
    chosen = " and ".join(filter(None, (promise, promise and of_its_own)))
    words = ["-x", "-p", "no:cacheprovider", "-m", "slow or not slow", test, *(["-k", chosen] if chosen else [])]
    status, output = run_tests(tmp_path, words)
    assert status == 1, output  # 1: a test failed; 2 to 5: none was run
