"""Show tables and figures on a terminal, in a file, or in W&B."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from lra.types import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from lra.cli_support.campaign import Campaign
    from lra.results.schema import Record
    from lra.results.tables import TextTable

    Draw = Callable[[Path], Path]
    Make = Callable[[list[Record], str], tuple[TextTable, dict[str, Draw]]]


def write_tasks(campaign: Campaign, console: Console, kind: str, make: Make) -> None:
    """Show a table and its figures for every task; in W&B the table is named `KIND-TASK`.

    `make` gets a task's records and a title. It returns the table, and for each figure its name and a function that
    draws it; the files are named `NAME-TASK`.
    """
    from lra.results.provenance import provenance_notes
    from lra.results.titles import title_of

    records = campaign.records()
    for task in campaign.tasks():
        mine = [record for record in records if record["identity"]["task"] == task]
        table, drawings = make(mine, title_of(task, mine))
        table = table.with_notes(*provenance_notes(mine), *campaign.troubles)
        figures = [path for name, draw in drawings.items() for path in campaign.figure(f"{name}-{task}", draw)]
        write_out(campaign, console, f"{kind}-{task}", table, figures)


def write_out(campaign: Campaign, console: Console, name: str, table: TextTable, figures: list[Path]) -> None:
    """Write a table and its notes in the format of `format=`, to the terminal or to the file `out=`; list the figures.

    Args:
        campaign: the campaign, which has `format` and `out`.
        console: for tables on a terminal and for messages.
        name: the table's name in W&B, such as `compare-listops`.
        table: the table with its notes.
        figures: image files that belong to the table.
    """
    from lra.cli_support.narrow import print_text_table
    from lra.files import replace_text
    from lra.results.text import visible

    form, out = campaign.settings.format, campaign.settings.out
    if out is not None and form == "terminal":
        form = {".csv": "csv", ".tex": "latex"}.get(Path(out).suffix, "markdown")
    if form == "wandb":
        _log(campaign, console, name, table, figures)
        return
    if form == "terminal":
        print_text_table(console, table)
        for note in table.notes:
            console.print(note, style="dim")
    elif out is None:
        print(table.to_text(form), end="")
    else:
        replace_text(Path(out).expanduser(), table.to_text(form))
        console.print(f"written: {visible(str(out))}")
    for figure in figures:
        console.print(f"figure   {visible(str(figure))}")


def _log(campaign: Campaign, console: Console, name: str, table: TextTable, figures: list[Path]) -> None:
    """Log the table and the figures to W&B, in a W&B run of their own in the run group."""
    from lra import config
    from lra.build_trainer import wandb_settings
    from lra.training.loggers import finish_wandb, start_wandb
    from lra.training.wandb_results import log_table

    cfg = campaign.cells[0].cfg
    if not config.logs_to_wandb(cfg):
        raise UserError("format=wandb needs a W&B run; leave logger=csv out, or type logger.wandb.mode=offline")
    folder = campaign.group / "tables" / name
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
