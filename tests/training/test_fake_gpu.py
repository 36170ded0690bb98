"""On a GPU, forward passes find their tensors on one device, of one type, and read no number: every task and method."""

import json
import subprocess
import sys
from itertools import product

import pytest

from tests.conftest import ROOT
from tests.test_conf import TASKS
from tests.training.fake_gpu import PASSES
from tests.training.test_waiting import METHODS, PROTOCOLS

PLANTED = {  # attentions with a mistake: what torch raises, and in how many passes; autocast mends a mix of types
    "AddsOfHost": ("FakeTensorDeviceMismatchError", 5),
    "ReadsNumber": ("DataDependentOutputException", 5),
    "MixesTypes": ("RuntimeError", 4),
}


def passes_of(method: str) -> int:
    return len(PASSES) - method.startswith("mixer")


def errors_of(cells: list[tuple[str, str, str]]) -> dict[str, str]:
    """The errors of all forward passes of models, from a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.training.fake_gpu"],
        input=json.dumps(cells),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["passes"] == sum(passes_of(method) for _, method, _ in cells)
    errors: dict[str, str] = found["errors"]
    return errors


@pytest.mark.slow
def test_it_sees_mistakes_and_lets_others_pass():
    broken = [f"attention=none attention._target_=tests.training.fake_gpu.{name}" for name in PLANTED]
    errors = errors_of([("listops", method, "clean") for method in (*broken, "attention=none", "mixer=gated")])
    assert len(errors) == sum(count for _, count in PLANTED.values())
    for method, (kind, count) in zip(broken, PLANTED.values(), strict=True):
        assert [error.partition(":")[0] for one, error in errors.items() if method in one] == count * [kind]


@pytest.mark.slow
@pytest.mark.some_in_ci(2)
@pytest.mark.parametrize("task", TASKS)
def test_every_task_and_method(task):
    assert not errors_of(list(product([task], METHODS, PROTOCOLS)))
