"""The names of methods and tasks in figures and papers, and the keys by which papers cite them."""

import functools
import re
from collections.abc import Hashable
from pathlib import Path
from typing import NamedTuple

from lra.base.paths import conf_dirs, conf_names, read_choice, users_conf_files

BIBLIOGRAPHY = Path(__file__).with_name("references.bib")
FIRST_WORD = re.compile(r"[\w.-]*")
CITATION_KEY = re.compile(r"[\w:.-]+", re.ASCII)
METHOD = ("attention", "mixer")
TASK = ("task",)


class Named(NamedTuple):
    """A text that begins with the name of a method or a task: the display name, the citation key, what follows."""

    display: str
    key: str
    rest: str


def named(text: str, *, of: tuple[str, ...] = METHOD) -> Named:
    """Read the name at the beginning of a text, such as `nystrom (num_landmarks=32)`, in the file that has it.

    That is a file of the config groups `of`, `METHOD` or `TASK`. A name without a file stays as it is; the key is empty
    where the file has none.
    """
    first_word = FIRST_WORD.match(text)
    assert first_word is not None
    name = first_word.group()
    display, key = _name_and_key(name, of, (tuple(conf_dirs()), users_conf_files()))
    return Named(display, key, text.removeprefix(name))


@functools.lru_cache(maxsize=1024)
def _name_and_key(name: str, of: tuple[str, ...], _files: Hashable) -> tuple[str, str]:
    """Read the display name and the citation key of a name; anew when the user's files, `_files`, have changed."""
    file = next((read_choice(group, name) for group in of if name in conf_names(group)), {})
    key = str(file.get("cite", ""))
    return str(file.get("display", name)), key if CITATION_KEY.fullmatch(key) else ""


def display_name(text: str, *, of: tuple[str, ...] = METHOD) -> str:
    """Replace the name at the beginning of a text by its display name."""
    split = named(text, of=of)
    return split.display + split.rest


def bibliography(keys: set[str]) -> list[str]:
    """Return the BibTeX entries of some keys; a key of a user's own file has none here."""
    entries = BIBLIOGRAPHY.read_text("utf-8").strip().split("\n\n")
    return [entry for entry in entries if entry.partition("{")[2].partition(",")[0] in keys]
