"""The outcomes of a search's trials, and `recipe=tuned`: the cells of a sweep with the best configuration of each."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from lra.base.overrides import Overrides
from lra.base.printed_commands import command, override, quoted_for_hydra, typed_config_dirs
from lra.runs.schema import Record
from lra.settings.compose import load_config
from lra.tables.grid.cell import Cell, key_of_run, make_cells, space_of, trials, without_drawn
from lra.tables.grid.space import Space
from lra.tables.tuning import Search, Trial
from lra.types import UserError

TUNED = "recipe=tuned"
OF_A_TABLE = ("seed", "run_group")  # what a trial has of its own


def make_tuned_cells(sweep: str, overrides: Overrides) -> list[Cell]:
    """Build the cells of a sweep with `recipe=tuned`, `search=` and `budget=`: each has its method's best point.

    The point is chosen among the trials of `lra tune` with the same other settings.

    Raises:
        UserError: for trials that have not ended, a method whose trials all failed, and a seed of the trials.
    """
    options = {each.key: each.text for each in overrides.only("search", "budget")}
    rest = Overrides(each for each in overrides if each != TUNED).without(*options)
    search, budget = options["search"], int(options["budget"])
    space = space_of(search, rest.without("seed"))
    group = load_config("train", [f"sweep={search}"]).run_group
    cells = make_cells(sweep, without_drawn(rest))
    seed = next((cell.which for cell in cells if cell.choice("seed") == str(space.seed)), None)
    if seed is not None:
        line = f"{seed} has chosen the configurations, so a table cannot have it; type other seeds, as seed=0,1,2"
        raise UserError(line, kind="wrong_value", key="seed", value=space.seed)
    by_method: dict[Overrides, list[Cell]] = defaultdict(list)
    for cell in cells:
        by_method[cell.overrides.without(*OF_A_TABLE)].append(cell)
    best: dict[Cell, Overrides] = {}
    for typed, of_method in by_method.items():
        of_trials = Overrides([*typed, f"run_group={group}", f"seed={space.seed}"])
        tried = trials([Cell(overrides=of_trials)], space, budget)
        (found,) = searches_of(tried, [record for cell in tried if (record := cell.run.record)])
        if found.best is None or len(found.trials) < budget:
            raise _unfinished(found, group, rest, options)
        point = tried[found.best.number].point
        best |= dict.fromkeys(of_method, Overrides([*point, _as_override(space, budget, found.tried)]))
    return [replace(cell, overrides=Overrides([*cell.overrides, *best[cell]]), point=best[cell]) for cell in cells]


def _as_override(space: Space, budget: int, tried: int) -> str:
    """Write what the record of a tuned run says of the search."""
    options = ",".join(f"{key.lstrip('+')}:{quoted_for_hydra(drawn)}" for key, drawn in space.options.items())
    return f"tuned={{space:'{space.hash}',options:{{{options}}},seed:{space.seed},budget:{budget},tried:{tried}}}"


def _unfinished(search: Search, group: str, overrides: Overrides, options: dict[str, str]) -> UserError:
    name = f"{search.task}/{search.method}"
    typed = overrides.without(*OF_A_TABLE, "sweep")
    sweep = [override("sweep", options["search"])] * (options["search"] != "tune")
    of_search = [*typed_config_dirs(), *typed, *sweep, override("budget", search.budget)]
    if len(search.trials) == search.budget:
        right = command("tune show", *of_search)
        line = f"recipe=tuned: all {search.budget} trials of {name} failed; why says: {right}"
        return UserError(line, kind="no_records", key="recipe", value=name, right=right)
    right = command("tune run", *of_search)
    line = f"recipe=tuned: {search.budget - len(search.trials)} of {search.budget} trials of {name} have not ended in"
    return UserError(
        f"{line} run group {group}; type {right}", kind="no_records", key="recipe", value=name, right=right
    )


def searches_of(trials: Sequence[Cell], records: Iterable[Record]) -> list[Search]:
    """Tell what has become of the trials of a search, by method and task, in the order of the cells.

    Their results are among `records`; why a trial failed is read from its folder.
    """
    finished = {key_of_run(record): record for record in records}
    cells: dict[Overrides, list[Cell]] = defaultdict(list)
    for cell in trials:
        cells[cell.without_point].append(cell)
    return [
        Search(
            method=of_method[0].method,
            task=of_method[0].choice("task"),
            budget=len(of_method),
            trials=[trial for cell in of_method if (trial := _outcome(cell, finished)) is not None],
        )
        for of_method in cells.values()
    ]


def _outcome(cell: Cell, finished: Mapping[tuple[str, int], Record]) -> Trial | None:
    """Make the trial of a cell; None if it has not ended."""
    record = finished.get(cell.key)
    failure = None if record else cell.run.failure
    if record is None and failure is None:
        return None
    assert cell.trial is not None
    return Trial(
        number=cell.trial,
        configuration=cell.run.folder.parent.name,
        point={each.signed_key: each.text for each in cell.point},
        accuracy=record.best_dev_accuracy if record else None,
        error=failure.error if failure else None,
    )
