"""lra new: write a small package to start from, with an attention, a mixer or a task of your own.

  lra new attention mine              the folder mine, here
  lra new mixer mine to=packages      the folder packages/mine
  lra new task mine source=my.csv     a task: its columns are tokens or text, label, and perhaps split
  lra new task mine source=my.parquet text=review label=sentiment tokens=words max_length=1000

The package holds an example that works: its code, its options in a YAML file, a test of its contract, and the entry
point by which lra finds it once it is installed. Its README.md, which is printed too, says what to type next.

A task's package has only the YAML file, with the numbers that the file has: classes, vocabulary, longest sequence.

  source=FILE       CSV, parquet (a column of texts, or of ids), NPZ (ids), or a folder of images, CLASS/NAME.png
  tokens=           bytes, characters, words or ids: what the tokens of a text are
  text= label= split=   columns of other names    max_length=   where longer sequences are cut
  unlabelled=class      empty labels, NaN and -1 are a class, and no mistake
"""

from __future__ import annotations

import importlib.util
import keyword
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

import lra
from data_prep.tokens.new_task import OPTIONS, task_yaml
from lra.base.files import checked_name, making_folder
from lra.base.overrides import Overrides
from lra.base.paths import conf_names
from lra.base.printed_commands import command, override, shell_command, typed_command
from lra.types import UserError

if TYPE_CHECKING:
    from rich.console import Console

SUBCOMMANDS = ("attention", "mixer", "task")
EXAMPLE_NAMES = {"attention": "window", "mixer": "averaging"}  # what they are called in the example package
PACKAGE = "own_package"
PACKAGE_FILES = ("pyproject.toml", f"{PACKAGE}/__init__.py")
NAME = re.compile(r"[A-Za-z]\w*", re.ASCII)  # a name with __ before it means something to Python
MOST_NAME_LETTERS = 64  # of a tag of W&B
PACKAGE_PARTS = ("tests", "conf")  # folders of the package that is written
OF_SWEEPS = ("all", "base")  # `attention=all` is every attention; base.yaml is no choice
README = """\
# {name}: {article} {what} for lra
`pip install -e .`, or: export PYTHONPATH=$PWD LRA_CONF_PATH=$PWD/{name}/conf
Write your own in {name}/{name}.py, with its options in {name}/conf/{what}/{name}.yaml; `pytest` tests its contract.
lra check {what}={name}
lra train {what}={name} size=tiny
lra compare run attention=nystrom{other}{name} size=tiny  # three seeds each, with intervals
lra table run sweep=probes {what}={name} workers=2  # what can it do? Six probes in about 15 minutes
"""
README_OF_TASK = """\
# {name}: a task for lra
`pip install -e .`, or: export LRA_CONF_PATH=$PWD/{name}/conf
{found}
The numbers are in {name}/conf/task/{name}.yaml. If the file changes: lra prepare task={name} force=true
lra show data task={name}
lra train task={name} size=tiny
lra compare run task={name} attention=nystrom,full,none  # three seeds each, with intervals
"""


@dataclass(frozen=True)
class Written:
    """A package of one's own: its folder, and the text of its README.md."""

    folder: Path
    readme: str

    def show(self, console: Console) -> None:
        """Print what to type next."""
        print(f"{self.folder} is written; type {shell_command('cd', self.folder)}, then see its README.md:\n")
        print(self.readme, end="")


def main(arguments: Sequence[str]) -> Written:
    """Write the package."""
    what, name, options = _read(arguments)
    parent = Path(options.pop("to", "")).expanduser()
    if parent.exists() and not parent.is_dir():
        raise UserError(f"to={parent} is no folder; name one, which may be new")
    _check_name(what, name)
    folder = parent / name
    if folder.exists():
        again = f"{typed_command(f'new {what} {name}', without=['to'])} to=FOLDER"
        raise UserError(f"{folder} exists; choose another name, or another folder: {again}")
    texts, readme = _task(name, options) if what == "task" else _example(what, name)
    with making_folder(folder, replace=False) as unfinished:
        for part, text in {**texts, "README.md": readme}.items():
            target = unfinished / part
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, "utf-8")
    return Written(folder, readme)


