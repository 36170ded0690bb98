"""The floors of the house: imports point down only, and heavy packages stay where they belong."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
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
    "lra.run": 10,
    "lra.verbs": 12,
    "lra.api": 12,
    "lra.cli": 13,
    "lra.__main__": 14,
    "lra.packed": 20,
    "lra.tables.statistics": 20,
    "lra.tables": 21,
    "lra.tables.figures": 22,
    "lra.tables.grid": 23,
    "lra.tables.report": 23,
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


def wing_of(path: Path) -> str:
    return wing(".".join(path.relative_to(ROOT).with_suffix("").parts))


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def numbered_imports(path: Path) -> tuple[tuple[int, str], ...]:
    """Line and dotted name of each import; a relative one begins with a dot."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (f"{node.module}." if node.module else "")
            found += [(node.lineno, f"{module}{alias.name}") for alias in node.names]
    return tuple(found)


def imports(path: Path) -> list[str]:
    return [name for _, name in numbered_imports(path)]


def place(path: Path, line: int) -> str:
    return f"{path.relative_to(ROOT)}:{line}"


def line_at(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1


def assert_none(offenders: Iterable[str]) -> None:
    """Fail with a line for each offender against a rule: `file:line what`."""
    listed = list(offenders)
    if listed:
        pytest.fail("\n".join(listed), pytrace=False)


def test_imports_point_down():
    offenders = []
    for path in FILES:
        here = room_of(path)
        for line, name in numbered_imports(path):
            there = room(name)
            if name.startswith("."):
                offenders.append(f"{place(path, line)} relative import of {name}")
            elif here is None or there is None or there == here:
                continue
            elif here not in FLOOR:
                offenders.append(f"{place(path, line)} is in {here}, a room without a floor")
            elif there not in FLOOR:
                offenders.append(f"{place(path, line)} imports {name}, a room without a floor")
            elif there == "data_prep" and path not in MAKE_DATA:
                offenders.append(f"{place(path, line)} imports {name}: only what makes data may")
            elif FLOOR[there] >= FLOOR[here]:
                offenders.append(f"{place(path, line)} imports {name}, which is not below it")
    assert_none(offenders)


def importers(packages: set[str]) -> list[tuple[Path, str]]:
    """Each file that imports something of one of the packages, and where and what."""
    return [
        (path, f"{place(path, line)} imports {name}")
        for path in FILES
        for line, name in numbered_imports(path)
        if name.split(".")[0] in packages
    ]


def test_the_core_imports_no_wing_and_tables_and_tools_not_each_other():
    offenders = []
    for path in FILES:
        here = wing_of(path)
        for line, name in numbered_imports(path):
            there = wing(name)
            if there and there != here and there not in MAY_IMPORT.get(here, ()):
                offenders.append(f"{place(path, line)} imports {name}")
    assert_none(offenders)


def test_no_file_imports_what_the_extra_hf_brings():
    extra = {"transformers", "sentencepiece", "tokenizers", "huggingface_hub"}
    assert_none(what for _, what in importers(extra))


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
    core = [path for path in FILES if not wing_of(path)]
    naming = {
        str(path.relative_to(ROOT))
        for path in core
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Constant) and re.match(r"(lra\.)?(tables|tools|packed)\.\w", str(node.value))
    }
    assert naming <= {"lra/__init__.py"}
