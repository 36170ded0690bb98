"""Where a table goes: a terminal, a file, W&B."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lra.types import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from lra.commands.campaign import Campaign
    from lra.results.tables import TextTable


def write_out(campaign: Campaign, console: Console, name: str, table: TextTable, figures: list[Path]) -> None:
    """Print a table as `format=` says, its notes below, or write it to the file `out=`; name the figures.

    Args:
        campaign: whose table it is.
        console: where to.
        name: of the table in W&B, such as `compare-listops`.
        table: with its notes.
        figures: drawn beside it.

    Raises:
        UserError: for an unknown format.
    """
    from lra.results.record import replace_text
    from lra.results.tables import FORMATS

    form, out = campaign.settings.format, campaign.settings.out
    if form not in (*FORMATS, "wandb"):
        raise UserError(f"format={form} is not known; choose one of {', '.join(FORMATS)}, wandb")
    if out is not None and form == "terminal":
        form = {".csv": "csv", ".tex": "latex"}.get(Path(out).suffix, "markdown")
    if form == "wandb":
        _log(campaign, console, name, table, figures)
        return
    if form == "terminal":
        _print_table(console, table)
    elif out is None:
        print(table.to_text(form), end="")
    else:
        replace_text(Path(out), table.to_text(form))
        console.print(f"written: {out}")
    for figure in figures if form == "terminal" or out is not None else []:
        console.print(f"figure   {figure}")


def _print_table(console: Console, table: TextTable) -> None:
    from rich.measure import Measurement

    drawn = table.to_rich()
    if not console.is_terminal:  # a pipe has no width to keep to
        options = console.options.update(width=1000)
        console.width = max(console.width, Measurement.get(console, options, drawn).maximum)
    console.print(drawn)
    for note in table.notes:
        console.print(note, style="dim", markup=False)


def _log(campaign: Campaign, console: Console, name: str, table: TextTable, figures: list[Path]) -> None:
    """A W&B run of the group's own that holds the table and the figures."""
    from lra import build
    from lra.training.loggers import finish_wandb, log_table, start_wandb

    cfg = campaign.cells[0].cfg
    if cfg.logger.wandb is None:
        raise UserError("format=wandb needs a W&B logger; leave logger=csv out")
    folder = campaign.group / "tables" / name
    folder.mkdir(parents=True, exist_ok=True)
    run = start_wandb(
        folder,
        **build.plain(cfg.logger.wandb),
        name=name,
        group=str(cfg.run_group),
        job_type=campaign.verb,
        tags=[campaign.verb, cfg.protocol.name, cfg.size.name],
        config={"title": table.title, "notes": table.notes},
    )
    try:
        log_table(name, table.columns, table.rows, figures)
    finally:
        finish_wandb()
    sent = "logged" if cfg.logger.wandb.mode == "online" else f"later: wandb sync {folder}/wandb/offline-run-*"
    console.print(f"W&B run {run.id} ({name}) in {folder}; {sent}")
