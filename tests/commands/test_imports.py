"""A command that trains nothing answers at once: it composes at most one configuration, and imports nothing slow."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from lra.base.paths import runs_dir
from tests.conftest import ROOT
from tests.results.records import make_record

LIGHTNING = {"pytorch_lightning", "lightning_fabric", "tensorflow_datasets", "wandb"}
SLOW = LIGHTNING | {"torch", "scipy.stats", "pandas"}
PROBE = """
import json, sys
from hydra._internal.config_loader_impl import ConfigLoaderImpl
composed, compose = [], ConfigLoaderImpl.load_configuration
def counted(self, *names, **more):
    composed.append(str(more.get("overrides")))
    return compose(self, *names, **more)
ConfigLoaderImpl.load_configuration = counted
from lra.cli import main
code = main(sys.argv[1:])
print(json.dumps({"code": code, "composed": composed, "modules": list(sys.modules)}), file=sys.stderr)
"""


def cost_of(*words: str) -> tuple[int, list[str], set[str]]:
    """Exit code, compositions and imported modules of a command in a process of its own."""
    done = subprocess.run([sys.executable, "-c", PROBE, *words], capture_output=True, text=True, check=True, cwd=ROOT)
    said = json.loads(done.stderr.splitlines()[-1])
    return said["code"], said["composed"], set(said["modules"])


@pytest.fixture
def records(home):
    """A file of three attentions with three seeds each."""
    path = runs_dir() / "three.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    each = [make_record(attention=name, seed=seed) for name in ("nystrom", "full", "linformer") for seed in range(3)]
    path.write_text("".join(json.dumps(record) + "\n" for record in each))
    return path


@pytest.mark.parametrize(
    "command, most",
    [
        ("show tasks", 0),
        ("show attentions", 0),
        ("show protocol", 1),
        ("show runs RECORDS", 1),
        ("train --cfg job", 1),
        ("table show run_group=three.jsonl", 1),
        ("compare show run_group=three.jsonl", 1),
        ("sweep landmarks show run_group=three.jsonl", 1),
        ("publish run_group=three.jsonl name=mine", 1),
        ("import RECORDS", 1),
        ("report run_group=three.jsonl samples=0", 1),
    ],
)
def test_what_trains_nothing_composes_once_and_imports_no_torch(command, most, records):
    code, composed, modules = cost_of(*command.replace("RECORDS", str(records)).split())
    assert code == 0
    assert len(composed) <= most, composed
    assert not SLOW & modules


@pytest.mark.parametrize(
    "command", ["train sed=1", "table show sise=tiny", "train task=nothing", "show tasks sixe=tiny"]
)
def test_a_refusal_composes_once_and_imports_no_torch(command, home):
    code, composed, modules = cost_of(*command.split())
    assert code == 2
    assert len(composed) <= 1, composed
    assert not SLOW & modules


def test_what_needs_torch_needs_no_lightning(home):
    for command in ("doctor", "show model size=tiny"):
        code, _, modules = cost_of(*command.split())
        assert code == 0
        assert not LIGHTNING & modules


@pytest.mark.slow
def test_what_reads_a_run_or_its_data_needs_no_lightning(home):
    words = ("task=listops", "size=tiny", "attention=nystrom", "recipe.steps=4", "recipe.eval_every=2", "logger=csv")
    assert cost_of("train", *words)[0] == 0
    (run,) = (path.parent for path in runs_dir().rglob("result.json"))
    for command in (
        "show data task=listops size=tiny",
        f"evaluate run={run}",
        f"diagnose run={run}",
        "diagnose task=listops size=tiny",
        f"export run={run} to={home / 'exported'}",
        "report run_group=default",
        "check attention=none",
    ):
        code, _, modules = cost_of(*command.split())
        assert code == 0, command
        assert not LIGHTNING & modules, command
