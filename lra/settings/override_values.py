"""Overrides as they are typed: read by Hydra's parser, with their values, and written back."""

import re
from ast import literal_eval
from collections.abc import Mapping
from contextlib import suppress

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, IntervalSweep, Override, QuotedString
from hydra.errors import HydraException

from lra.base.option_types import as_typed
from lra.base.paths import NAMED_GROUPS, conf_choices
from lra.base.printed_commands import override, shell_command, shell_word, typed_command
from lra.runs.flat_settings import flatten
from lra.settings.declared import names_in
from lra.types import UserError

SWEEP = re.compile(r"(tag|interval|choice|range)\(")
FIRST_OPTION = {  # what a text without a key is probably meant for
    **dict.fromkeys(("evaluate", "diagnose", "export"), "run"),
    **dict.fromkeys(("report", "publish"), "run_group"),
    "check": "attention",
}
TIMES = "times"  # tag of an interval, or of choices, whose numbers are factors of the value that a run has without


def read_override(text: str, verb: str = "train") -> Override:
    """Read an override as Hydra does.

    Raises:
        UserError: for what is none, with what to type; `verb` is named in the example.
    """
    if "=" not in text and not text.startswith("~"):
        choices, taken = conf_choices(), names_in(verb)
        groups = (group for group in NAMED_GROUPS if group in taken and text in choices[group])
        key = next(groups, FIRST_OPTION.get(verb))
        if key is not None:
            advice = f"type: {typed_command(verb, override(key, text), without=[text])}"
        elif "task" in taken:
            advice = f"as in: {typed_command(verb, 'task=listops', without=[text])}"
        else:
            advice = f"see: lra {verb} --help"
        line = f"{text!r} is no override; overrides are key=value, {advice}"
        raise UserError(line, kind="unknown_option", key=text, right=key)
    try:
        return OverridesParser.create().parse_override(text)
    except HydraException as error:
        if "…" in text:
            raise UserError(f"{text}: … stands for what you fill in; lra show runs lists the runs") from error
        key, value = text.split("=", 1)
        options: object = None
        with suppress(ValueError, SyntaxError):  # a dictionary as Python writes it, and so W&B's agents
            options = literal_eval(value)
        if isinstance(options, dict):
            raise group_of_options(key, options) from error
        if SWEEP.match(value):
            interval = shell_word(f"{key}=interval(1e-4, 1e-2)")
            line = f"{text} cannot be read; an interval is {interval}, and choices are {key}=a,b"
            raise UserError(line, kind="wrong_value", key=key, value=value) from error
        right = shell_word(override(key, value))
        line = f"{text} cannot be read; a value with special characters is put in quotes: type {right}"
        raise UserError(line, kind="wrong_value", key=key, value=value, right=right) from error


def values_of(parsed: Override) -> list[object]:
    """List the values of an override; of an interval the two ends; of factors none, because they are no values."""
    value = parsed.value()
    if isinstance(value, IntervalSweep | ChoiceSweep) and TIMES in value.tags:
        return []
    if isinstance(value, IntervalSweep):
        return [value.start, value.end]
    values = parsed.sweep_iterator() if parsed.is_sweep_override() else [value]
    return [each.text if isinstance(each, QuotedString) else each for each in values]


def with_value(parsed: Override, value: object) -> str:
    """Write the override with one of several values; as it was typed if it has but one."""
    several = parsed.is_sweep_override()
    return f"{parsed.get_key_element()}={as_typed(value)}" if several else str(parsed.input_line)


def split_by_value(parsed: Override) -> list[str]:
    """Write the override with each of its values: `attention=full`, `attention=nystrom`."""
    return [with_value(parsed, value) for value in values_of(parsed)]


def as_text(typed: Override) -> str:
    """Write the override with its numbers in quotes, so that Hydra takes them for texts: `run_group='2024'`."""
    texts, values = typed.get_value_string().split(","), values_of(typed)
    if len(texts) != len(values):
        return str(typed.input_line)
    numbers = [isinstance(value, int | float) for value in values]
    quoted = [f"'{text}'" if number else text for text, number in zip(texts, numbers, strict=True)]
    return f"{typed.get_key_element()}={','.join(quoted)}"


def group_of_options(key: str, options: Mapping[str, object]) -> UserError:
    """The error for a dictionary in the place of a name, with the overrides that say the same."""
    right = shell_command(*(f"{name}={value}" for name, value in flatten(options, f"{key}.").items()))
    line = f"{key} is a group, which takes no dictionary; type its options one by one: {right}"
    return UserError(line, kind="wrong_value", key=key, value=options, right=right)
