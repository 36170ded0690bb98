"""The floors of the house: imports point down only, and heavy packages stay where they belong."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted([*(ROOT / "lra").rglob("*.py"), *(ROOT / "data_prep").rglob("*.py")])
FLOOR = {
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
    "lra.packed": 7,
    "lra.testing": 8,
    "lra.results": 6,
    "lra.timing": 7,
    "lra.settings": 7,
    "lra.terminal": 8,
    "lra.build": 9,
    "lra.interop": 10,
    "lra.diagnosis": 10,
    "lra.sweeps": 10,
    "lra.bench": 11,
    "lra.verbs": 12,
    "lra.api": 12,
    "lra.cli": 13,
    "lra.__main__": 14,
}

READ_SOURCES = ("verbs/prepare.py", "verbs/new.py", "build/store.py", "build/datasets.py")
MAKE_DATA = tuple(ROOT / "lra" / name for name in READ_SOURCES)


# The domains build what they measure, run or export; the terminal words Hydra's errors.
KNOW_HYDRA = tuple(
    f"lra.{name}"
    for name in ("settings", "build", "terminal", "sweeps", "bench", "diagnosis", "interop", "verbs", "api", "cli")
)


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
    if here in KNOW_HYDRA:
        return
    foreign = {name.split(".")[0] for name in imports(path)}
    assert not foreign & {"hydra", "omegaconf"}, path


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


def test_one_line_opens_the_door_to_the_packed_form():
    """The core calls what `lra/__init__.py` plugs in; what tests and measures layers alone knows their packed forms."""
    may = ("lra/packed/", "lra/testing/", "lra/bench/")
    inside = {str(path.relative_to(ROOT)): imports(path) for path in FILES}
    others = {path: names for path, names in inside.items() if not path.startswith(may)}
    doors = [(path, name) for path, names in others.items() for name in names if room(name) == "lra.packed"]
    assert doors == [("lra/__init__.py", "lra.packed.encoder_forms.encode")]
