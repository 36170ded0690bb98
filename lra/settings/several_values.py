"""Overrides that stand for several runs: `seed=0,1`, `all` in place of names, and what a sweep's file varies."""

from collections.abc import Iterable, Mapping, Sequence

from lra.base.overrides import Overrides
from lra.base.paths import conf_names
from lra.base.printed_commands import command, override, typed_command
from lra.base.probes import probe_named
from lra.settings.compose import sweep_params
from lra.settings.override_values import parse, product_of
from lra.settings.run_config import ATTENTION
from lra.types import UserError

ALL = "all"  # in place of a name: every name of the group
ONE_OF_SEVERAL = "hydra.mode=RUN"  # typed for one run of a sweep, whose overrides were checked together
METHODS = (ATTENTION, "mixer", "model")  # config groups that can name a row's method


def spell_out_all(sweep: str, overrides: Iterable[str]) -> Overrides:
    """Replace `task=all`, `attention=all` and `mixer=all` by all names: first those of the sweep's file, in its order.

    `attention=all` is every attention and, unless mixers are typed too, every other mixer. The sweep's file may say it
    too; an attention or a mixer that is typed takes its place.
    """
    typed = Overrides(overrides)
    if sweep_params(sweep).get(ATTENTION) == ALL and not typed.only(*METHODS):
        typed = Overrides([*typed, f"{ATTENTION}={ALL}"])
    asked = [group for group in ("task", ATTENTION, "mixer") if f"{group}={ALL}" in typed]
    others = [each for each in typed if each not in {f"{group}={ALL}" for group in asked}]
    if ATTENTION in asked and not typed.only("mixer"):
        asked.append("mixer")
    return Overrides([*others, *(f"{group}={','.join(_all_names(sweep, group))}" for group in asked)])


def refuse_action_behind(full_verb: str, overrides: Iterable[str], actions: Sequence[str]) -> None:
    """Refuse an action, such as `show`, that is typed behind overrides of a verb over many runs.

    Raises:
        UserError: with the command in which it stands before them.
    """
    behind = next((each for each in overrides if each in actions), None)
    if behind is not None:
        verb, *subcommand = full_verb.split()
        right = typed_command(verb, without=actions, flags=[*subcommand, behind])
        raise UserError(f"{behind!r} stands before the overrides; type: {right}", kind="unknown_option", right=right)


def refuse_all_of_sweep(overrides: Overrides) -> None:
    """Refuse a sweep for `lra train` whose file says `attention: all`, which Hydra would look for by that name.

    Raises:
        UserError: with the command that spells it out, and searches for a rate first where the file brings a search.
    """
    sweep = overrides.get("sweep")
    if ONE_OF_SEVERAL in overrides or overrides.only(*METHODS):
        return
    if sweep in conf_names("sweep") and sweep_params(sweep).get(ATTENTION) == ALL:
        right = command("table run", override("sweep", sweep))
        raise UserError(f"sweep={sweep} is a table of every method; type {right}", kind="wrong_value", right=right)


def _all_names(sweep: str, group: str) -> list[str]:
    """Names of a group's choices; self-attention is no mixer among them: it stands for the attentions.

    Of tasks those of the sweep's kind, probes or others: no table has both.
    """
    first = sweep_params(sweep).get(group, "").split(",")
    names = conf_names(group)
    if group == "task":
        names = [name for name in names if probe_named(name) is probe_named(first[0])]
    return [name for name in dict.fromkeys([*first, *names]) if name not in ("", ALL, ATTENTION)]


def varied_and_fixed(sweep: str, overrides: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    """Split what a sweep's file and the user set into what is varied, as typed by key, and overrides of every cell.

    A key that the file varies counts as varied with a single value too. So do `mixer`, to which self-attention may be
    added, and `budget`, which a search takes out.
    """
    params = sweep_params(sweep)
    fixed = [f"sweep={sweep}", ONE_OF_SEVERAL]
    for each in Overrides(overrides):
        if parse(each).is_sweep_override() or each.key in (*params, "mixer", "budget"):
            params[each.signed_key] = each.text
        else:
            fixed.append(each)
    return params, fixed


def mixers_beside_attentions(varied: Mapping[str, str], overrides: Iterable[str]) -> dict[str, str]:
    """Add self-attention to the mixers that are varied, where the user has typed attentions too."""
    params = dict(varied)
    if "mixer" in params and Overrides(overrides).of_groups(ATTENTION):
        params["mixer"] = f"{ATTENTION},{params['mixer']}"
    return params


def combined(varied: Mapping[str, str], fixed: Iterable[str]) -> list[Overrides]:
    """List the overrides of each run: all combinations of what is varied; the first key changes slowest."""
    fixed = list(fixed)
    runs: dict[Overrides, None] = {}  # no two alike
    for chosen in product_of(f"{key}={values}" for key, values in varied.items()):
        groups_first = sorted(chosen, key=lambda each: "." in each.key)
        runs[_without_ineffective(Overrides([*fixed, *groups_first]))] = None
    return list(runs)


def _without_ineffective(overrides: Overrides) -> Overrides:
    """Drop overrides without effect: `mixer.` ones of self-attention, `attention` ones of any other mixer.

    Otherwise a mixer would be run once for each attention. `pretrain.` ones of runs without it are dropped, too.
    """
    if "pretrain=none" in overrides:
        overrides = overrides.without("pretrain.")
    if next(iter(overrides.texts("mixer")), ATTENTION) == ATTENTION:
        return overrides.without("mixer.")
    return overrides.without(ATTENTION, f"{ATTENTION}.")


def options_in(overrides: Overrides) -> str:
    """Name the options of an attention, a mixer or a task's data among some overrides, such as ` num_landmarks=16`."""
    of_method = [each.partition(".")[2] for each in overrides.only(f"{ATTENTION}.", "mixer.")]
    of_data = [f"{each.key.rpartition('.')[2]}={each.text}" for each in overrides.only("task.sizes.")]
    return "".join(f" {option}" for option in (*of_method, *of_data))
