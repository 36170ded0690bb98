"""Commands as they are printed: what a remedy, or a next step, says can be typed in a shell as it stands.

Two layers of quotes: Hydra's around a value that its grammar would read as something else than a text, the shell's
around a whole word.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import islice

# A text that Hydra's grammar takes as it stands; what else it would take, such as spaces inside, is quoted for clarity.
PLAIN_TEXT = re.compile(r"[\w/.+@%*?|-][\w/.+@%*?|:-]*", re.ASCII)
NO_TEXT = re.compile(r"(?i)[+-]?(\d[\d_]*(\.\d*)?|\.\d+)(e[+-]?\d+)?|[+-]?(inf|nan)|true|false|null|none")

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


def command(words: str, *overrides: str) -> str:
    """Write a command of `lra` that a shell reads back word by word.

    Args:
        words: the verb with what stands behind it, such as `sweep landmarks show`.
        overrides: each as one word, a value in Hydra's quotes where it needs them (see `override`).
    """
    return shlex.join(["lra", *words.split(), *overrides])


def shell_command(*words: object) -> str:
    """Write a command of another program, such as `chmod u+r PATH`, that a shell reads back word by word."""
    return shlex.join(map(str, words))


def typed_command(otherwise: str, *changes: str, without: Sequence[str] = ()) -> str:
    """Write the command that was typed once more, with some of its overrides changed.

    Args:
        otherwise: the verb for a call from Python, where no command was typed.
        changes: overrides in place of those of the same key, or in addition.
        without: keys of overrides, or other words, to leave out.
    """
    left_out = {*map(key_of, changes), *without}
    kept = [word for word in _typed or otherwise.split() if key_of(word) not in left_out]
    return shlex.join(["lra", *kept, *changes])


def typed_overrides(*keys: str) -> list[str]:
    """The typed overrides of some keys, for a command of another verb that has these options too.

    A key with a dot at its end, such as `attention.`, stands for all options of that group.
    """
    groups = tuple(key for key in keys if key.endswith("."))
    typed = [word for word in _typed if "=" in word]
    return [word for word in typed if key_of(word) in keys or (groups and key_of(word).startswith(groups))]


def is_typed(*words: str) -> bool:
    """Tell whether one of some words was typed as it stands, such as `-m`."""
    return any(word in _typed for word in words)


def typed_flags(*names: str) -> list[str]:
    """The typed flags of some names, each with its value, which may be the next word."""
    found, rest = [], iter(_typed)
    for word in rest:
        if word.partition("=")[0] in names:
            found += [word] if "=" in word else [word, *islice(rest, 1)]
    return found


def key_of(word: str) -> str:
    """The key of an override, without the sign of an addition or deletion; of another word, the word."""
    return word.lstrip("+~").partition("=")[0]