def _example(what: str, name: str) -> tuple[dict[str, str], str]:
    """Return the files of the example under another name, and the text of its README.md."""
    old = EXAMPLE_NAMES[what]
    code, options, test = f"{PACKAGE}/{old}.py", f"{PACKAGE}/conf/{what}/{old}.yaml", f"tests/test_{old}.py"
    readme_parts = {"article": "an", "other": ","} if what == "attention" else {"article": "a", "other": " mixer="}
    return _copies(old, name, *PACKAGE_FILES, code, options, test), README.format(name=name, what=what, **readme_parts)


def _task(name: str, options: dict[str, str]) -> tuple[dict[str, str], str]:
    """Return the files of a task's package, and the text of its README.md."""
    with tempfile.TemporaryDirectory() as scratch:
        text, found = task_yaml(name, Path(options.pop("source")).expanduser(), options, Path(scratch))
    files = _copies(PACKAGE, name, *PACKAGE_FILES) | {f"{name}/conf/task/{name}.yaml": text}
    return files, README_OF_TASK.format(name=name, found=found)


def _copies(old: str, name: str, *parts: str) -> dict[str, str]:
    """Read files of the example package, with the names of the example replaced."""
    return {
        _renamed(part, old, name): _renamed((example_package() / part).read_text("utf-8"), old, name) for part in parts
    }


def example_package() -> Path:
    """Folder of the example package: inside lra if it is installed from a wheel, else among the documents."""
    package = Path(lra.__file__).resolve().parent
    inside = package / PACKAGE
    return inside if inside.is_dir() else package.parent / "docs" / "examples" / PACKAGE


def _read(arguments: Sequence[str]) -> tuple[str, str, dict[str, str]]:
    """Read what is made, its name, and the options."""
    plain = [each for each in Overrides(arguments) if not each.has_value]
    pairs = [each for each in Overrides(arguments) if each.has_value]
    options = {each.signed_key: each.text for each in pairs}
    what = plain[0] if plain else None
    known = ("to", "source", *OPTIONS) if what == "task" else ("to",)
    unknown = next((each for each in pairs if each.signed_key not in known or not each.text), None)
    if len(plain) != 2 or what not in SUBCOMMANDS or unknown or len(options) < len(pairs):
        typed = command("new", *arguments)
        of_task = f"; the options of a task are {', '.join(known)}" if what == "task" else ""
        examples = "lra new attention mine, lra new mixer mine, or lra new task mine source=my.csv"
        raise UserError(f"{typed} does not say what to write; type {examples}{of_task}")
    if what == "task" and "source" not in options:
        raise UserError(f"a task needs a file; type: {command('new task', plain[1], 'source=my.csv')}", key="source")
    return plain[0], plain[1], options


def _check_name(what: str, name: str) -> None:
    """Refuse a name that no Python package, no YAML file, no choice of a config group or no W&B tag can have."""
    checked_name(name, f"lra new {what} ", example="mine")
    right = command(f"new {what} mine")
    if len(name) > MOST_NAME_LETTERS:
        line = f"{name} has {len(name)} letters, and a name at most {MOST_NAME_LETTERS}, as a tag of W&B; type: {right}"
        raise UserError(line, kind="bad_name", key=what, value=name, right=MOST_NAME_LETTERS)
    is_identifier = NAME.fullmatch(name) and not keyword.iskeyword(name)
    if not is_identifier or yaml.safe_load(name) != name or override(what, name) != f"{what}={name}":
        line = f"{name!r} is no name for Python, YAML and Hydra; type a letter, then letters, digits and _: {right}"
        raise UserError(line, kind="bad_name", key=what, value=name)
    if name in (*conf_names("attention"), *conf_names("mixer"), *conf_names("task"), *OF_SWEEPS):
        line = f"{what}={name} exists, or means something else; choose another name: {command(f'new {what} my_{name}')}"
        raise UserError(line, kind="bad_name", key=what, value=name)
    if name in PACKAGE_PARTS or importlib.util.find_spec(name):
        line = f"Python has a module {name} already; choose another name: {command(f'new {what} my_{name}')}"
        raise UserError(line, kind="bad_name", key=what, value=name)


def _renamed(text: str, old: str, name: str) -> str:
    """Replace the names of the example in a path or a text."""
    camel = "".join(part.capitalize() for part in name.split("_"))
    for before, after in ((old.capitalize(), camel), (old, name), (PACKAGE, name), (PACKAGE.replace("_", "-"), name)):
        text = text.replace(before, after)
    return text
