"""Read an override that a user has typed; what is none is an error that says what to type.

Text from the environment, as in `seed='${oc.env:SLURM_ARRAY_TASK_ID}'`, is read as if it had been typed.
"""

import re
from ast import literal_eval
from collections.abc import Mapping
from contextlib import suppress

from hydra.core.override_parser.types import Override as Parsed
from hydra.errors import HydraException
from omegaconf import OmegaConf
from omegaconf.errors import InterpolationResolutionError

from lra.base.overrides import Override
from lra.base.paths import NAMED_GROUPS, conf_choices
from lra.base.printed_commands import override, shell_command, shell_word, typed_command
from lra.runs.flat_settings import flatten
from lra.settings.declared import names_in
from lra.settings.override_values import parse
from lra.types import UserError

SWEEP = re.compile(r"(tag|interval|choice|range)\(")
FROM_ENVIRONMENT = re.compile(r"\$\{oc\.env:\s*(\w+)")
FIRST_OPTION = {  # what a text without a key is probably meant for
    **dict.fromkeys(("evaluate", "diagnose", "export"), "run"),
    **dict.fromkeys(("report", "publish"), "run_group"),
    "check": "attention",
}


def read_override(text: str, verb: str = "train") -> Parsed:
    """Parse an override that a user has typed.

    Raises:
        UserError: for what is none, with what to type; `verb` is named in the example.
    """
    if "=" not in text and not text.startswith("~"):
        key = group_of_choice(text, verb) or FIRST_OPTION.get(verb)
        if key is not None:
            advice = f"type: {typed_command(verb, override(key, text), without=[text])}"
        elif "task" in names_in(verb):
            advice = f"as in: {typed_command(verb, 'task=listops', without=[text])}"
        else:
            advice = f"see: lra {verb} --help"
        line = f"{text!r} is no override; overrides are key=value, {advice}"
        raise UserError(line, kind="unknown_option", key=text, right=key)
    try:
        return parse(text)
    except HydraException as error:
        if "…" in text:
            raise UserError(f"{text}: … stands for what you fill in; lra show runs lists the runs") from error
        key, value = Override(text).signed_key, Override(text).text
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


def is_from_environment(typed: Parsed) -> bool:
    """Tell whether the value of an override refers to an environment variable."""
    value = typed.value()
    return isinstance(value, str) and FROM_ENVIRONMENT.search(value) is not None


def with_environment(typed: Parsed, verb: str) -> Parsed:
    """Read an override with the text from the environment in place, so that `3` is a number and `true` a truth value.

    Raises:
        UserError: when a variable is not set, and the override has no default for it.
    """
    key = typed.get_key_element()
    try:
        text = OmegaConf.create({"value": typed.value()}).value
    except InterpolationResolutionError as error:
        variable = FROM_ENVIRONMENT.findall(str(typed.value()))[0]
        line = f"{typed.input_line}: the environment has no {variable}; type: export {variable}=VALUE, or"
        raise UserError(f"{line} {shell_word(f'{key}=VALUE')}", kind="wrong_value", key=typed.key_or_group) from error
    try:
        return read_override(f"{key}={text}", verb)
    except UserError:  # what only quotes make a text
        return read_override(override(key, text), verb)


def group_of_choice(name: str, verb: str) -> str | None:
    """The config group, among those of a verb whose choices name rows of tables, that has a choice of this name."""
    choices, taken = conf_choices(), names_in(verb)
    return next((group for group in (*NAMED_GROUPS, "mixer") if group in taken and name in choices[group]), None)


def group_of_options(key: str, options: Mapping[str, object]) -> UserError:
    """The error for a dictionary in the place of a name, with the overrides that say the same."""
    right = shell_command(*(f"{name}={value}" for name, value in flatten(options, f"{key}.").items()))
    line = f"{key} is a group, which takes no dictionary; type its options one by one: {right}"
    return UserError(line, kind="wrong_value", key=key, value=options, right=right)
