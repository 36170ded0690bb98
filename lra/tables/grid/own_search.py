"""The search that a sweep's file brings: `lra table run` runs its trials first, then the cells with what was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.console import Console

from lra.base.overrides import Overrides
from lra.base.paths import conf_names
from lra.settings.command_options import OverRuns
from lra.settings.compose import load_config, search_of_sweep, sweep_params
from lra.settings.run_config import ATTENTION
from lra.settings.several_values import ALL, METHODS, spell_out_all
from lra.tables.grid.run_set import ACTIONS, own_names, read_run_set, uses_own_search

if TYPE_CHECKING:  # slow: it imports torch
    from lra.tables.grid.plan import Plan

KEPT = ("workers", "workers_per_device", "budget")  # options of the verb that the search takes too
OF_THE_TABLE = ("sweep", "seed", "run_group")  # the search has its own


def search_first(verb: str, arguments: Sequence[str], console: Console, *, swept: str = "") -> Plan | None:
    """Run, or plan, the trials that a sweep's file brings, where `run` or `plan` was typed and some have not ended.

    `swept` is the subcommand after `lra sweep`, see `read_run_set`.

    Returns:
        The plan of the search; None where the cells themselves can follow: all trials have ended, or there is no such
        search.
    """
    typed = _arguments_of_search(verb, arguments, swept)
    if typed is None:
        return None
    action, *_ = arguments
    run_set = read_run_set("tune", typed, searched_for=f"{verb} {swept}".strip())
    left = [cell for cell in run_set.cells if not cell.ended]
    if not left:
        return None
    budget, kinds = run_set.options.budget, {cell.without_point for cell in run_set.cells}
    console.print(
        f"first the search: {budget} trials for each of {len(kinds)} methods and tasks, the same points for all"
        f" ({run_set.options.sweep}); {len(left)} are left"
    )
    if action == "plan":
        from lra.tables.grid.plan import make_plan

        return make_plan(console, run_set)
    run_set.run(console)
    console.print("\nthe search is over; now the cells with the best rate of each")
    return None


def _arguments_of_search(verb: str, arguments: Sequence[str], swept: str) -> list[str] | None:
    """Make the arguments of `lra tune` for the search of what was typed; None: there is none, or nothing is to run."""
    options = OverRuns.view(load_config(verb))
    has_action = bool(arguments) and arguments[0] in ACTIONS
    action, typed = arguments[0] if has_action else options.what, Overrides(arguments[has_action:])
    if action == "show":
        return None
    options = options.changed({"sweep": next(iter(typed.texts("sweep")), swept or options.sweep)})
    if options.sweep not in conf_names("sweep") or not uses_own_search(options, typed):
        return None  # what is wrong with a name is said when it is read
    values = {each.signed_key: each.text for each in typed if each.has_value}
    brought = {**_of_every_trial(options.sweep, typed), **search_of_sweep(options.sweep)}
    brought["protocol"] = load_config("train", [f"sweep={options.sweep}"]).protocol.name
    search = values.get("search", brought.pop("search"))
    others_own = {*own_names(verb)} - {*KEPT}
    added = [f"{key}={value}" for key, value in brought.items() if key not in values]
    kept = [*typed.without(*OF_THE_TABLE, *others_own), *added]
    return [action, f"sweep={search}", *spell_out_all(options.sweep, kept)]


def _of_every_trial(sweep: str, typed: Overrides) -> dict[str, str]:
    """What a sweep's file varies beside seeds; not its methods, where others are typed or it names all of them."""
    params = {key: values for key, values in sweep_params(sweep).items() if key not in OF_THE_TABLE}
    has_methods = params.get(ATTENTION) == ALL or typed.only(*METHODS)
    return {key: values for key, values in params.items() if not (has_methods and key in METHODS)}
