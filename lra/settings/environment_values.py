"""Text from the environment in a typed override, as in `seed='${oc.env:SLURM_ARRAY_TASK_ID}'`, is read as if typed."""

import re

from hydra.core.override_parser.types import Override as Parsed
from omegaconf import OmegaConf
from omegaconf.errors import InterpolationResolutionError

from lra.base.printed_commands import override, shell_word
from lra.settings.read_override import read_override
from lra.types import UserError

FROM_ENVIRONMENT = re.compile(r"\$\{oc\.env:\s*(\w+)")


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
