"""The run group that a command reads: found among overrides, wherever it lies, or an error that says what there is."""

from collections.abc import Sequence
from pathlib import Path

from lra.base.overrides import Overrides
from lra.base.paths import runs_dir
from lra.base.printed_commands import command, override, shell_word, typed_command, typed_overrides
from lra.base.text import visible
from lra.runs.groups import PUBLISHED_FOLDER, find_group, is_path, nearest_groups
from lra.settings.override_values import values_of
from lra.settings.read_override import read_override
from lra.types import UserError

MOST_OFFERED = 6  # groups that an error offers


def with_group_found(overrides: Overrides) -> Overrides:
    """Replace `run_group=`, in overrides, by where it was found: `paths.runs=FOLDER run_group=NAME`.

    So a command that reads records takes the path of a file or folder, and the project's published records from
    everywhere, see `find_group`. A group in the folder of runs, or that is not there, stays as it was typed.

    Raises:
        UserError: for what can only be a path, and is none of a file or folder.
    """
    typed, runs = typed_text("run_group", overrides), folder_of_runs(overrides)
    if typed is None:
        return overrides
    group = find_group(runs, typed)
    if is_path(typed) and not group.path.exists():
        names = [override("run_group", name) for name in nearest_groups(runs, typed)]
        right = names[0] if names else override("run_group", PUBLISHED_FOLDER)
        line = f"{override('run_group', typed)}: no file or folder is there; type its path, or a run group, as"
        line += f" {shell_word(right)}"
        raise UserError(line, kind="missing_file", key="run_group", value=typed, right=right)
    if group == (runs, typed):
        return overrides
    others = overrides.without("run_group", "paths.runs")
    return Overrides([*others, override("paths.runs", group.runs), override("run_group", group.name)])


def folder_of_runs(overrides: Overrides) -> Path:
    """The folder of runs of a command with these overrides."""
    return Path(typed_text("paths.runs", overrides) or runs_dir()).expanduser().resolve()


def typed_text(key: str, overrides: Overrides) -> str | None:
    """The text that the last override of this key gives it; None if there is none, or it gives several, or a number."""
    typed = [each for each in overrides if each.signed_key == key and each.has_value]
    values = values_of(read_override(typed[-1])) if typed else []
    return values[0] if len(values) == 1 and isinstance(values[0], str) else None


def no_records(verb: str, path: Path, *, problems: Sequence[str] = ()) -> UserError:
    """The error for a run group without a record; it offers commands with the user's groups that have some.

    Args:
        verb: the command, with the subcommand behind it, as for `typed_command`.
        path: the group's folder or file.
        problems: a line for each record in it that is broken.
    """
    runs = folder_of_runs(typed_overrides("paths.runs"))
    name = str(path.relative_to(runs)) if path.is_relative_to(runs) else path.name
    names = [other for other in nearest_groups(runs, name) if other != name][:MOST_OFFERED]
    right = [typed_command(verb, override("run_group", other)) for other in names]
    if not right:
        right = [command("train", *typed_overrides("paths.runs"), "size=tiny", "logger=csv")]
        if verb != "publish":
            right.append(typed_command(verb, override("run_group", PUBLISHED_FOLDER)))
    what = "type: " if len(right) == 1 else "type one of: "
    line = "; ".join([f"no record is in {path}", *problems, what + ", ".join(right)])
    return UserError(visible(line), kind="no_records", key=str(path), right=right)
