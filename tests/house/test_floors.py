"""The floors of the house: imports point down only, and heavy packages stay where they belong."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted([*(ROOT / "lra").rglob("*.py"), *(ROOT / "data_prep").rglob("*.py")])
FLOOR = {
    "lra.types": 0,
    "lra.durations": 0,
    "lra.run_files": 0,
    "lra.signals": 0,
    "lra.masking": 0,
    "lra.safe_path": 0,
    "lra.find_run": 1,
    "lra.arguments": 1,
    "lra.paths": 1,
    "lra.names": 1,
    "lra.later_settings": 1,
    "lra.files": 1,
    "lra.schema": 1,
    "lra.processes": 1,
    "lra.ops": 1,
    "lra.protocol": 2,
    "lra.group_files": 2,
    "lra.packed": 2,
    "lra.option_groups": 3,
    "lra.attention": 3,
    "lra.pass_through": 4,
    "lra.data": 4,
    "lra.model": 4,
    "lra.mixers": 5,
    "data_prep": 5,
    "lra.training": 5,
    "lra.results": 5,
    "lra.testing": 5,
    "lra.interop": 6,
    "lra.bench": 6,
    "lra.diagnosis": 6,
    "lra.config": 6,
    "lra.settings": 7,
    "lra.build": 8,
    "lra.build_trainer": 8,
    "lra.datasets": 9,
    "lra.sweeps": 9,
    "lra.cli_support": 10,
    "lra.api": 11,
    "lra.commands": 11,
    "lra.cli": 12,
    "lra.__main__": 13,
}

MAKE_DATA = tuple(ROOT / "lra" / name for name in ("commands/prepare.py", "cli_support/store.py", "datasets.py"))


def room(module: str) -> str | None:
    """The room of a dotted module name; None for foreign packages and for `lra` itself."""
    parts = module.split(".")
    if parts[0] == "data_prep":
        return "data_prep"
    return ".".join(parts[:2]) if parts[0] == "lra" and len(parts) > 1 and name_is_room(parts[1]) else None


def name_is_room(name: str) -> bool:
    return not name.startswith("__") or name == "__main__"


def imports(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_down(path):
    here = room(".".join(path.relative_to(ROOT).with_suffix("").parts))
    if here is None:
        return
    for name in imports(path):
        there = room(name)
        if there is None or there == here:
            continue
        assert there in FLOOR, f"{path} imports {name}, a room without a floor"
        if there == "data_prep":
            assert path in MAKE_DATA, f"{path} imports {name}: only what makes data may"
        assert FLOOR[there] < FLOOR[here], f"{path} imports {name}, which is not below it"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_only_configurations_and_what_builds_from_them_know_hydra(path):
    here = room(".".join(path.relative_to(ROOT).with_suffix("").parts))
    builders = (
        "lra.config",
        "lra.settings",
        "lra.build",
        "lra.build_trainer",
        "lra.datasets",
        "lra.sweeps",
        "lra.cli_support",
        "lra.api",
    )
    if here in (*builders, "lra.commands", "lra.cli"):
        return
    foreign = {name.split(".")[0] for name in imports(path)}
    assert not foreign & {"hydra", "omegaconf"}, path


@pytest.mark.parametrize("verb", ["--help", "train", "prepare", "evaluate", "show", "doctor"])
def test_help_needs_neither_torch_nor_hydra(verb):
    words = [verb] if verb == "--help" else [verb, "--help"]
    code = (
        "import sys\n"
        "for name in ('torch', 'hydra', 'omegaconf', 'pytorch_lightning', 'tensorflow_datasets', 'wandb'):\n"
        "    sys.modules[name] = None\n"
        f"from lra.cli import main\nsys.exit(main({words}))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert f"lra {verb}" in done.stdout or verb == "--help"
