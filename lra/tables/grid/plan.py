"""The plan of a sweep: which cells are finished, and the time and memory that the others need."""

import json
from collections import defaultdict
from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from rich.console import Console

from lra.base.checked_json import parsed_json
from lra.base.files import read_file, replace_text
from lra.base.text import duration_text, size_text, time_text
from lra.from_config.machine_and_loggers import device_name
from lra.from_config.store import is_prepared
from lra.tables.grid.cell import Cell
from lra.tables.grid.estimate import Estimate
from lra.tables.grid.measurer import measure_each
from lra.tables.grid.processes_at_once import Measured, Proposal, propose
from lra.tables.grid.run_set import RunSet
from lra.tables.seeds_needed import SeedsNeeded
from lra.terminal.console import work_progress
from lra.terminal.fit_table import wrapped
from lra.types import UserError

CACHE = "plan.json"  # in the run group's folder; keeps estimates, so that the next plan shows the same at once


@dataclass(frozen=True, kw_only=True)
class PlannedKind:
    """Cells of one kind: they differ by the seed alone, or by the point of a search.

    Attributes:
        cells: all of them.
        missing: those that have not ended.
        measured: the hours that the missing ones need, and the estimate of one; None without missing ones.
        problem: why the missing ones could not be measured.
    """

    cells: list[Cell]
    missing: list[Cell]
    measured: Measured | None = None
    problem: UserError | None = None

    @property
    def name(self) -> str:
        """Task and method, such as `listops/nystrom`."""
        return _name(self.cells)

    @property
    def notes(self) -> list[str]:
        """How its numbers differ from a measurement, or why there are none, and the states of begun cells."""
        notes = [f"cannot be measured: {self.problem}"] if self.problem else []
        if self.measured is not None and self.measured.estimate.note:
            notes = [self.measured.estimate.note]
        return [*notes, *_states(self.missing)]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Which cells are finished, and the time and memory that the others need; the lines of the kinds are printed.

    Attributes:
        run_set: the cells.
        kinds: what is known of each kind of cells.
        proposal: how many cells to run at a time; None where no more than one is left, or nothing could be measured.
        command: the command that runs the missing cells.
        seeds_needed: how many seeds a difference of one point would need, by task, of the verb that says so.
    """

    run_set: RunSet
    kinds: list[PlannedKind]
    proposal: Proposal | None
    command: str
    seeds_needed: dict[str, SeedsNeeded] = field(default_factory=dict)

    @property
    def count_missing(self) -> int:
        """Number of cells to run."""
        return sum(len(kind.missing) for kind in self.kinds)

    @property
    def count_unknown(self) -> int:
        """Number of those that could not be measured."""
        return sum(len(kind.missing) for kind in self.kinds if kind.measured is None)

    def show(self, console: Console) -> None:
        """Print what follows the lines of the kinds and their sum."""
        if self.proposal is not None:
            console.print(self.proposal.text)
        if (verb := self.run_set.searched_for) is not None:
            console.print(f"then the cells, whose steps take as long; lra {verb} run does both")
        for needed in self.seeds_needed.values():
            console.print(needed.note)


def make_plan(console: Console, run_set: RunSet) -> Plan:
    """Measure; print a line for each kind of cell as soon as it is measured, then the sum.

    A line has the finished cells, and time and memory of the missing ones. Measuring has a bound in time, see
    `lra.tables.grid.measurer`; what was measured in part is extrapolated, and its line says so.
    """
    by_kind: dict[object, list[Cell]] = defaultdict(list)
    for cell in run_set.cells:
        by_kind[cell.kind].append(cell)
    width = max(len(_name(cells)) for cells in by_kind.values())
    console.print(f"{len(run_set.cells)} cells in {run_set.group}")
    head = _line(width, "cell", "seeds", "done", "s/step", "memory", "time left")
    console.print(head, style="bold")
    console.print("─" * len(head))
    kinds: list[PlannedKind] = []
    missing_of = [[cell for cell in cells if not cell.ended] for cells in by_kind.values()]
    estimates = _estimates([missing[0] if missing else None for missing in missing_of], run_set.group / CACHE)
    with work_progress(console, len(by_kind)) as advance, closing(estimates):
        for index, (cells, missing) in enumerate(zip(by_kind.values(), missing_of, strict=True)):
            advance(f"measuring {_name(cells)}", min(index, 1))
            kinds.append(_planned(cells, missing, next(estimates)))
            _print_kind(console, width, kinds[-1])
    plan = Plan(run_set=run_set, kinds=kinds, proposal=None, command=run_set.typed_command("run"))
    _print_sum(console, plan)
    measured = [kind.measured for kind in kinds if kind.measured is not None]
    return replace(plan, proposal=propose(run_set, measured)) if plan.count_missing > 1 and measured else plan


def _planned(cells: list[Cell], missing: list[Cell], estimate: Estimate | UserError | None) -> PlannedKind:
    if not isinstance(estimate, Estimate):
        return PlannedKind(cells=cells, missing=missing, problem=estimate)
    hours = sum(estimate.seconds(cell.cfg, done_steps=cell.run.last_step) for cell in missing) / 3600
    return PlannedKind(cells=cells, missing=missing, measured=Measured(hours, missing[0], estimate))


def _print_kind(console: Console, width: int, kind: PlannedKind) -> None:
    """Print the line of one kind of cells."""
    cells, missing, numbers = kind.cells, kind.missing, ["–"] * 3
    if kind.measured is not None:
        hours, _, estimate = kind.measured
        numbers = [f"{estimate.step_seconds:.3f}", size_text(estimate.peak_memory_bytes), time_text(3600 * hours)]
    seeds = ",".join(str(cell.cfg.seed) for cell in cells if not cell.trial)
    line = _line(width, kind.name, seeds, f"{len(cells) - len(missing)} of {len(cells)}", *numbers)
    notes_text = "; ".join(kind.notes)
    whole = f"{line}  {notes_text}".rstrip()
    if console.is_terminal and len(whole) > console.width:  # the notes on lines of their own, broken between words
        whole = "\n".join([line, *wrapped(f"  {notes_text}", console.width)])
    console.print(whole, style="red" if missing and kind.measured is None else None)


def _print_sum(console: Console, plan: Plan) -> None:
    """Print the time that all missing cells need, what it means, and the command that runs them."""
    measured = [kind.measured for kind in plan.kinds if kind.measured is not None]
    if any(each.is_extrapolated for each in measured):
        console.print(
            "extrapolated: the steps were of shorter sequences; their time is scaled by the counted FLOPs, a quadratic"
            " function of the length, and their memory by the length."
        )
    if any(cell.cfg.is_pretrained for kind in plan.kinds for cell in kind.missing):
        console.print("pretraining: its steps are counted in, and taken to be as long as those after it.")
    unknown = plan.count_unknown
    but = f" ({unknown} that could not be measured are not counted)" if unknown else ""
    console.print(
        f"{plan.count_missing} cells to run, {duration_text(3600 * sum(each.hours for each in measured))} on"
        f" {device_name(plan.run_set.cells[0].cfg)} one after the other{but}, dev passes and tests counted in;"
        " preparing data is not." + (f"\nRun them: {plan.command}" if plan.count_missing else "")
    )


def _name(cells: list[Cell]) -> str:
    return f"{cells[0].cfg.task.name}/{cells[0].method}"


def _line(width: int, name: str, *columns: str) -> str:
    widths = (7, 6, 7, 9, 10)
    return f"{name:<{width}}" + "".join(f"  {text:>{size}}" for text, size in zip(columns, widths, strict=True))


def _estimates(cells: Sequence[Cell | None], cache: Path) -> Generator[Estimate | UserError | None, None, None]:
    """Yield the estimate of each cell, from the cache or as soon as it is measured, or why it could not be; None: None.

    Once data is prepared, an upper bound is not used.
    """
    known = _read_cache(cache)
    keys = ["" if cell is None else _key(cell) for cell in cells]
    whole = {each.name for each in fields(Estimate)}  # others are from another version
    to_measure = [index for index, key in enumerate(keys) if key and known.get(key, {}).keys() != whole]
    measured = measure_each([cell.cfg for cell in (cells[index] for index in to_measure) if cell is not None])
    for index, key in enumerate(keys):
        if not key:
            yield None
        elif index not in to_measure:
            yield Estimate(**known[key])
        else:
            estimate = next(measured)
            if isinstance(estimate, Estimate):
                known[key] = asdict(estimate)
                cache.parent.mkdir(parents=True, exist_ok=True)
                replace_text(cache, json.dumps(known, indent=2) + "\n", shared=True)
            yield estimate


def _key(cell: Cell) -> str:
    prepared = "prepared" if is_prepared(cell.cfg) else "bound"
    return f"{cell.run.folder.parent.name}, {device_name(cell.cfg)}, {prepared}"


def _states(cells: list[Cell]) -> list[str]:
    """Word the state of each unfinished seed that has started: running, begun or failed."""
    states = []
    for cell in cells:
        failure, steps = cell.run.failure, cell.run.last_step
        if cell.run.locked:
            states.append(f"{cell.which} running, step {steps:,}")
        elif failure is not None:
            states.append(f"{cell.which} failed: {failure.error}")
        elif steps:
            states.append(f"{cell.which} begun, step {steps:,}")
    return states


def _read_cache(path: Path) -> dict[str, dict[str, Any]]:
    """Read the estimates by kind and device; an unreadable cache counts as empty."""
    try:
        known = parsed_json(read_file(path), path, "") if path.exists() else {}
    except UserError:
        return {}
    return {key: value for key, value in known.items() if isinstance(value, dict)} if isinstance(known, dict) else {}
