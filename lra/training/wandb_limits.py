"""What W&B takes as project, name, group, job type and tags of a run, and which option or variable has given each.

W&B checks some of this when a run begins, and its server the rest when it gets the run: of an offline run after the
training, with `wandb sync`. So a name is checked here, before anything is trained.
"""

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from lra.base.printed_commands import override, shell_command
from lra.types import UserError

OF_OPTIONS = "logger.wandb."
SET_BY_LRA = ("dir", "id", "resume", "reinit", "resume_from", "fork_from", "settings")  # they keep a resumed run one
MOST_CONFIG_BYTES = 15_000_000  # "run config cannot exceed 15 MB", says the server
SHOWN = 40  # characters of a long name


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What W&B takes for an argument of `wandb.init`.

    Attributes:
        variable: the environment variable that gives the argument where no option does.
        least, most: number of characters; None: no limit is known.
        without: characters that it must not have.
    """

    variable: str
    least: int = 0
    most: int | None = None
    without: str = ""


# Sources: `validate_project` and `validate_run_tags` in wandb/sdk/wandb_settings.py of wandb 0.31; the server's answers
# to longer groups (github.com/wandb/wandb, issue 1519), job types (issue 6402: "64 limit exceeded for JobType") and
# names (github.com/NVIDIA-NeMo/Skills, issue 842). An entity is a part of a run's path, ENTITY/PROJECT/ID. The id is
# drawn by lra, see `lra.training.loggers.wandb_id`; keys of the summary are lra's own. Notes have no known limit.
LIMITS = {
    "project": Limit(variable="WANDB_PROJECT", most=128, without="/\\#?%:"),
    "entity": Limit(variable="WANDB_ENTITY", without="/"),
    "name": Limit(variable="WANDB_NAME", most=128),
    "group": Limit(variable="WANDB_RUN_GROUP", most=128),
    "job_type": Limit(variable="WANDB_JOB_TYPE", most=64),
    "tags": Limit(variable="WANDB_TAGS", least=1, most=64),
}


class Name(NamedTuple):
    """A value for an argument of `wandb.init`, a tag for `tags`, and the option or the variable that has given it."""

    argument: str
    value: str
    by: str


def names_of_run(own: Mapping[str, Any], ours: Mapping[str, tuple[str, str]], tags: Mapping[str, str]) -> list[Name]:
    """List the names of a W&B run: an option comes before an environment variable, and both before what lra gives.

    Tags are those of all three.

    Args:
        own: the options `logger.wandb`.
        ours: for an argument, what lra gives, and the option that this comes from.
        tags: the tags that lra gives, and for each the option that it comes from.
    """
    names = []
    for argument, limit in LIMITS.items():
        option, variable = f"{OF_OPTIONS}{argument}", os.environ.get(limit.variable)
        if argument == "tags":
            names += [Name(argument, tag, by) for tag, by in tags.items()]
            names += [
                Name(argument, tag, limit.variable) for tag in (variable.split(",") if variable is not None else ())
            ]
            names += [Name(argument, str(tag), option) for tag in own.get(argument) or ()]
        elif own.get(argument) is not None:  # a file may have taken it from the variable
            value = str(own[argument])
            names.append(Name(argument, value, limit.variable if value == variable else option))
        elif variable:
            names.append(Name(argument, variable, limit.variable))
        elif argument in ours:
            names.append(Name(argument, *ours[argument]))
    return names


def as_arguments(names: Sequence[Name]) -> dict[str, Any]:
    """Collect names as arguments of `wandb.init`."""
    arguments: dict[str, Any] = {name.argument: name.value for name in names if name.argument != "tags"}
    return {**arguments, "tags": [name.value for name in names if name.argument == "tags"]}


def check_names(names: Sequence[Name], config: Mapping[str, object]) -> None:
    """Refuse a name, or a size of the config, that W&B would refuse.

    Raises:
        UserError: for the first one, with the option or the variable that has given it.
    """
    for name in names:
        problem = next(_problems(name.value, LIMITS[name.argument]), None)
        if problem is not None:
            shown = name.value if len(name.value) <= SHOWN else f"{name.value[:SHOWN]}…"
            right = _right(name)
            what = "a tag" if name.argument == "tags" else name.argument.replace("_", " ")
            line = f"{name.by}={shown} {problem}, which W&B refuses as {what} of a run; {right}"
            raise UserError(line, kind="wandb_limit", key=name.by, value=name.value, right=right)
    size = len(json.dumps(config, default=str).encode())
    if size > MOST_CONFIG_BYTES:
        line = (
            f"{OF_OPTIONS}config and the run's options have {size / 1e6:.1f} MB, and W&B takes"
            f" {MOST_CONFIG_BYTES / 1e6:.0f}; leave out what is large"
        )
        raise UserError(line, kind="wandb_limit", key=f"{OF_OPTIONS}config", value=size, right=MOST_CONFIG_BYTES)


def _problems(value: str, limit: Limit) -> Iterator[str]:
    """Say in which ways a value is outside its limit."""
    forbidden = sorted(set(value) & set(limit.without))
    if forbidden:
        yield f"has {' '.join(forbidden)} in it"
    if len(value) < limit.least:
        yield "is empty"
    if limit.most is not None and len(value) > limit.most:
        yield f"has {len(value)} characters, more than {limit.most}"


def _right(name: Name) -> str:
    """Say what to type in place of a name that is refused."""
    limit, option = LIMITS[name.argument], f"{OF_OPTIONS}{name.argument}"
    right = "".join("-" if letter in limit.without else letter for letter in name.value)[: limit.most]
    if name.by == option == f"{OF_OPTIONS}tags":
        return "type tags of 1 to 64 characters, or logger=csv"
    if name.by == option:
        return f"type {shell_command(override(option, right))}"
    if name.by != limit.variable:  # from another option, whose value may be needed as it is
        instead = "" if name.argument == "tags" else f" or {shell_command(override(f'+{option}', right))}"
        return f"type logger=csv{instead}, or choose a shorter name"
    if name.argument == "tags":
        kept = ",".join(tag[: limit.most] for tag in os.environ[limit.variable].split(",") if tag)
        return f"type: {shell_command('export', f'{limit.variable}={kept}') if kept else f'unset {limit.variable}'}"
    return f"type: {shell_command('export', f'{limit.variable}={right}')}"
