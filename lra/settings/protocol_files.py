"""Which recipe, model and options of a method belong to a task: those of the protocol's own folders first."""

from collections.abc import Sequence

from lra.base.paths import conf_dirs
from lra.base.probes import probe_named
from lra.types import UserError


def recipe_name(task: str, size: str, protocol: str) -> str:
    """Name the recipe of a task: `conf/recipe/TASK_SIZE.yaml`, else `TASK.yaml`, else `default.yaml` (`probe.yaml`).

    Those of the protocol's own folder, `conf/recipe/PROTOCOL`, come first.

    Raises:
        UserError: when that folder has recipes of this size, but none for this task.
    """
    sized = tasks_with_recipe(protocol, size)
    if sized and task not in sized:
        raise UserError(
            f"protocol={protocol} has no recipe of task={task} at size={size}; choose one of task={','.join(sized)},"
            " another size, or type recipe=NAME",
            kind="unknown_choice",
            key="task",
            value=task,
            right=sized,
        )
    names = (f"{task}_{size}", task, "probe" if probe_named(task) else "default")
    return first_file("recipe", (*(f"{protocol}/{name}" for name in names), *names))


def tasks_with_recipe(protocol: str, size: str) -> list[str]:
    """List the tasks for which a protocol's own folder, `conf/recipe/PROTOCOL`, has a recipe of this size."""
    files = (path for folder in conf_dirs() for path in (folder / "recipe" / protocol).glob(f"*_{size}.yaml"))
    return sorted({path.stem.removesuffix(f"_{size}") for path in files})


def model_name(task: str, size: str, protocol: str) -> str:
    """Name the model of a task: `conf/model/PROTOCOL/TASK_SIZE.yaml`, else `TASK.yaml`, `default.yaml`, the encoder."""
    return first_file("model", (*(f"{protocol}/{name}" for name in (f"{task}_{size}", task, "default")), "encoder"))


def options_name(mixer: str, task: str, size: str, protocol: str) -> str:
    """Name a protocol's options of a mixer for a task: `conf/protocol/PROTOCOL/MIXER_TASK_SIZE.yaml`, else
    `MIXER_TASK.yaml`, which need not be there.
    """
    return first_file("protocol", [f"{protocol}/{mixer}_{name}" for name in (f"{task}_{size}", task)])


def short_options_name(attention: str, task: str) -> str:
    """Name an attention's options for short sequences, `conf/attention/short_sequences/NAME.yaml`, if a task has them.

    The file need not be there. Probes have them: at their lengths, 64 landmarks or a window of 256 would be exact.
    """
    return attention if probe_named(task) else "of_no_other_task"


def first_file(group: str, names: Sequence[str]) -> str:
    """Choose the first of some names of which a config group has a file in any configuration folder, else the last."""
    folders = [folder / group for folder in conf_dirs()]
    return next((name for name in names if any((folder / f"{name}.yaml").is_file() for folder in folders)), names[-1])
