"""A set of runs: one call of `lra table`, `lra sweep`, `lra compare` or `lra tune`, with its cells and records."""

from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

from rich.console import Console

from lra.base.option_types import check_choice
from lra.base.overrides import Override, Overrides
from lra.base.paths import conf_names
from lra.base.printed_commands import command, override, shell_word, typed_command, typed_config_dirs
from lra.base.signals import Stopped
from lra.base.text import visible
from lra.runs.collection import collect
from lra.runs.groups import PUBLISHED
from lra.runs.published_numbers import REFERENCES
from lra.runs.schema import Record
from lra.settings.application import ONE_RUN_FLAGS
from lra.settings.check import check_config
from lra.settings.check_overrides import check_overrides
from lra.settings.command_options import OverRuns
from lra.settings.compose import load_config, search_of_sweep, sweep_params
from lra.settings.group_to_read import no_records, typed_text, with_group_found
from lra.settings.override_values import one_by_one
from lra.settings.several_values import METHODS, refuse_action_behind, spell_out_all
from lra.settings.unknown_option import unknown_flag
from lra.tables.grid.cell import Cell, key_of_run, space_of, without_drawn
from lra.tables.grid.equal_steps import FROM_SCRATCH, cells_of
from lra.tables.grid.space import Space
from lra.tables.grid.tuned import TUNED
from lra.terminal.console import check_out, make_console, work_progress
from lra.terminal.figure_file import check_figure
from lra.types import UserError

ACTIONS = ("plan", "run", "show")
ONE_FOR_A_TABLE = ("run_group", "protocol", "size")
FORMATS = ("terminal", "markdown", "csv", "latex", "wandb")
Unfinished = dict[str, list[Cell]]  # by method


