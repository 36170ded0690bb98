"""Commands as they are printed: what a remedy, or a next step, says can be typed in a shell as it stands.

Two layers of quotes: Hydra's around a value that its grammar would read as something else than a text, the shell's
around a whole word.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

from lra.base.overrides import Override, Overrides

# A text that Hydra's grammar takes as it stands; what else it would take, such as spaces inside, is quoted for clarity.
PLAIN_TEXT = re.compile(r"[\w/.+@%*?|-][\w/.+@%*?|:-]*", re.ASCII)
NO_TEXT = re.compile(r"(?i)[+-]?(\d[\d_]*(\.\d*)?|\.\d+)(e[+-]?\d+)?|[+-]?(inf|nan)|true|false|null|none")
CONFIG_DIR_FLAGS = ("--config-dir", "-cd")

# What a shell reads within double quotes, or bash as a command of its history.
NOT_IN_DOUBLE_QUOTES = re.compile(r"[\"$`!]|\\(?!')")

_typed: list[Override] = []  # the arguments of the command that this process runs, after `lra`


@contextmanager
def typed_arguments(arguments: Sequence[str]) -> Iterator[None]:
    """Within this context, `arguments` (without `lra`) are what the user has typed, for `typed_command`."""
    before = _typed.copy()
    _typed[:] = map(Override, arguments)
    try:
        yield
    finally:
        _typed[:] = before


def override(key: str, value: object) -> str:
    """Write an override that gives `key` exactly this value, in Hydra's quotes where a text needs them.

    Args:
        key: an option, such as `source`.
        value: a text (or path), a number, a truth value, or None.
    """
    if value is None:
        return f"{key}=null"
    if isinstance(value, bool):
        return f"{key}={str(value).lower()}"
    if isinstance(value, int | float):
        return f"{key}={value}"
    text = str(value)
    if PLAIN_TEXT.fullmatch(text) and not NO_TEXT.fullmatch(text):
        return f"{key}={text}"
    return f"{key}={quoted_for_hydra(text)}"


def quoted_for_hydra(text: str) -> str:
    """Quote a text as Hydra reads it, so that it may hold commas, brackets, spaces, quotes and dollars."""
    # A quote, the end of the text and an interpolation are where the two grammars give backslashes a meaning.
    ends = {"'": "\\'", "${": "\\${", "": ""}
    return "'" + re.sub(r"(\\*)('|\$\{|\Z)", lambda match: match[1] * 2 + ends[match[2]], text) + "'"


def shell_word(text: str) -> str:
    """Quote a text as a word of a shell; in double quotes where that reads better, as around Hydra's single ones."""
    if "'" in text and not NOT_IN_DOUBLE_QUOTES.search(text):
        return f'"{text}"'
    return shlex.quote(text)


def command(verb: str, *overrides: str) -> str:
    """Write a command of `lra` that a shell reads back word by word.

    Args:
        verb: the verb with what stands behind it, such as `sweep landmarks show`.
        overrides: each as one word, a value in Hydra's quotes where it needs them (see `override`).
    """
    return shell_command("lra", *verb.split(), *overrides)


def shell_command(*arguments: object) -> str:
    """Write a command of any program, such as `chmod u+r PATH`, that a shell reads back word by word."""
    return " ".join(shell_word(str(argument)) for argument in arguments)


def typed_command(otherwise: str, *changes: str, without: Sequence[str] = (), flags: Sequence[str] = ()) -> str:
    """Write the command that was typed once more, with some of its overrides changed.

    Args:
        otherwise: the verb for a call from Python, where no command was typed.
        changes: overrides in the place of those of the same key, or else at the end.
        without: keys of overrides, or other arguments, to leave out.
        flags: flags to add behind the verb.
    """
    by_key: dict[str, str] = {change.key: change for change in Overrides(changes)}
    verb, *others = Overrides(_typed or otherwise.split())
    kept = [by_key.pop(each.key, each) for each in others if each.key not in (*without, *flags)]
    return shell_command("lra", verb, *flags, *kept, *by_key.values())


def typed_overrides(*keys: str) -> Overrides:
    """The typed overrides of some keys, for a command of another verb that has these options too.

    A key with a dot at its end, such as `task.`, stands for all options of that group.
    """
    return Overrides(each for each in _typed if each.has_value).only(*keys)


def is_typed(*arguments: str) -> bool:
    """Tell whether one of some arguments was typed as it stands, such as `-m`."""
    return any(argument in _typed for argument in arguments)


def typed_config_dirs() -> list[str]:
    """The typed arguments that name folders of the user's own settings, for a command of any other verb."""
    kept: list[str] = []
    for argument, next_argument in pairwise([*_typed, Override()]):
        if argument in CONFIG_DIR_FLAGS:
            kept += [argument, next_argument]
        elif argument.key in (*CONFIG_DIR_FLAGS, "hydra.searchpath"):
            kept.append(argument)
    return kept
