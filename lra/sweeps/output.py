"""Show tables and figures on a terminal, in a file, or in W&B."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from lra.base.files import NOT_WRITABLE
from lra.types import UserError

MOST_NOTE_LINES = 8  # of notes=short

if TYPE_CHECKING:
    from rich.console import Console

    from lra.results.tables import TextTable
    from lra.runs.schema import Record
    from lra.sweeps.campaign import Campaign

    Draw = Callable[[Path], Path]
    Make = Callable[[list[Record], str], tuple[TextTable, dict[str, Draw]]]


def write_tasks(campaign: Campaign, console: Console, kind: str, make: Make) -> None:
    """Show a table and its figures for every task; in W&B the table is named `KIND-TASK`.

    `make` gets a task's records and a title. It returns the table, and for each figure its name and a function that
    draws it; the files are named `NAME-TASK`.
    """
    from lra.results.protocol_and_size import title_of
    from lra.results.provenance import provenance_notes

    records, written = campaign.records(), ""
    by_task = {task: [record for record in records if record["identity"]["task"] == task] for task in campaign.tasks()}
    made = {task: make(mine, title_of(task, mine)) for task, mine in by_task.items()}
    if format_of(campaign) == "csv":  # one table, with one header
        (first, _), *_ = made.values()
        whole = replace(first, numbers=[cell for table, _ in made.values() for cell in table.numbers])
        write_out(campaign, console, kind, whole, [])
        return
    for place, (task, (table, drawings)) in enumerate(made.items()):
        if place and format_of(campaign) == "terminal":
            console.print()
        figures, undrawn = _draw(campaign, task, drawings)
        notes = (*campaign.unfinished(task, by_task[task]), *provenance_notes(by_task[task]))
        table = table.with_notes(*notes, *campaign.troubles, *undrawn)
        written = write_out(campaign, console, f"{kind}-{task}", table, figures, above=written)


def _draw(campaign: Campaign, task: str, drawings: dict[str, Draw]) -> tuple[list[Path], list[str]]:
    """Draw the figures; return their files, and a note for each whose folder cannot be written."""
    figures: list[Path] = []
    notes = []
    for name, draw in drawings.items():
        try:
            figures += campaign.figure(f"{name}-{task}", draw)
        except OSError as error:
            if error.errno not in NOT_WRITABLE:
                raise
            notes.append(f"no figure {name}-{task}: {campaign.group} cannot be written")
    return figures, notes


def format_of(campaign: Campaign) -> str:
    """Return the format of `format=`, or, if only a file is named, that of the file's ending."""
    form, out = campaign.settings.format, campaign.settings.out
    if out is not None and form == "terminal":
        return {".csv": "csv", ".tex": "latex"}.get(Path(out).suffix, "markdown")
    return str(form)


def write_out(
    campaign: Campaign, console: Console, name: str, table: TextTable, figures: list[Path], *, above: str = ""
) -> str:
    """Write a table and its notes in the format of `format=`, to the terminal or to the file `out=`; list the figures.

    Args:
        campaign: the campaign, which has `format` and `out`.
        console: for tables on a terminal and for messages.
        name: the table's name in W&B, such as `compare-listops`.
        table: the table with its notes.
        figures: image files that belong to the table.
        above: what the file already has, of the tables before this one.

    Returns:
        What the file has then; nothing if there is no file.
    """
    from lra.base.files import replace_text
    from lra.base.text import visible
    from lra.terminal.fit_table import print_text_table
    from lra.terminal.output import out_path

    form, out = format_of(campaign), campaign.settings.out
    if form == "csv":  # which has no notes
        for trouble in campaign.troubles:
            print(trouble, file=sys.stderr)
    if form == "wandb":
        _log(campaign, console, name, table, figures)
        return ""
    if form == "terminal":
        print_text_table(console, table, most_lines=None if campaign.settings.notes == "all" else MOST_NOTE_LINES)
    elif out is None:
        print(table.to_text(form), end="")
    else:
        above += ("\n" if above else "") + table.to_text(form)
        replace_text(out_path(out), above, shared=True)
        console.print(f"written: {visible(str(out))}")
    for figure in figures:
        console.print(f"figure   {visible(str(figure))} (.pdf and .svg beside it)")
    return above


def _log(campaign: Campaign, console: Console, name: str, table: TextTable, figures: list[Path]) -> None:
    """Log the table and the figures to W&B, in a W&B run of their own in the run group."""
    from lra.build.trainer import wandb_settings
    from lra.runs.files import group_file
    from lra.settings import config
    from lra.training.loggers import finish_wandb, start_wandb
    from lra.training.wandb_results import log_table

    cfg = campaign.cells[0].cfg
    if not config.logs_to_wandb(cfg):
        raise UserError("format=wandb needs a W&B run; leave logger=csv out, or type logger.wandb.mode=offline")
    folder = group_file(campaign.group, "tables") / name
    folder.mkdir(parents=True, exist_ok=True)
    logger = start_wandb(
        folder,
        **wandb_settings(
            cfg,
            name=name,
            job_type=campaign.verb,
            tags=[campaign.verb, cfg.protocol.name, cfg.size.name],
            config={"title": table.title, "notes": table.notes},
        ),
    )
    try:
        log_table(logger.experiment, name, table.columns, table.rows, figures)
    finally:
        finish_wandb([logger])
    sent = "logged" if cfg.logger.wandb.mode == "online" else f"later: wandb sync {folder}/wandb/offline-run-*"
    console.print(f"W&B run {logger.version} ({name}) in {folder}; {sent}")