class RunSet:
    """The runs of one call of one of these verbs; `read_run_set` makes it from what was typed.

    Args:
        command: the verb, with `landmarks` or `window` after `sweep`.
        typed: what was typed after the verb, but for the action.
        options: the verb's own options, as in `conf/VERB.yaml`.
        launcher: overrides of the Hydra launcher.
        sweeps: the overrides of every run, by the name of the sweep that brings the others.
        searched_for: the typed verb with its subcommand, where these are the trials of the search that it begins with.

    Attributes:
        group_records: all records of the run group that `records` has read.
        problems: a line for each record in it that is broken.
        shows_a_part: whether `records` has left out methods or seeds of a task that is shown.
        shows_nothing: whether `records` has found nothing to show among them.
    """

    def __init__(
        self,
        command: str,
        typed: Overrides,
        options: OverRuns,
        launcher: Overrides,
        sweeps: dict[str, Overrides],
        *,
        searched_for: str | None = None,
    ):
        self.command, self.verb, self.options, self.launcher = command, command.split()[0], options, launcher
        self.sweeps, self._typed, self._overrides = sweeps, typed, sweeps[options.sweep]
        self.searched_for = searched_for
        self.group_records: list[Record] = []
        self.problems: list[str] = []
        self.shows_a_part = self.shows_nothing = False
        self.cells: list[Cell] = []
        for sweep, overrides in sweeps.items():
            self.cells += cells_of(sweep, overrides)

    @property
    def group(self) -> Path:
        """The cells' run group: a folder of runs, or a file of published records."""
        cfg = self.cells[0].cfg
        return cfg.paths.runs / str(cfg.run_group)

    def typed_command(self, action: str, *changes: str, without: Sequence[str] = ()) -> str:
        """Word the command that was typed, with another action, and with overrides in place of some that were typed."""
        verb, *subcommand = (self.searched_for or self.command).split()
        flags = [*subcommand, action]
        return typed_command(verb, *changes, without=[*ACTIONS, *without], flags=flags)

    def run_command(self) -> str:
        """Word the command that runs these runs; those of a group that is only read would be of the usual one."""
        name, typed = str(self.cells[0].cfg.run_group), typed_text("run_group", self._typed)
        is_read_only = self.group.suffix == PUBLISHED or typed not in (None, name)  # a path, or the project's records
        return self.typed_command("run", without=["run_group"] if is_read_only else [])

    def space(self) -> Space:
        """The space that these runs are drawn from."""
        return space_of(self.options.sweep, self._overrides)

    def run(self, console: Console) -> None:
        """Run the missing cells, in `workers=` processes or with a Hydra launcher if the user typed one."""
        from lra.tables.grid.cell_monitor import CellMonitor, first_line
        from lra.tables.grid.gpu_places import gpus_of_workers
        from lra.tables.grid.runner import run_missing  # not for `show`
        from lra.tables.grid.workers import start_workers

        workers = self.options.workers
        visible_gpus = gpus_of_workers(
            self.cells, workers=workers, workers_per_device=self.options.workers_per_device, launcher=self.launcher
        )
        console.print(first_line(self.cells, self.group))
        try:
            with CellMonitor(self.cells, console, in_place=not self.launcher):
                if workers == 1 and not self.launcher:
                    run_missing(self.cells, console)
                else:
                    for sweep, overrides in self.sweeps.items():
                        start_workers(sweep, overrides, workers, self.launcher, console, visible_gpus=visible_gpus)
        except Stopped as stopped:
            stopped.kept = f"{self.count_finished()} are finished. The same command goes on from there."
            raise

    @property
    def finished(self) -> int:
        """Number of cells that have a record."""
        return sum(cell.run.finished for cell in self.cells)

    def count_finished(self) -> str:
        """Word how many cells have a record: `3 of 75 cells`."""
        return f"{self.finished} of {len(self.cells)} cells"

    def records(self) -> list[Record]:
        """Read the run group's valid records of this protocol and size.

        `task=`, `seed=`, `attention=`, `mixer=` and `model=` select among them where they are typed.
        """
        collection = collect(self.group)
        self.group_records, self.problems = collection.records, collection.problems
        alike = [record for record in collection.records if self.is_shown(record)]
        shown = [record for record in alike if self.names_method_and_seed(record)]
        if self.verb == "tune":
            runs = {cell.key for cell in self.cells}
            shown = [record for record in shown if key_of_run(record) in runs]
        tasks = {record.task for record in shown}
        self.shows_a_part = len(shown) < sum(record.task in tasks for record in alike)
        self.shows_nothing = not any(self.can_show(record) and self._has_task(record) for record in shown)
        return shown

    def _has_task(self, record: Record) -> bool:
        """Tell whether a record's task is shown."""
        return self.verb == "table" or record.task in self.tasks()

    def can_show(self, record: Record) -> bool:
        """Tell whether a record can be of the kind that the command shows, whatever its size, protocol and task."""
        if self.verb == "sweep":
            return record.method in self._choices["attention"]
        return self.verb != "tune" or record.seed == self.space().seed

    def names_method_and_seed(self, record: Record) -> bool:
        """Tell whether a record's task, method and seed are among those that were typed, where any were."""
        typed = {"attention" if key in METHODS else key for key in self.typed_keys} & {"task", "attention", "seed"}
        return all(str(dict(record.identity)[key]) in self._choices[key] for key in typed)

    @cached_property
    def _choices(self) -> dict[str, set[str]]:
        """The names of the tasks, methods and seeds of the cells."""
        return {key: {cell.choice(key) for cell in self.cells} for key in ("task", "attention", "seed")}

    @cached_property
    def typed_keys(self) -> set[str]:
        """The keys of the overrides that were typed, and of those that stand for them."""
        return self._typed.keys | self._overrides.keys

    def is_shown(self, record: Record) -> bool:
        """Tell whether a record has the size and the protocol of these runs."""
        identity, cfg = record.identity, self.cells[0].cfg
        return (identity["size"], identity["protocol"]) == (cfg.size.name, cfg.protocol.name)

    def typed_methods(self) -> list[str]:
        """The attentions, mixers and models of the cells in the order typed; none where no override names one."""
        typed = self._overrides.only(*METHODS)
        return list(dict.fromkeys(cell.choice("attention") for cell in self.cells)) if typed else []

    def unfinished(self, task: str, records: list[Record]) -> Unfinished:
        """Collect by method the cells of a task without a record among `records`, of this task."""
        by_names: dict[tuple[str, str], list[Record]] = defaultdict(list)
        for record in records:
            by_names[record.method, str(record.seed)].append(record)
        cells = self._cells_of(task)
        missing: Unfinished = {cell.method: [] for cell in cells}
        for cell in cells:
            failed = cell.trial is not None and cell.ended
            of_names = by_names[cell.choice("attention"), cell.choice("seed")]
            if not failed and not any(cell.typed_as(record) for record in of_names):
                missing[cell.method].append(cell)
        return {method: lacks for method, lacks in missing.items() if lacks}

    def unfinished_notes(self, task: str, unfinished: Unfinished) -> list[str]:
        """Word a note on the cells of a task that are not finished; none if each is."""
        lacking = [
            f"{name} {lacks[0].counted}{'s' * (len(lacks) > 1)} {', '.join(cell.number for cell in lacks)}"
            for name, lacks in unfinished.items()
        ]
        cells = len(self._cells_of(task))
        finished = cells - sum(map(len, unfinished.values()))
        done = f"{finished} of {cells} runs finished; not finished: {'; '.join(lacking)}."
        return [visible(done)] if lacking else []

    def _cells_of(self, task: str) -> list[Cell]:
        return [cell for cell in self.cells if cell.choice("task") == task]

    def tasks(self) -> list[str]:
        """The tasks of the cells, each once, in the order of the cells."""
        return list(dict.fromkeys(cell.choice("task") for cell in self.cells))


