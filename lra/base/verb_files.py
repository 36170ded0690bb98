"""Where each verb stands: those of one run in lra/verbs, those over many runs in lra/tables, the tools in lra/tools."""

import ast
import importlib
from pathlib import Path
from types import ModuleType

LRA = Path(__file__).resolve().parents[1]
WINGS = ("", "tables", "tools")  # the core first, which is none
NAMES = {"import": "import_runs", "fill-mask": "fill_mask"}  # verbs whose names no Python module can have


def verb_file(name: str) -> Path:
    """Find the file of a verb, or of a part of one, by its name: it stands in one of `WINGS` alone."""
    stem = NAMES.get(name, name)
    (file,) = (file for wing in WINGS if (file := LRA / wing / "verbs" / f"{stem}.py").is_file())
    return file


def verb_module(name: str) -> ModuleType:
    """Import a verb, or a part of one."""
    inside = verb_file(name).relative_to(LRA).with_suffix("")
    return importlib.import_module(".".join(("lra", *inside.parts)))


def parsed_verb(name: str) -> ast.Module:
    """Read the file of a verb without an import of it, which may be slow: for its help, and its words."""
    return ast.parse(verb_file(name).read_text("utf-8"))
