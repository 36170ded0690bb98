"""lra new: write a small package to start from, with an attention or a mixer of your own.

  lra new attention mine              the folder mine, here
  lra new mixer mine to=packages      the folder packages/mine

The package holds an example that works: its code, its options in a YAML file, a test of its contract, and the entry
point by which lra finds it once it is installed. Its README.md, which is printed too, says what to type next.
"""

import importlib.util
import keyword
from collections.abc import Sequence
from pathlib import Path

import yaml

import lra
from lra.base.files import checked_name, making_folder
from lra.base.paths import conf_names
from lra.types import UserError

SUBCOMMANDS = ("attention", "mixer")
WORDS = {"attention": "window", "mixer": "averaging"}  # what they are called in the example package
PACKAGE = "own_package"
OF_SWEEPS = ("all", "base")  # `attention=all` is every attention; base.yaml is no choice
README = """\
# {name}: {article} {what} for lra
`pip install -e .`, or: export PYTHONPATH=$PWD LRA_CONF_PATH=$PWD/{name}/conf
Write your own in {name}/{name}.py, with its options in {name}/conf/{what}/{name}.yaml; `pytest` tests its contract.
lra check {what}={name}
lra train {what}={name} size=tiny
lra compare run attention=nystrom{other}{name} size=tiny  # three seeds each, with intervals
"""


def main(words: Sequence[str]) -> None:
    """Write the package.

    Raises:
        UserError: for other words, for a name that cannot be used, and for a folder that is there.
    """
    what, name, parent = _read(words)
    _check_name(what, name)
    folder = parent / name
    if folder.exists():
        raise UserError(f"{folder} exists; choose another name, or another folder: lra new {what} {name} to=FOLDER")
    old, example = WORDS[what], example_package()
    code, options, test = f"{PACKAGE}/{old}.py", f"{PACKAGE}/conf/{what}/{old}.yaml", f"tests/test_{old}.py"
    article, other = ("an", ",") if what == "attention" else ("a", " mixer=")
    readme = README.format(name=name, what=what, article=article, other=other)
    with making_folder(folder, replace=False) as unfinished:
        for part in ("pyproject.toml", f"{PACKAGE}/__init__.py", code, options, test):
            target = unfinished / _renamed(part, old, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(_renamed((example / part).read_text("utf-8"), old, name), "utf-8")
        (unfinished / "README.md").write_text(readme, "utf-8")
    print(f"{folder} is written; type cd {folder}, then see its README.md:\n\n{readme}", end="")


def example_package() -> Path:
    """Folder of the example package: inside lra if it is installed from a wheel, else among the documents."""
    package = Path(lra.__file__).resolve().parent
    inside = package / PACKAGE
    return inside if inside.is_dir() else package.parent / "docs" / "examples" / PACKAGE


def _read(words: Sequence[str]) -> tuple[str, str, Path]:
    """Read what is made, its name, and the folder that it is made in."""
    plain = [word for word in words if not word.startswith("to=")]
    places = [word.removeprefix("to=") for word in words if word.startswith("to=")]
    if len(plain) != 2 or plain[0] not in SUBCOMMANDS or len(places) > 1:
        typed = " ".join(["lra new", *words])
        raise UserError(f"{typed} does not say what to write; type lra new attention mine, or lra new mixer mine")
    parent = Path(*places).expanduser()
    if parent.exists() and not parent.is_dir():
        raise UserError(f"to={parent} is no folder; name one, which may be new")
    return plain[0], plain[1], parent


def _check_name(what: str, name: str) -> None:
    """Refuse a name that no Python package, no YAML file or no choice of a config group can have."""
    checked_name(name, f"lra new {what} ", example="mine")
    if not (name.isascii() and name.isidentifier()) or keyword.iskeyword(name) or yaml.safe_load(name) != name:
        raise UserError(f"{name!r} cannot name a Python package; type letters, digits and _: lra new {what} mine")
    if name in (*conf_names("attention"), *conf_names("mixer"), *OF_SWEEPS):
        raise UserError(f"{what}={name} exists, or means something else; choose another name: lra new {what} my_{name}")
    if importlib.util.find_spec(name):
        raise UserError(f"Python has a module {name} already; choose another name: lra new {what} my_{name}")


def _renamed(text: str, old: str, name: str) -> str:
    """Replace the names of the example in a path or a text."""
    camel = "".join(part.capitalize() for part in name.split("_"))
    for before, after in ((old.capitalize(), camel), (old, name), (PACKAGE, name), (PACKAGE.replace("_", "-"), name)):
        text = text.replace(before, after)
    return text