def read_run_set(
    verb: str,
    arguments: Sequence[str],
    *,
    swept: str = "",
    second_sweep: str | None = None,
    searched_for: str | None = None,
) -> RunSet:
    """Read what was typed after one of these verbs, and check it.

    The arguments are an action or none, then options of the verb (of `conf/VERB.yaml`), of the Hydra launcher, and
    overrides of every run. The cells of `second_sweep` are added, with the same overrides except those of `attention`.
    `swept` is the subcommand after `lra sweep`, and the sweep unless another is typed; `searched_for`: as in `RunSet`.

    Raises:
        UserError: for a wrong action, option or value.
    """
    flag = next((argument for argument in arguments if argument.startswith("-")), None)
    if flag in ("-m", "--multirun") or (flag and Override(flag).key in ONE_RUN_FLAGS):
        raise UserError(f"{flag} is not needed: several values multiply by themselves, as in seed=0,1,2")
    if flag:
        rest = arguments[arguments.index(flag) :]
        raise unknown_flag(rest, verb, f"{flag} is no flag of lra {verb}", load_config("train"), own_names(verb))
    has_action = bool(arguments) and not Override(arguments[0]).has_value
    full_verb = f"{verb} {swept}".strip()
    refuse_action_behind(full_verb, arguments[has_action:], ACTIONS)
    if arguments[:1] in (["plan"], ["run"]):  # what follows imports torch, and composes a configuration for each cell
        make_console().print("composing and checking the settings of the runs …")
    typed, of_verb = Overrides(arguments[has_action:]), own_names(verb)
    launcher = Overrides(each for each in typed if each.key.startswith(("hydra/", "hydra.")))
    sweep = typed.get("sweep")  # also a config group
    own = Overrides(each for each in typed.without("sweep") if each.signed_key in of_verb)
    others = Overrides(each for each in typed.without("sweep") if each not in (*own, *launcher))
    try:
        checked = check_overrides(verb, [*(f"what={action}" for action in arguments[:has_action]), *own], sweep=False)
    except UserError as error:
        if error.kind != "several_values":
            raise
        (several,) = own.only(str(error.key))[:1]
        line = f"{several} has several values, but lra {verb} takes one; type a command for each"
        raise error.reworded(line) from None
    options = OverRuns.view(load_config(verb, checked))
    if sweep:
        options = options.changed({"sweep": sweep})
    elif swept:
        options = options.changed({"sweep": swept})
    elif verb == "table":
        options = _of_family(options, typed)
    check_choice("sweep", options.sweep, conf_names("sweep"))
    if options.what == "show":
        others = with_group_found(others)
    brings_search = options.what in ACTIONS and uses_own_search(options, others)
    if brings_search:
        brought = {key: value for key, value in search_of_sweep(options.sweep).items() if key not in own.keys}
        options = options.changed({**brought, "budget": int(brought.get("budget", options.budget))})
    tuned = brings_search or (TUNED in others and options.has("search") and options.search is not None)
    if tuned:
        others = Overrides(each for each in others if each != TUNED)
    overrides = Overrides([f"sweep={options.sweep}", *spell_out_all(options.sweep, others)])
    overrides = check_overrides("train", overrides, sweep=True, classes=options.what != "show", own=of_verb)
    overrides = overrides.without("sweep")
    _check_options(full_verb, options)
    _check_one_table(verb, overrides)
    _check_search(verb, options, overrides, own, tuned=tuned)
    added = []
    if verb == "tune":
        added.append(f"budget={options.budget}")
    elif tuned:
        if not brings_search and overrides.get("run_group") is None:
            group_of_table = load_config("train", [f"sweep={options.sweep}"]).run_group
            added.append(f"run_group={group_of_table}_tuned")
        if options.what == "show":
            overrides = without_drawn(overrides)
        else:
            added += [TUNED, f"search={options.search}", f"budget={options.budget}"]
    if verb == "compare" and not tuned and "pretrain" in overrides.keys | sweep_params(options.sweep).keys():
        added.append(FROM_SCRATCH)
    overrides = Overrides([*overrides, *added])
    sweeps = {options.sweep: overrides}
    if second_sweep is not None:
        sweeps[second_sweep] = overrides.without("attention", "attention.")
    run_set = RunSet(full_verb, typed, options, launcher, sweeps, searched_for=searched_for)
    group = run_set.group
    if options.what != "show" and group.suffix == PUBLISHED:
        right = [run_set.typed_command("show"), run_set.typed_command(options.what, without=["run_group"])]
        line = f"run_group={run_set.cells[0].cfg.run_group} is a file of published records, which only show reads"
        line += f"; type: {right[0]}, or to run: {right[1]}"
        raise UserError(line, kind="wrong_value", key="run_group", right=right)
    if options.what == "show" and typed.get("run_group") is not None and not group.exists():
        raise no_records(f"{full_verb} show", group)
    cells = run_set.cells[:1] if options.what == "show" else run_set.cells  # `show` runs no cell
    with work_progress(make_console(), len(cells), in_pipe=options.what != "show") as advance:
        for cell in cells:
            check_config(cell.cfg, "train")
            advance(f"of the settings: {cell.choice('task')}/{cell.method}", 1)
    return run_set


