"""Show tables and figures on a terminal, in a file, or in W&B."""

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from lra.base.files import NOT_WRITABLE, replace_text
from lra.base.printed_commands import typed_overrides
from lra.base.text import visible
from lra.runs.groups import PUBLISHED, group_file
from lra.runs.schema import Record
from lra.settings.wandb_mode import logs_to_wandb
from lra.tables.grid.cell import METHOD
from lra.tables.grid.other_records import all_there, left_out
from lra.tables.grid.run_set import RunSet
from lra.tables.notes_on_runs import provenance_notes, task_title
from lra.terminal.console import make_console, out_path
from lra.terminal.figure_file import Drawn, typed_figure
from lra.terminal.fit_table import print_figure, print_prose, print_text_table
from lra.terminal.text_table import TextTable
from lra.types import UserError

MOST_NOTES = 3  # of notes=short
Draw = Callable[[Path], Drawn]
MakeTable = Callable[[str, list[Record], str], tuple[TextTable, dict[str, Draw]]]


def plan_run_or_show(run_set: RunSet, show: Callable[[RunSet, Console], None]) -> None:
    """Do the action that the user typed: `plan`, `run` (which also shows the result) or `show`.

    Raises:
        UserError: after all other cells have run, when some cells have failed.
    """
    console = make_console()
    if run_set.options.what == "plan":
        from lra.tables.grid.plan import print_plan

        print_plan(console, run_set)
        return
    if run_set.options.what == "show":
        show(run_set, console)
        return
    from lra.tables.grid.runner import failed_cells

    run_set.run(console)
    failed = failed_cells(run_set.cells)
    console.print(f"\n{run_set.count_finished()} finished")
    for folder, error in failed.items():
        console.print(Text.assemble(("failed", "red"), f"  {error}\n        {folder}"))
    show(run_set, console)
    again = [cell for cell in run_set.cells if cell.run in failed and not cell.ended]
    if again:
        raise UserError(f"{len(again)} cells failed; the same command tries them again")


def write_task_tables(run_set: RunSet, console: Console, kind: str, make_table: MakeTable) -> None:
    """Show a table and its figures for every task; in W&B the table is named `KIND-TASK`.

    `make_table` gets a task, its records and a title. It returns the table, and for each figure its name and a function
    that draws it; the files are named `NAME-TASK`.
    """
    records, written = run_set.records(), ""
    if says_what_is_there(run_set, console):
        return
    by_task = {task: [record for record in records if record.task == task] for task in run_set.tasks()}
    tables = {task: make_table(task, of_task, task_title(task, of_task)) for task, of_task in by_task.items()}
    if format_of(run_set) == "csv":  # one table, with one header
        (first, _), *_ = tables.values()
        whole = replace(first, numbers=[cell for table, _ in tables.values() for cell in table.numbers])
        figures = [
            drawn
            for task, (_, drawings) in tables.items()
            for drawn in draw(run_set, task, drawings, several_tasks=len(tables) > 1)[0]
        ]
        write_table(run_set, console, kind, whole, figures)
        return
    for index, (task, (table, drawings)) in enumerate(tables.items()):
        if index and format_of(run_set) == "terminal":
            console.print()
        figures, undrawn = draw(run_set, task, drawings, several_tasks=len(tables) > 1)
        table = table.with_warnings(*no_record_notes(run_set), *run_set.unfinished_notes(task, by_task[task]))
        table = table.with_notes(*provenance_notes(by_task[task])).with_warnings(*left_out_notes(run_set), *undrawn)
        written = write_table(run_set, console, f"{kind}-{task}", table, figures, above=written)


def says_what_is_there(run_set: RunSet, console: Console) -> bool:
    """Say what is in the run group, where nothing is that was asked for, and the commands that show it.

    Returns:
        Whether that was said in place of tables of nothing. One that goes into a file, or to another program, is
        written all the same, and this is said on standard error.
    """
    if not run_set.shows_nothing or not run_set.group_records:
        return False
    cfg = run_set.cells[0].cfg
    asked = [f"size={cfg.size.name}", f"protocol={cfg.protocol.name}", f"task={','.join(run_set.tasks())}"]
    asked += typed_overrides(*METHOD, "seed")
    lines = [f"{run_set.group} has no record to show of {' '.join(asked)}. It has:"]
    for other in all_there(run_set):
        lines += [f"  {other.contents}", f"    {other.command}"]
    for line in [*map(visible, lines), *run_set.problems]:
        if format_of(run_set) != "terminal":
            print(line, file=sys.stderr)
        elif line.startswith("    "):  # a command, which is to be copied, is in one line
            console.print(line)
        else:
            print_prose(console, line)
    return format_of(run_set) == "terminal"


def no_record_notes(run_set: RunSet) -> list[str]:
    """Word the command that makes records, for a table of a run group that has none at all."""
    if run_set.group_records:
        return []
    return [f"No record yet: {run_set.run_command()} makes them."]


def left_out_notes(run_set: RunSet) -> list[str]:
    """Word what a table leaves out: broken records, and others of the run group with the commands that show them."""
    others = [] if run_set.shows_nothing else left_out(run_set)
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


def write_table(
    run_set: RunSet, console: Console, name: str, table: TextTable, figures: Sequence[Drawn], *, above: str = ""
) -> str:
    """Write a table and its notes in the format of `format=`, to the terminal or to the file `out=`; list the figures.

    `name` is the table's name in W&B, such as `compare-listops`; `above` is what the file already has of earlier
    tables.

    Returns:
        What the file has then; nothing if there is no file.
    """
    form, out = format_of(run_set), run_set.options.out
    if form == "csv":  # which has no notes
        for line in [] if run_set.shows_nothing else left_out_notes(run_set):
            print(line, file=sys.stderr)
    if form == "wandb":
        _log_to_wandb(run_set, console, name, table, figures)
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


def _log_to_wandb(run_set: RunSet, console: Console, name: str, table: TextTable, figures: Sequence[Drawn]) -> None:
    """Log the table and the figures to W&B, in a W&B run of their own in the run group."""
    from lra.from_config.machine_and_loggers import wandb_run

    cfg = run_set.cells[0].cfg
    if not logs_to_wandb(cfg):
        of_csv = cfg.logger.get("wandb") is None
        right = f"{'logger=wandb ' if of_csv else ''}logger.wandb.mode=offline"
        raise UserError(f"format=wandb needs a W&B run; type {right}")
    folder = group_file(run_set.group, "tables") / name
    tags, notes = [run_set.verb, cfg.protocol.name, cfg.size.name], {"title": table.title, "notes": table.notes}
    with wandb_run(cfg, folder, console, name=name, job_type=run_set.verb, tags=tags, config=notes) as run:
        import wandb

        logged = wandb.Table(columns=list(table.columns), data=list(table.rows))
        images = {
            f"figures/{drawn.path.stem}": wandb.Image(str(drawn.path), caption=drawn.caption) for drawn in figures
        }
        run.log({name: logged, **images})
