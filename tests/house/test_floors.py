"""The floors of the house: imports point down only, and heavy packages stay where they belong."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted([*(ROOT / "lra").rglob("*.py"), *(ROOT / "data_prep").rglob("*.py")])
FLOOR = {  # of the core, and of the rooms of each wing
    "lra.types": 0,
    "lra.base": 1,
    "lra.ops": 2,
    "lra.attention": 4,
    "lra.data": 4,
    "lra.runs": 4,
    "lra.model": 5,
    "lra.mixers": 6,
    "data_prep": 5,
    "lra.training": 6,
    "lra.settings": 7,
    "lra.terminal": 8,
    "lra.from_config": 9,
    "lra.verbs": 12,
    "lra.api": 12,
    "lra.cli": 13,
    "lra.__main__": 14,
    "lra.packed": 20,
    "lra.tables.statistics": 20,
    "lra.tables": 21,
    "lra.tables.figures": 22,
    "lra.tables.grid": 23,
    "lra.tables.verbs": 24,
    "lra.tools": 21,
    "lra.tools.testing": 21,
    "lra.tools.bench": 21,
    "lra.tools.diagnosis": 21,
    "lra.tools.interop": 21,
    "lra.tools.verbs": 24,
}
WINGS = ("lra.tables", "lra.tools", "lra.packed")
MAY_IMPORT = {"lra.tools": ("lra.packed",)}  # wings that a wing may know; the core knows none

READ_SOURCES = ("verbs/prepare.py", "tools/verbs/new.py", "from_config/store.py", "from_config/datasets.py")
MAKE_DATA = tuple(ROOT / "lra" / name for name in READ_SOURCES)

# The domains build what they measure, run or export; the terminal words Hydra's errors.
KNOW_HYDRA = (
    *("lra.settings", "lra.from_config", "lra.terminal", "lra.verbs", "lra.api", "lra.cli", "lra.tables.grid"),
    *("lra.tables.verbs", "lra.tools.bench", "lra.tools.diagnosis", "lra.tools.interop", "lra.tools.verbs"),
)


def room(module: str) -> str | None:
    """The room of a dotted module name; None for foreign packages and for `lra` itself."""
    parts = module.split(".")
    if parts[0] == "data_prep":
        return "data_prep"
    if parts[0] != "lra" or len(parts) < 2 or (parts[1].startswith("__") and parts[1] != "__main__"):
        return None
    inner = ".".join(parts[:3])
    return inner if inner in FLOOR else ".".join(parts[:2])


def room_of(path: Path) -> str | None:
    return room(".".join(path.relative_to(ROOT).with_suffix("").parts))


def wing(module: str) -> str:
    """The wing of a module; the core is the empty text."""
    return next((name for name in WINGS if module == name or module.startswith(f"{name}.")), "")


def imports(path: Path) -> list[str]:
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def test_imports_point_down():
    offenders = []
    for path in FILES:
        here = room_of(path)
        if here is None:
            continue
        for name in imports(path):
            there = room(name)
            if there is None or there == here:
                continue
            assert there in FLOOR, f"{path} imports {name}, a room without a floor"
            if FLOOR[there] >= FLOOR[here]:
                offenders.append(f"{path.relative_to(ROOT)} imports {name}, which is not below it")
    assert not offenders, "\n".join(offenders)


def test_the_core_imports_no_wing_and_tables_and_tools_not_each_other():
    offenders = []
    for path in FILES:
        here = wing(".".join(path.relative_to(ROOT).with_suffix("").parts))
        for name in imports(path):
            there = wing(name)
            if there and there != here and there not in MAY_IMPORT.get(here, ()):
                offenders.append(f"{path.relative_to(ROOT)} imports {name}")
    assert not offenders, "\n".join(offenders)


def test_only_what_makes_data_imports_what_reads_sources():
    outside = [path for path in FILES if room_of(path) != "data_prep" and path not in MAKE_DATA]
    offenders = [path for path in outside if "data_prep" in map(room, imports(path))]
    assert not offenders, offenders


def test_only_configurations_and_what_builds_from_them_know_hydra():
    others = [path for path in FILES if room_of(path) not in KNOW_HYDRA]
    offenders = [path for path in others if {"hydra", "omegaconf"} & {name.split(".")[0] for name in imports(path)}]
    assert not offenders, offenders


def test_no_file_imports_what_the_extra_hf_brings():
    extra = {"transformers", "sentencepiece", "tokenizers", "huggingface_hub"}
    assert not [path for path in FILES if extra & {name.split(".")[0] for name in imports(path)}]


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


def test_the_wings_are_named_in_the_core_where_the_package_opens_alone():
    """Imports by name, which `imports` does not see: `lra/__init__.py` has them, and `lra/base/verb_files.py`."""
    core = [path for path in FILES if not wing(".".join(path.relative_to(ROOT).with_suffix("").parts))]
    naming = {
        str(path.relative_to(ROOT))
        for path in core
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Constant) and re.match(r"(lra\.)?(tables|tools|packed)\.\w", str(node.value))
    }
    assert naming <= {"lra/__init__.py"}
