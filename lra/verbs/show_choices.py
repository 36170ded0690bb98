"""`lra show tasks` and `lra show attentions`: what can be chosen, read from the configuration and the prepared data."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from lra.base.paths import DESCRIPTION, NO_OPTION_KEYS, conf_names, read_choice
from lra.base.printed_commands import command, override, typed_config_dirs
from lra.base.probes import is_probe
from lra.base.text import MISSING
from lra.data.manifest import MANIFEST, SPLITS, read_manifest
from lra.runs.flat_settings import value_text
from lra.settings.compose import task_config
from lra.settings.run_config import ATTENTION
from lra.settings.which_run import store_dir
from lra.terminal.fit_table import print_prose, print_text_table
from lra.terminal.text_table import TextTable

METHODS = ("attention", "mixer")


@dataclass(frozen=True)
class ShownMethods:
    """The attentions and mixers that can be chosen.

    Attributes:
        table: of each the choice, its options, what the protocol sets, cost and source.
        differences: those from its paper, by choice, such as `attention=bigbird`.
    """

    table: TextTable
    differences: dict[str, str]

    def show(self, console: Console) -> None:
        """Print the table, then the differences."""
        print_text_table(console, self.table)
        console.print("\nWhere they differ from their papers:")
        for choice, text in self.differences.items():
            for line in (choice, *(f"  {difference}" for difference in text.split("; "))):
                print_prose(console, line)


@dataclass(frozen=True)
class ShownTasks:
    """The tasks that can be chosen: a table of the benchmark's, then one of probes."""

    tables: tuple[TextTable, ...]

    def show(self, console: Console) -> None:
        """Print the tables."""
        for number, table in enumerate(self.tables):
            if number:
                console.print()
            print_text_table(console, table)


def show_attentions() -> ShownMethods:
    """Read each attention and mixer: source, cost, options, switches of the protocol, differences from its paper."""
    rows = [_method_row(group, name, file) for group in METHODS for name, file in choices(group).items()]
    columns = ("choice", "options", "set by the protocol", "cost in L", "source")
    optional = ("source", "set by the protocol")
    table = TextTable(title="Attentions and mixers", columns=columns, rows=rows, optional=optional, prose=columns)
    return ShownMethods(table, differences())


def choices(group: str) -> dict[str, dict[str, Any]]:
    """Read the files of all attentions, mixers or tasks by their names; but for mixer=attention."""
    names = (name for name in conf_names(group) if (group, name) != ("mixer", ATTENTION))
    return {name: read_choice(group, name) for name in names}


def differences() -> dict[str, str]:
    """Say of each attention or mixer, such as `attention=bigbird`, how it differs from its paper, where it does."""
    files = {f"{group}={name}": file for group in METHODS for name, file in choices(group).items()}
    return {choice: file["differs"] for choice, file in files.items() if "differs" in file}


def _method_row(group: str, name: str, file: dict[str, Any]) -> list[str]:
    no_options = (*NO_OPTION_KEYS, *DESCRIPTION[group], "parameter_groups")
    options = {
        key: value if isinstance(value, str) else value_text(value)
        for key, value in file.items()
        if key not in no_options
    }
    own = [f"{key}={value}" for key, value in options.items() if "${" not in value]
    switches = [value.removeprefix("${").removesuffix("}") for value in options.values() if "${" in value]
    described = (file.get(key, MISSING) for key in ("cost", "source"))
    return [f"{group}={name}", "; ".join(own) or MISSING, "; ".join(switches) or MISSING, *map(str, described)]


def show_tasks(size: str, data: Path) -> ShownTasks:
    """Read each task at a size: what it is, classes, length, examples, whether its data is below `data`, terms."""
    files = choices("task")
    return ShownTasks(
        tuple(
            TextTable(
                title=f"{title}, size={size}; metric: accuracy over every test example",
                columns=("task", "classes", "length", "train / dev / test", "data here", "terms", "what"),
                rows=[_task_row(name, file, size, data) for name, file in files.items() if is_probe(file) is of_probes],
                optional=("terms", "train / dev / test", "data here", "classes"),
                prose=("data here", "terms", "what"),
            )
            for title, of_probes in (("Tasks", False), ("Probes: generated tasks, no part of Long Range Arena", True))
        )
    )


def _task_row(name: str, file: dict[str, Any], size: str, data: Path) -> list[str]:
    has_size = size in file["sizes"]
    cfg = task_config(file, size if has_size else next(iter(file["sizes"])), data)
    spec, sized = cfg.task.spec, cfg.task.data
    length, counts, here = MISSING, MISSING, f"it has no size={size}"
    if has_size:
        length, folder = f"{spec.seq_len:,}", store_dir(cfg)
        if (folder / MANIFEST).exists():
            manifest = read_manifest(folder)
            counts = _counts({split: facts["count"] for split, facts in manifest["splits"].items()})
            here = f"yes, {manifest['origin']}"
        else:
            counts = f"{sized['images']:,} together" if "images" in sized else _counts(sized)
            here = f"no; {command('prepare', *typed_config_dirs(), override('task', name), override('size', size))}"
    return [
        name,
        str(spec["num_classes"]),
        f"{spec['num_sequences']} × {length}" if spec["num_sequences"] > 1 else length,
        counts,
        here,
        *(str(file.get(key, MISSING)) for key in ("terms", "about")),
    ]


def _counts(count_by_split: Mapping[Any, int | None]) -> str:
    counts = [count_by_split.get(split) for split in SPLITS]
    return " / ".join(MISSING if count is None else f"{count:,}" for count in counts)
