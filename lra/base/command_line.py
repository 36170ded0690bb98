"""Commands as they are printed: what a remedy, or a next step, says can be typed in a shell as it stands.

Two layers of quotes: Hydra's around a value that its grammar would read as something else than a text, the shell's
around a whole word.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

# A text that Hydra's grammar takes as it stands; what else it would take, such as spaces inside, is quoted for clarity.
PLAIN_TEXT = re.compile(r"[\w/.+@%*?|-][\w/.+@%*?|:-]*", re.ASCII)
NO_TEXT = re.compile(r"(?i)[+-]?(\d[\d_]*(\.\d*)?|\.\d+)(e[+-]?\d+)?|[+-]?(inf|nan)|true|false|null|none")
CONFIG_DIR_FLAGS = ("--config-dir", "-cd")

# What a shell reads within double quotes, or bash as a command of its history.
NOT_IN_DOUBLE_QUOTES = re.compile(r"[\"$`!]|\\(?!')")

_typed: list[str] = []  # the words of the command that this process runs, after `lra`


@contextmanager
def typed_words(words: Sequence[str]) -> Iterator[None]:
    """Within this context, `words` (without `lra`) are what the user has typed, for `typed_command`."""
    before = _typed.copy()
    _typed[:] = words
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


def shell_word(word: str) -> str:
    """Quote a word for a shell; in double quotes where that is easier to read, as around Hydra's single ones."""
    if "'" in word and not NOT_IN_DOUBLE_QUOTES.search(word):
        return f'"{word}"'
    return shlex.quote(word)


def command(words: str, *overrides: str) -> str:
    """Write a command of `lra` that a shell reads back word by word.

    Args:
        words: the verb with what stands behind it, such as `sweep landmarks show`.
        overrides: each as one word, a value in Hydra's quotes where it needs them (see `override`).
    """
    return shell_command("lra", *words.split(), *overrides)


def shell_command(*words: object) -> str:
    """Write a command of any program, such as `chmod u+r PATH`, that a shell reads back word by word."""
    return " ".join(shell_word(str(word)) for word in words)


def typed_command(otherwise: str, *changes: str, without: Sequence[str] = (), flags: Sequence[str] = ()) -> str:
    """Write the command that was typed once more, with some of its overrides changed.

    Args:
        otherwise: the verb for a call from Python, where no command was typed.
        changes: overrides in the place of those of the same key, or else at the end.
        without: keys of overrides, or other words, to leave out.
        flags: flags to add behind the verb.
    """
    by_key = {key_of(change): change for change in changes}
    verb, *others = _typed or otherwise.split()
    kept = [by_key.pop(key_of(word), word) for word in others if key_of(word) not in (*without, *flags)]
    return shell_command("lra", verb, *flags, *kept, *by_key.values())


def typed_overrides(*keys: str) -> list[str]:
    """The typed overrides of some keys, for a command of another verb that has these options too.

    A key that ends with a dot, such as `task.`, stands for all options of the group.
    """
    groups = tuple(key for key in keys if key.endswith("."))
    return [word for word in _typed if "=" in word and (key_of(word) in keys or key_of(word).startswith(groups))]


def typed_config_dirs() -> list[str]:
    """The typed words that name folders of the user's own settings, for a command of any other verb."""
    kept = []
    for word, next_word in pairwise([*_typed, ""]):
        if word in CONFIG_DIR_FLAGS:
            kept += [word, next_word]
        elif key_of(word) in (*CONFIG_DIR_FLAGS, "hydra.searchpath"):
            kept.append(word)
    return kept


def key_of(word: str) -> str:
    """The key of an override, without the sign of an addition or deletion; of another word, the word."""
    return word.lstrip("+~").partition("=")[0]
