"""Tables and figures of a run group, and how they go to a terminal, a file, or W&B."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console
from rich.text import Text

from lra.base.files import NOT_WRITABLE, replace_text
from lra.base.printed_commands import typed_overrides
from lra.base.text import visible
from lra.runs.groups import PUBLISHED, group_file
from lra.runs.schema import Record
from lra.settings.several_values import METHODS
from lra.tables.grid.other_records import OtherRecords, all_there, left_out
from lra.tables.grid.run_set import RunSet, Unfinished
from lra.tables.notes_on_runs import provenance_notes, task_title
from lra.terminal.console import make_console, out_path
from lra.terminal.figure_file import Drawn, typed_figure
from lra.terminal.fit_table import print_figure, print_prose, print_text_table
from lra.terminal.text_table import TextTable
from lra.types import UserError

if TYPE_CHECKING:  # slow: it imports torch
    from lra.tables.grid.plan import Plan

MOST_NOTES = 3  # of notes=short
Draw = Callable[[Path], Drawn]
MakeTable = Callable[[str, list[Record], str], tuple[TextTable, dict[str, Draw]]]


@dataclass(frozen=True, kw_only=True)
class TableWithFigures:
    """A table of a run group.

    Attributes:
        name: its name in W&B, such as `compare-listops`.
        table: the table.
        figures: those that were drawn of it.
        unfinished: by method, the seeds or trials that it lacks, where those of one task were asked for.
    """

    name: str
    table: TextTable
    figures: list[Drawn]
    unfinished: Unfinished = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Tables:
    """The tables of a run group that were asked for, which go where `format=` and `out=` say.

    Attributes:
        run_set: what was asked for.
        tables: those of several tasks, or one; on a terminal none where `there` says what is there.
        there: what is there, with commands that show it, where nothing is that was asked for.
        left_out: what the tables leave out of the run group's valid records, with commands that show it.
        failed: number of cells that have failed.
    """

    run_set: RunSet
    tables: list[TableWithFigures] = field(default_factory=list)
    there: list[OtherRecords] = field(default_factory=list)
    left_out: list[OtherRecords] = field(default_factory=list)
    failed: int = 0

    def show(self, console: Console) -> None:
        """Write the tables to the terminal, a file or W&B.

        Raises:
            UserError: after them, when cells have failed.
        """
        run_set, in_file = self.run_set, ""
        on_terminal = format_of(run_set) == "terminal"
        for line in _lines_of_what_is_there(run_set, self.there):
            _say(line, console if on_terminal else None)
        for index, made in enumerate(self.tables):
            if index and on_terminal:
                console.print()
            in_file = self._write(console, made, above=in_file)
        if self.failed:
            line = f"{self.failed} cells failed; the same command tries them again"
            raise UserError(line, kind="failed_cells", value=self.failed)

    def _write(self, console: Console, made: TableWithFigures, *, above: str) -> str:
        """Write a table and its notes in the format of `format=`, to the terminal or to `out=`; list the figures.

        `above` is what the file already has of earlier tables.

        Returns:
            What the file has then; nothing if there is no file.
        """
        run_set, table, figures = self.run_set, made.table, made.figures
        form, out = format_of(run_set), run_set.options.out
        if form == "csv":  # which has no notes
            for line in [] if run_set.shows_nothing else left_out_notes(run_set, self.left_out):
                print(line, file=sys.stderr)
        if form == "wandb":
            _log_to_wandb(run_set, console, made)
            return ""
        if form == "terminal":
            print_text_table(console, table, most_notes=None if run_set.options.notes == "all" else MOST_NOTES)
        elif out is None:
            print(table.to_text(form), end="")
        else:
            above += ("\n" if above else "") + table.to_text(form)
            replace_text(out_path(out), above, shared=True)
            console.print(f"written: {visible(str(out))}")
        is_free = form == "terminal" or out is not None  # else standard output is the table
        for drawn in figures:
            print_figure(console if is_free else make_console(stderr=True), drawn)
        return above


def _say(line: str, console: Console | None) -> None:
    """Print a line on a console; without one on standard error, because a file or another program gets the tables."""
    if console is None:
        print(line, file=sys.stderr)
    elif line.startswith("    "):  # a command, which is to be copied, is in one line
        console.print(line)
    else:
        print_prose(console, line)


def plan_run_or_show(run_set: RunSet, make: Callable[[RunSet], Tables]) -> Tables | Plan:
    """Do the action that the user typed: `plan`, `run` or `show`; make the tables for the last two."""
    console = make_console()
    if run_set.options.what == "plan":
        from lra.tables.grid.plan import make_plan

        return make_plan(console, run_set)
    if run_set.options.what == "show":
        return make(run_set)
    from lra.tables.grid.runner import failed_cells

    run_set.run(console)
    failed = failed_cells(run_set.cells)
    console.print(f"\n{run_set.count_finished()} finished")
    for run, error in failed.items():
        console.print(Text.assemble(("failed", "red"), f"  {error}\n        {run.folder}"))
    again = [cell for cell in run_set.cells if cell.run in failed and not cell.ended]
    return replace(make(run_set), failed=len(again))


def make_task_tables(run_set: RunSet, kind: str, make_table: MakeTable) -> Tables:
    """Make a table and its figures for every task; in W&B the table is named `KIND-TASK`.

    `make_table` gets a task, its records and a title. It returns the table, and for each figure its name and a function
    that draws it; the files are named `NAME-TASK`.
    """
    records = run_set.records()
    there = what_is_there(run_set)
    if there and format_of(run_set) == "terminal":
        return Tables(run_set=run_set, there=there)
    others = left_out(run_set)
    by_task = {task: [record for record in records if record.task == task] for task in run_set.tasks()}
    made = {task: make_table(task, of_task, task_title(task, of_task)) for task, of_task in by_task.items()}
    if format_of(run_set) == "csv":  # one table, with one header
        (first, _), *_ = made.values()
        whole = replace(first, csv_rows=[row for table, _ in made.values() for row in table.csv_rows])
        figures = [
            drawn
            for task, (_, drawings) in made.items()
            for drawn in draw(run_set, task, drawings, several_tasks=len(made) > 1)[0]
        ]
        in_all = TableWithFigures(name=kind, table=whole, figures=figures)
        return Tables(run_set=run_set, tables=[in_all], there=there, left_out=others)
    tables = []
    for task, (table, drawings) in made.items():
        figures, undrawn = draw(run_set, task, drawings, several_tasks=len(made) > 1)
        unfinished = run_set.unfinished(task, by_task[task])
        table = table.with_warnings(*no_record_notes(run_set), *run_set.unfinished_notes(task, unfinished))
        table = table.with_notes(*provenance_notes(by_task[task]))
        table = table.with_warnings(*left_out_notes(run_set, others), *undrawn)
        name = f"{kind}-{task}"
        tables.append(TableWithFigures(name=name, table=table, figures=figures, unfinished=unfinished))
    return Tables(run_set=run_set, tables=tables, there=there, left_out=others)


def what_is_there(run_set: RunSet) -> list[OtherRecords]:
    """Collect what is in the run group, where nothing is that was asked for; else nothing.

    On a terminal that is said in place of tables of nothing.
    """
    return all_there(run_set) if run_set.shows_nothing else []


def _lines_of_what_is_there(run_set: RunSet, there: list[OtherRecords]) -> list[str]:
    """Word what was asked for, and what is there in its place, with the commands that show it; nothing of nothing."""
    if not there:
        return []
    cfg = run_set.cells[0].cfg
    asked = [f"size={cfg.size.name}", f"protocol={cfg.protocol.name}", f"task={','.join(run_set.tasks())}"]
    asked += typed_overrides(*METHODS, "seed")
    lines = [f"{run_set.group} has no record to show of {' '.join(asked)}. It has:"]
    for other in there:
        lines += [f"  {other.contents}", f"    {other.command}"]
    return [*map(visible, lines), *run_set.problems]


def no_record_notes(run_set: RunSet) -> list[str]:
    """Word the command that makes records, for a table of a run group that has none at all."""
    if run_set.group_records:
        return []
    return [f"No record yet: {run_set.run_command()} makes them."]


def left_out_notes(run_set: RunSet, others: list[OtherRecords]) -> list[str]:
    """Word what a table leaves out: broken records, and others of the run group with the commands that show them."""
    return [*run_set.problems, *(other.note for other in others)]


def draw(
    run_set: RunSet, task: str, drawings: dict[str, Draw], *, several_tasks: bool = False
) -> tuple[list[Drawn], list[str]]:
    """Draw the figures; return them, and a note for each that is not drawn.

    They are drawn where `figure=` says, or, when the table goes to a terminal or W&B, in the run group's folder. A part
    of a published file has none there: it would replace the figure of all records, which is published too.
    """
    typed = run_set.options.figure
    if not drawings or (typed is None and run_set.options.format not in ("terminal", "wandb")):
        return [], [] if typed is None else [f"no figure of {task}: there is nothing to draw"]
    if typed is None and run_set.shows_a_part and run_set.group.suffix == PUBLISHED:
        line = f"no figure of a part of {run_set.group.name}: it would replace that of all its records"
        return [], [f"{line}; figure=FILE draws it elsewhere"]
    figures: list[Drawn] = []
    notes = []
    for name, draw_into in drawings.items():
        path = group_file(run_set.group, f"{name}-{task}.png")
        if typed is not None:
            of_several = task if several_tasks else ""
            path = typed_figure(typed, is_first=name == next(iter(drawings)), name=name, task=of_several)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)  # of the project's records it is in the folder of runs
            drawn = draw_into(path)
        except OSError as error:
            if error.errno not in NOT_WRITABLE:
                raise
            notes.append(f"no figure {path.stem}: {path.parent} cannot be written")
            continue
        figures.append(drawn)
        notes += drawn.left_out
    return figures, notes


def format_of(run_set: RunSet) -> str:
    """Return the format of `format=`, or, if only a file is named, that of the file's ending."""
    form, out = run_set.options.format, run_set.options.out
    if out is not None and form == "terminal":
        return {".csv": "csv", ".tex": "latex"}.get(Path(out).suffix, "markdown")
    return str(form)


def _log_to_wandb(run_set: RunSet, console: Console, made: TableWithFigures) -> None:
    """Log the table and the figures to W&B, in a W&B run of their own in the run group."""
    from lra.from_config.machine_and_loggers import wandb_run

    cfg, name, table = run_set.cells[0].cfg, made.name, made.table
    if not cfg.logs_to_wandb:
        of_csv = cfg.logger.get("wandb") is None
        right = f"{'logger=wandb ' if of_csv else ''}logger.wandb.mode=offline"
        raise UserError(f"format=wandb needs a W&B run; type {right}")
    folder = group_file(run_set.group, "tables") / name
    tags, notes = [run_set.verb, cfg.protocol.name, cfg.size.name], {"title": table.title, "notes": table.notes}
    with wandb_run(cfg, folder, console, name=name, job_type=run_set.verb, tags=tags, config=notes) as run:
        import wandb

        logged = wandb.Table(columns=list(table.columns), data=list(table.rows))
        images = {
            f"figures/{drawn.path.stem}": wandb.Image(str(drawn.path), caption=drawn.caption) for drawn in made.figures
        }
        run.log({name: logged, **images})
