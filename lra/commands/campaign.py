"""What the verbs over many runs share: their words, their cells, running what is missing with one worker or several."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lra.types import UserError

if TYPE_CHECKING:
    from omegaconf import DictConfig
    from rich.console import Console

    from lra.results.collect import Record
    from lra.results.tables import TextTable
    from lra.sweeps.grid import Cell
    from lra.sweeps.runner import Outcome

ACTIONS = ("plan", "run", "show")


class Campaign:
    """One call of `lra table`, `lra sweep` or `lra compare`.

    Args:
        verb: which of them; `conf/VERB.yaml` has its own settings.
        words: what was typed after it. The first may be an action; its own settings, `hydra/launcher=` and
            `hydra.launcher.` settings are taken out, the rest goes to every run.
        beside: a second sweep whose cells belong to it, with what was typed but the attention.

    Raises:
        UserError: for a word that is wrong.
    """

    def __init__(self, verb: str, words: Sequence[str], *, beside: str | None = None):
        from lra.build import check_numbers, load_config
        from lra.commands.overrides import check
        from lra.sweeps.grid import make_cells, sweep_names

        words = list(words)
        own = [f"what={words.pop(0)}"] if words and "=" not in words[0] and not words[0].startswith("-") else []
        if own and own[0] not in [f"what={action}" for action in ACTIONS]:
            raise UserError(f"{own[0].removeprefix('what=')!r} is no action; type: lra {verb} {'|'.join(ACTIONS)}")
        flag = next((word for word in words if word.startswith("-")), None)
        if flag:
            raise UserError(f"{flag} is not needed: several values multiply by themselves, as in seed=0,1,2")
        known = set(load_config(verb))
        chosen = [word.removeprefix("sweep=") for word in words if word.startswith("sweep=")]  # a group's name too
        words = [word for word in words if not word.startswith("sweep=")]
        own += [word for word in words if word.split("=")[0] in known]
        self.launcher = [word for word in words if word.lstrip("+").startswith(("hydra/", "hydra."))]
        self.words = [word for word in words if word not in own and word not in self.launcher]
        check(verb, own, sweep=False)
        check("train", self.words, sweep=True)
        self.verb = verb
        self.troubles: list[str] = []
        self.settings: DictConfig = load_config(verb, own)
        if chosen:
            self.settings.sweep = chosen[-1]
        if self.settings.sweep not in sweep_names():
            raise UserError(f"sweep={self.settings.sweep} is not known; choose one of {', '.join(sweep_names())}")
        if self.settings.workers < 1:
            raise UserError(f"workers={self.settings.workers}, but at least 1 is needed; type for example workers=2")
        self.sweeps = {self.settings.sweep: self.words}
        if beside is not None:
            self.sweeps[beside] = [word for word in self.words if not word.startswith("attention")]
        self.cells: list[Cell] = [cell for sweep, typed in self.sweeps.items() for cell in make_cells(sweep, typed)]
        for cell in self.cells:
            check_numbers(cell.cfg)

    @property
    def group(self) -> Path:
        """Folder of the cells' run group."""
        cfg = self.cells[0].cfg
        return Path(cfg.paths.runs) / str(cfg.run_group)

    def run(self, console: Console) -> Outcome:
        """Run what is missing; with `workers=` in as many processes, through a Hydra launcher."""
        from lra.sweeps.runner import outcome_of, run_missing

        if self.settings.workers == 1 and not self.launcher:
            run_missing(self.cells, console)
        else:
            for sweep, typed in self.sweeps.items():
                _launch(sweep, typed, self.settings.workers, self.launcher)
        return outcome_of(self.cells)

    def records(self) -> list[Record]:
        """Valid records of the run group, of this protocol and size, and of what `task=`, `attention=`, `seed=` name.

        What had to be left out is in `troubles`.
        """
        from lra.results.collect import collect

        found = collect(self.group)
        self.troubles = found.troubles
        return [record for record in found.records if self._asked_for(record)]

    def _asked_for(self, record: Record) -> bool:
        identity, cfg = record["identity"], self.cells[0].cfg
        if (identity["protocol"]["name"], identity["size"]) != (cfg.protocol.name, cfg.size.name):
            return False
        typed = {word.split("=")[0] for word in self.words} & {"task", "attention", "seed"}
        return all(identity[key] in {_identity(cell.cfg, key) for cell in self.cells} for key in typed)

    def tasks(self) -> list[str]:
        """The cells' tasks, in their order."""
        return list(dict.fromkeys(cell.cfg.task.name for cell in self.cells))

    def title(self, task: str) -> str:
        """What is shown of a task, and whether it is the benchmark."""
        cfg = next(cell.cfg for cell in self.cells if cell.cfg.task.name == task)
        text = f"{task}, protocol {cfg.protocol.name}, {cfg.recipe.steps:,} steps"
        return text if cfg.size.name == "full" else f"{text}, size={cfg.size.name}: NOT the benchmark"


def _identity(cfg: DictConfig, key: str) -> Any:
    return cfg.seed if key == "seed" else cfg[key].name


def _launch(sweep: str, words: list[str], workers: int, launcher: list[str]) -> None:
    """Start workers by Hydra's launcher and wait for them; leases share the cells out among them."""
    import hydra

    from lra.paths import conf_dir

    if not any("hydra/launcher=" in word for word in launcher):
        launcher = ["hydra/launcher=joblib", f"hydra.launcher.n_jobs={workers}", *launcher]
    quoted = ",".join("'" + word.replace("'", r"\'") + "'" for word in words)
    sys.argv = ["lra", "--multirun", f"of={sweep}", f"worker=range({workers})", f"words=[{quoted}]", *launcher]
    hydra.main(version_base="1.3", config_path=str(conf_dir()), config_name="worker")(work)()


def work(cfg: DictConfig) -> None:
    """One worker: a job of the launcher, on this machine or another that shares the folder of runs."""
    from lra.commands.console import make_console
    from lra.sweeps.grid import make_cells
    from lra.sweeps.runner import run_missing

    os.environ["TTY_COMPATIBLE"] = "0"  # several on one terminal write lines, not bars over each other's
    run_missing(make_cells(cfg.of, list(cfg.words)), make_console())


def act(campaign: Campaign, show: Callable[[Campaign, Console], None]) -> None:
    """Do what was asked for: plan; or run, then show; or show.

    Raises:
        UserError: at the end, when cells have failed.
    """
    from lra.commands.console import make_console

    console = make_console()
    if campaign.settings.what == "plan":
        from lra.commands.plan import print_plan

        print_plan(console, campaign)
        return
    if campaign.settings.what == "show":
        show(campaign, console)
        return
    outcome = campaign.run(console)
    console.print(f"\n{outcome.finished} of {len(campaign.cells)} cells finished")
    for folder, error in outcome.failed.items():
        console.print("[red]failed[/]  ", end="")
        console.print(f"{error}\n        {folder}", markup=False)
    show(campaign, console)
    if outcome.failed:
        raise UserError(f"{len(outcome.failed)} cells failed; the same command tries them again")


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
