"""A command that trains nothing answers at once: it composes at most one configuration, and imports nothing slow."""

import json
import subprocess
import sys

import pytest

from lra.base.paths import runs_dir
from tests.conftest import ROOT
from tests.tables.records import make_record

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
for command in sys.argv[1:]:
    composed.clear()
    if composing := sys.modules.get("lra.settings.compose"):
        composing._compose.cache_clear()
    code = main(command.split())
    print("COST", json.dumps({"code": code, "composed": composed, "modules": list(sys.modules)}), file=sys.stderr)
"""


def costs_of(*commands: str) -> dict[str, tuple[int, list[str], set[str]]]:
    """Exit code, compositions and imported modules of commands that one process runs, each after those before it."""
    words = [sys.executable, "-c", PROBE, *commands]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=ROOT)
    costs = [json.loads(line[5:]) for line in done.stderr.splitlines() if line.startswith("COST ")]
    each = [(cost["code"], cost["composed"], set(cost["modules"])) for cost in costs]
    return dict(zip(commands, each, strict=True))


@pytest.fixture
def records(home):
    """A file of three attentions with three seeds each."""
    path = runs_dir() / "three.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    each = [make_record(attention=name, seed=seed) for name in ("nystrom", "full", "linformer") for seed in range(3)]
    path.write_text("".join(json.dumps(record) + "\n" for record in each))
    return path


@pytest.mark.slow
def test_what_trains_nothing_composes_once_and_imports_no_torch(records):
    composes_nothing = ("show tasks", "show attentions")
    composes_once = (
        "show protocol",
        f"show runs {records}",
        "train --cfg job",
        "table show run_group=three.jsonl",
        "compare show run_group=three.jsonl",
        "sweep landmarks show run_group=three.jsonl",
        "publish run_group=three.jsonl name=mine",
        f"import {records}",
        "report run_group=three.jsonl samples=0",
    )
    for command, (code, composed, modules) in costs_of(*composes_nothing, *composes_once).items():
        assert code == 0, command
        assert len(composed) <= (command in composes_once), (command, composed)
        assert not SLOW & modules, command


def test_a_refusal_composes_once_and_imports_no_torch(home):
    commands = ("train sed=1", "table show sise=tiny", "train task=nothing", "show tasks sixe=tiny")
    for command, (code, composed, modules) in costs_of(*commands).items():
        assert code == 2, command
        assert len(composed) <= 1, (command, composed)
        assert not SLOW & modules, command


@pytest.mark.slow
def test_what_needs_torch_needs_no_lightning(home):
    for command, (code, _, modules) in costs_of("doctor", "show model size=tiny").items():
        assert code == 0, command
        assert not LIGHTNING & modules, command


@pytest.mark.slow
def test_a_plan_leaves_lightning_and_torchs_compiler_to_the_process_that_measures(home):
    plan = "table plan task=listops attention=none size=tiny seed=0 run_group=planned"
    code, _, modules = costs_of(plan)[plan]
    assert code == 0
    assert not (LIGHTNING | {"torch._dynamo"}) & modules


@pytest.mark.slow
@pytest.mark.exhaustive
def test_what_reads_a_run_or_its_data_needs_no_lightning(home):
    words = "task=listops size=tiny attention=nystrom recipe.steps=4 recipe.eval_every=2 logger=csv"
    assert costs_of(f"train {words}")[f"train {words}"][0] == 0
    (run,) = (path.parent for path in runs_dir().rglob("result.json"))
    commands = (
        "show data task=listops size=tiny",
        f"evaluate run={run}",
        f"diagnose run={run}",
        "diagnose task=listops size=tiny",
        f"export run={run} to={home / 'exported'}",
        "report run_group=default",
        "check attention=none",
    )
    for command, (code, _, modules) in costs_of(*commands).items():
        assert code == 0, command
        assert not LIGHTNING & modules, command


@pytest.mark.slow
def test_a_mistyped_word_is_told_before_torch_is_imported(home):
    verbs = ("prepare", "train", "evaluate", "diagnose", "report", "publish", "import", "export", "fill-mask", "check")
    verbs += ("show runs", "show model", "bench step", "doctor", "table show", "compare show", "tune show")
    costs = costs_of(*(f"{verb} zzz=3" for verb in verbs))
    assert {command: (code, SLOW & modules) for command, (code, _, modules) in costs.items()} == {
        f"{verb} zzz=3": (2, set()) for verb in verbs
    }
