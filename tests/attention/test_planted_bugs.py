"""Every test of an attention catches the bugs that planted_bugs.yaml has for it."""

import inspect
import sys
from pathlib import Path

import pytest
import yaml

from lra.base.overrides import Override
from tests.attention import (
    test_backends,
    test_contract,
    test_linear_in_length,
    test_nystrom_choices,
    test_reformer,
    test_skyformer,
    test_sparse,
)
from tests.attention.in_child import run_tests
from tests.attention.planting import Bug, Planter
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
    (f"{module}::{name}", Bug(bug["in"], bug["old"], bug["new"]))
    for module, tests in TABLE.items()
    for name, bugs in tests.items()
    for bug in bugs
]
NAMES_OF_BUGS = [f"{name.partition('::')[2]} {bug.place}" for name, bug in PLANTED]


def test_every_test_of_a_backend_has_a_bug():
    assert {name for name, _ in PLANTED} == TESTS


def test_a_planted_bug_has_one_place_to_be():
    offenders = []
    for _, bug in PLANTED:
        try:
            Planter(bug)
        except (LookupError, SyntaxError, TypeError) as error:
            offenders.append(f"{bug}: {error}")
    assert not offenders, "\n".join(offenders)


@pytest.mark.slow
@pytest.mark.some_in_ci(12)
@pytest.mark.parametrize("name, bug", PLANTED, ids=NAMES_OF_BUGS)
def test_a_planted_bug_is_caught(name, bug, tmp_path):
    status, output = run_with_bug(name, bug, tmp_path)
    assert status == pytest.ExitCode.TESTS_FAILED, output  # others tell that no test was run, or all passed


@pytest.mark.slow
def test_what_is_no_bug_is_not_caught(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "argv", ["lra train", Override("task=listops")])  # as a verb leaves it
    no_bug = Bug("NystromAttention.__init__", old="value_skip_taps % 2 == 0", new="value_skip_taps % 2 == 0")
    status, output = run_with_bug("tests/attention/test_backends.py::test_the_value_skip_is_odd", no_bug, tmp_path)
    assert status == pytest.ExitCode.OK, output


def run_with_bug(name: str, bug: Bug, folder: Path) -> tuple[int, str]:
    """Run a test, or the cases of one promise, with the bug in its function."""
    planter = Planter(bug)
    test, _, promise = name.rstrip("]").partition("[")
    file = planter.module.rpartition(".")[2]
    of_its_own = file if file in test_contract.NAMES else ""  # others need not be tried
    chosen = " and ".join(filter(None, (promise, promise and of_its_own)))
    words = ["-x", "-p", "no:cacheprovider", "-m", "slow or not slow", test, *(["-k", chosen] if chosen else [])]
    return run_tests(ROOT, words, planter, folder / "output.txt")