def uses_own_search(options: OverRuns, overrides: Overrides) -> bool:
    """Tell whether the cells have what the search of their sweep's file has chosen; not with a recipe that is typed."""
    return options.has("search") and bool(search_of_sweep(options.sweep)) and overrides.get("recipe") is None


def own_names(verb: str) -> list[str]:
    """The options of a verb over many runs itself, in addition to those of its runs."""
    return load_config(verb).names


def _of_family(options: OverRuns, typed: Overrides) -> OverRuns:
    """Choose a protocol's own table, `conf/sweep/PROTOCOL_table.yaml`, and its published numbers, where it has some."""
    protocol = next(iter(typed.texts("protocol")), "")
    if f"{protocol}_table" not in conf_names("sweep"):
        return options
    reference = {"reference": protocol} if protocol in REFERENCES and typed.get("reference") is None else {}
    return options.changed({"sweep": f"{protocol}_table", **reference})


def _check_options(full_verb: str, options: OverRuns) -> None:
    verb, *subcommand = full_verb.split()
    if options.what not in ACTIONS:
        typed = [typed_command(verb, without=["what", options.what], flags=[*subcommand, action]) for action in ACTIONS]
        line = f"{options.what!r} is no action; type one of: {', '.join(typed)}"
        raise UserError(line, kind="unknown_choice", key="what", value=options.what, right=typed)
    check_config(options, verb)
    check_choice("format", options.format, FORMATS)
    check_out(options.out, "table.md")
    check_figure(options.figure)
    if options.format == "wandb" and options.out is not None:
        line = "format=wandb writes a W&B run and no file; leave out= or format=wandb out"
        raise UserError(line, kind="no_effect", key="out")
    if options.format == "wandb" and options.figure is not None:
        line = "format=wandb logs the figures to a W&B run; leave figure= or format=wandb out"
        raise UserError(line, kind="no_effect", key="figure")
    check_choice("reference", options.reference, REFERENCES)


