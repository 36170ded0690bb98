"""What a run group holds beside what a command shows of it, and the commands that show that."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from lra.base.paths import conf_names
from lra.base.printed_commands import command, override, typed_config_dirs, typed_overrides
from lra.base.text import visible
from lra.runs.published_numbers import in_benchmark_order
from lra.runs.schema import Record
from lra.settings.several_values import METHODS
from lra.tables.grid.run_set import RunSet


@dataclass(frozen=True, kw_only=True)
class OtherRecords:
    """Records of one kind in a run group that a command does not show.

    Attributes:
        kind: what they share and the command has not, as `size=short protocol=paper`, or `task=text`.
        count: their number.
        methods: the attentions, mixers and models of each task.
        command: the command that shows them.
    """

    kind: str
    count: int
    methods: dict[str, list[str]]
    command: str

    @property
    def note(self) -> str:
        """The note below a table that leaves them out."""
        return visible(f"left out: {self.count} of {self.kind}: {self.command}")

    @property
    def contents(self) -> str:
        """How many there are of what: `2 records of size=short protocol=paper; listops, text: full, nystrom`."""
        tasks: dict[str, list[str]] = defaultdict(list)  # by their methods
        for task, methods in self.methods.items():
            tasks[", ".join(methods)].append(task)
        texts = [f"{', '.join(of_methods)}: {methods}" for methods, of_methods in tasks.items()]
        return visible(f"{self.count} records of {self.kind}; {'; '.join(texts)}")


def left_out(run_set: RunSet) -> list[OtherRecords]:
    """Collect the records of each other size and protocol, and of each other task if the user typed none.

    The accuracy table shows all tasks. There are none where the command shows nothing: `all_there` is for that.
    """
    if run_set.shows_nothing:
        return []
    every_task = run_set.verb == "table" or bool(run_set.typed_keys & {"task"})
    tasks, kinds = run_set.tasks(), defaultdict[str, list[Record]](list)
    for record in run_set.group_records:
        identity = record.identity
        if not run_set.is_shown(record):
            kinds[_size_and_protocol(record)].append(record)
        elif not every_task and identity["task"] not in tasks:
            kinds[f"task={identity['task']}"].append(record)
    return [_others(run_set, kind, of_kind) for kind, of_kind in sorted(kinds.items())]


def all_there(run_set: RunSet) -> list[OtherRecords]:
    """Collect all records by size and protocol, for a command that shows none of them."""
    kinds = defaultdict[str, list[Record]](list)
    for record in run_set.group_records:
        kinds[_size_and_protocol(record)].append(record)
    return [_others(run_set, kind, of_kind) for kind, of_kind in sorted(kinds.items())]


def _size_and_protocol(record: Record) -> str:
    return f"size={record.size} protocol={record.protocol}"


def _others(run_set: RunSet, kind: str, records: list[Record]) -> OtherRecords:
    methods: dict[str, list[str]] = {task: [] for task in in_benchmark_order(_names(records, "task"))}
    for record in records:
        identity = record.identity
        if identity["attention"] not in methods[identity["task"]]:
            methods[identity["task"]].append(identity["attention"])
    return OtherRecords(kind=kind, count=len(records), methods=methods, command=_command_for(run_set, records))


def _names(records: Iterable[Record], key: str) -> list[str]:
    return list(dict.fromkeys(str(dict(record.identity)[key]) for record in records))


def _command_for(run_set: RunSet, records: Sequence[Record]) -> str:
    """Word the command that shows records of one size and protocol: the one that was typed, if it can be changed to.

    A size, protocol or task without a file, which was removed or is of a package that is not here, cannot be typed: the
    report has its records.
    """
    identity = records[0].identity
    group = typed_overrides("run_group") or [override("run_group", run_set.cells[0].cfg.run_group)]
    folders_and_group = [*typed_config_dirs(), *typed_overrides("paths.runs", "paths.data"), *group]
    tasks = [task for task in in_benchmark_order(_names(records, "task")) if task in conf_names("task")]
    size, protocol = identity["size"], identity["protocol"]
    if not tasks or size not in conf_names("size") or protocol not in conf_names("protocol"):
        return command("report", *folders_and_group)
    changes = [] if run_set.is_shown(records[0]) else [override("size", size), override("protocol", protocol)]
    fitting = [record for record in records if run_set.can_show(record)]
    if not fitting:  # such as those of another sweep
        return command(
            "compare show", *folders_and_group, override("size", size), override("protocol", protocol), _tasks(tasks)
        )
    if run_set.verb != "table" or run_set.typed_keys & {"task"}:
        of_tasks = [record for record in fitting if record.task in run_set.tasks()]
        if not of_tasks:
            changes.append(_tasks([task for task in tasks if task in _names(fitting, "task")]))
        fitting = of_tasks or fitting
    without: list[str] = []
    if not any(run_set.names_method_and_seed(record) for record in fitting):
        without = [key for key in run_set.typed_keys if key.partition(".")[0] in (*METHODS, "seed")]
    typed_group = [] if "run_group" in run_set.typed_keys else group
    return run_set.typed_command("show", *typed_group, *changes, without=without)


def _tasks(tasks: Sequence[str]) -> str:
    """Write the tasks as one override; names of files need no quotes."""
    return f"task={','.join(tasks)}"
