"""Overrides as they are typed: read by Hydra's parser, with their values, and written back."""

import re
from ast import literal_eval
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, IntervalSweep, Override, QuotedString
from hydra.errors import HydraException

from lra.base.arguments import as_typed
from lra.runs.flatten_settings import flatten
from lra.types import UserError

SWEEP = re.compile(r"(tag|interval|choice|range)\(")
TIMES = "times"  # tag of an interval, or of choices, whose numbers are factors of the value that a run has without


@dataclass(frozen=True)
class Typed:
    """One override.

    Attributes:
        word: as it was typed.
        sign: what stands before the key: `+` adds an option, `~` takes one away, `++` adds it or gives another value.
        key: the option, or the config group.
        values: its values; of an interval the two ends; of factors none, because they are no values.
        is_sweep: whether it has several values, or is an interval.
    """

    word: str
    sign: str
    key: str
    values: tuple[object, ...]
    is_sweep: bool

    def with_value(self, value: object) -> str:
        """The override with one of several values; as it was typed if it has but one."""
        return f"{self.sign}{self.key}={as_typed(value)}" if self.is_sweep else self.word

    @property
    def words(self) -> list[str]:
        """The override with each of its values: `attention=full`, `attention=nystrom`."""
        return [self.with_value(value) for value in self.values] if self.is_sweep else [self.word]

    def as_text(self) -> str:
        """The override with its numbers in quotes, so that Hydra takes them for texts: `run_group='2024'`."""
        texts = self.word.partition("=")[2].split(",")
        if len(texts) != len(self.values):
            return self.word
        quoted = [
            f"'{text}'" if isinstance(value, int | float) else text
            for text, value in zip(texts, self.values, strict=True)
        ]
        return f"{self.sign}{self.key}={','.join(quoted)}"


def read_override(word: str, verb: str = "train") -> Typed:
    """Read an override as Hydra does.

    Raises:
        UserError: for what is none, with what to type; `verb` is named in the example.
    """
    if "=" not in word and not word.startswith("~"):
        line = f"{word!r} is no override; overrides are key=value, as in: lra {verb} task=listops"
        raise UserError(line, kind="unknown_option", key=word)
    try:
        override = OverridesParser.create().parse_override(word)
    except HydraException as error:
        if "…" in word:
            raise UserError(f"{word}: … stands for what you fill in; lra show runs lists the runs") from error
        key, value = word.split("=", 1)
        options: object = None
        with suppress(ValueError, SyntaxError):  # a dictionary as Python writes it, and so W&B's agents
            options = literal_eval(value)
        if isinstance(options, dict):
            raise group_of_options(key, options) from error
        if SWEEP.match(value):
            line = f"{word} cannot be read; an interval is {key}=interval(1e-4, 1e-2), and choices are {key}=a,b"
            raise UserError(line, kind="wrong_value", key=key, value=value) from error
        line = f"{word} cannot be read; put a value with special characters in quotes: \"{key}='{value}'\""
        raise UserError(line) from error
    sign, key = word[: len(word) - len(word.lstrip("+~"))], override.key_or_group
    values = tuple(value.text if isinstance(value, QuotedString) else value for value in _values(override))
    return Typed(word, sign, key, values, is_sweep=override.is_sweep_override())


def _values(override: Override) -> list[object]:
    value = override.value()
    if isinstance(value, IntervalSweep | ChoiceSweep) and TIMES in value.tags:
        return []
    if isinstance(value, IntervalSweep):
        return [value.start, value.end]
    return list(override.sweep_iterator()) if override.is_sweep_override() else [value]


def group_of_options(key: str, options: Mapping[str, object]) -> UserError:
    """The error for a dictionary in the place of a name, with the overrides that say the same."""
    right = " ".join(f"{name}={value}" for name, value in flatten(options, f"{key}.").items())
    line = f"{key} is a group, which takes no dictionary; type its options one by one: {right}"
    return UserError(line, kind="wrong_value", key=key, value=options, right=right)


def in_quotes(text: str) -> str:
    """Quote a text as Hydra reads it, so that it may hold commas, brackets and spaces.

    A backslash counts only in front of a quote or the end, and only there it is doubled.
    """
    escaped = re.sub(r"(\\*)('|$)", lambda match: match[1] * 2 + (r"\'" if match[2] else ""), text)
    return f"'{escaped}'"