def _check_search(verb: str, options: OverRuns, overrides: Overrides, own: Overrides, *, tuned: bool) -> None:
    """Refuse what only a search can have, elsewhere; a search that draws nothing; and a typed seed for its trials."""
    sweep = str(options.sweep)
    if verb != "tune":
        plain = without_drawn(overrides)
        of_search = [*own.only("search", "budget")]
        if of_search and tuned and options.what == "show":
            line = f"{of_search[0]} has no effect on show, whose rows name their searches; leave it out"
            raise UserError(line, kind="no_effect", key=of_search[0].key)
        of_search += [each for each in overrides if each not in plain]
        if of_search and not tuned:
            line = f"{of_search[0]} is of a search; type it with lra tune, or with recipe=tuned after that"
            raise UserError(line, kind="no_effect", key=of_search[0].key)
        check_choice("search", options.search or "tune", conf_names("sweep"))
        if space_of(sweep, plain).options:
            others = overrides.without("sweep", "seed", "run_group")
            right = command("tune run", *typed_config_dirs(), override("sweep", sweep), *others)
            line = f"sweep={sweep} is a space to search; type {right}"
            raise UserError(line, kind="no_effect", key="sweep", value=sweep, right=right)
        return
    seeds = overrides.texts("seed")
    if seeds:
        line = f"seed={seeds[0]}: all trials have the seed of conf/sweep/{sweep}.yaml, which is none of a table's;"
        line += " leave it out"
        raise UserError(line, kind="no_effect", key="seed")
    if not space_of(sweep, overrides).options:
        right = shell_word("recipe.optimizer.lr=tag(log, interval(1e-4, 1e-2))")
        line = f"sweep={sweep} has no interval to draw from; type for example {right}"
        raise UserError(line, kind="missing_option", key="sweep", value=sweep, right=right)


def _check_one_table(verb: str, overrides: Overrides) -> None:
    """Refuse overrides of the runs that are of one run, or that one table cannot show."""
    if any(text.replace(" ", "").lower() == "force=true" for text in overrides):
        raise UserError(
            f"force=true is of one run: lra {verb} never trains a finished one again; type it with that run's lra"
            " train, or another run_group="
        )
    for typed in overrides.only(*ONE_FOR_A_TABLE):
        if (several := one_by_one(typed))[1:]:
            right = [typed_command(verb, each) for each in several]
            line = f"{shell_word(typed)} names several, but a table has one; type a command for each:"
            line = f"{line} {', '.join(right)}"
            raise UserError(line, kind="several_values", key=typed.key, value=typed, right=right)
