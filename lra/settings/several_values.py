"""Overrides that stand for several runs: `seed=0,1`, `all` in place of names, and what a sweep's file varies."""

import itertools
from collections.abc import Iterable, Mapping, Sequence

from hydra.core.override_parser.overrides_parser import OverridesParser

from lra.base.paths import conf_names
from lra.base.printed_commands import command, override
from lra.base.probes import probe_named
from lra.settings.compose import sweep_params
from lra.settings.method import ATTENTION
from lra.types import UserError

ALL = "all"  # in place of a name: every name of the group
METHODS = (f"{ATTENTION}=", "mixer=", "model=")


def one_by_one(override: str) -> list[str]:
    """Split an override with several values: `seed=0,1` into `seed=0` and `seed=1`."""
    parsed = OverridesParser.create().parse_override(override)
    if not parsed.is_sweep_override():
        return [override]
    key = override.split("=")[0]  # with its `+`
    return [f"{key}={value}" for value in parsed.sweep_string_iterator()]


def spell_out_all(sweep: str, overrides: Sequence[str]) -> list[str]:
    """Replace `task=all`, `attention=all` and `mixer=all` by all names: first those of the sweep's file, in its order.

    `attention=all` is every attention and, unless mixers are typed too, every other mixer. The sweep's file may say it
    too; an attention or a mixer that is typed takes its place.
    """
    if sweep_params(sweep).get(ATTENTION) == ALL and not any(text.startswith(METHODS) for text in overrides):
        overrides = [*overrides, f"{ATTENTION}={ALL}"]
    asked = [group for group in ("task", ATTENTION, "mixer") if f"{group}={ALL}" in overrides]
    others = [override for override in overrides if override not in {f"{group}={ALL}" for group in asked}]
    if ATTENTION in asked and not any(override.startswith("mixer=") for override in overrides):
        asked.append("mixer")
    return [*others, *(f"{group}={','.join(_all_names(sweep, group))}" for group in asked)]


def refuse_all_of_sweep(overrides: Sequence[str]) -> None:
    """Refuse a sweep for `lra train` whose file says `attention: all`, which Hydra would look for by that name.

    Raises:
        UserError: with the command that spells it out, and searches for a rate first where the file brings a search.
    """
    sweep = next((text.removeprefix("sweep=") for text in overrides if text.startswith("sweep=")), None)
    if sweep in conf_names("sweep") and sweep_params(sweep).get(ATTENTION) == ALL:
        if "hydra.mode=RUN" in overrides or any(text.startswith(METHODS) for text in overrides):
            return
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


def varied_and_fixed(sweep: str, overrides: Sequence[str]) -> tuple[dict[str, str], list[str]]:
    """Split what a sweep's file and the user set into what is varied, as typed by key, and overrides of every cell.

    A key that the file varies counts as varied with a single value too. So do `mixer`, to which self-attention may be
    added, and `budget`, which a search takes out.
    """
    params = sweep_params(sweep)
    fixed = [f"sweep={sweep}", "hydra.mode=RUN"]
    for parsed in OverridesParser.create().parse_overrides(list(overrides)):
        if parsed.is_sweep_override() or parsed.key_or_group in (*params, "mixer", "budget"):
            key, values = str(parsed.input_line).split("=", 1)  # the key with its `+`
            params[key] = values
        else:
            fixed.append(str(parsed.input_line))
    return params, fixed


def mixers_beside_attentions(varied: Mapping[str, str], overrides: Sequence[str]) -> dict[str, str]:
    """Add self-attention to the mixers that are varied, where the user has typed attentions too."""
    params = dict(varied)
    if "mixer" in params and any(override.startswith(("attention=", "attention.")) for override in overrides):
        params["mixer"] = f"{ATTENTION},{params['mixer']}"
    return params


def combined(varied: Mapping[str, str], fixed: Sequence[str]) -> list[tuple[str, ...]]:
    """List the overrides of each run: all combinations of what is varied; the first key changes slowest."""
    axes = [one_by_one(f"{key}={values}") for key, values in varied.items()]
    runs: dict[tuple[str, ...], None] = {}  # no two alike
    for chosen in itertools.product(*axes):
        groups_first = sorted(chosen, key=lambda override: "." in override.split("=")[0])
        runs[tuple(_without_ineffective([*fixed, *groups_first]))] = None
    return list(runs)


def _without_ineffective(overrides: list[str]) -> list[str]:
    """Drop overrides without effect: `mixer.` ones of self-attention, `attention` ones of any other mixer.

    Otherwise a mixer would be run once for each attention. `pretrain.` ones of runs without it are dropped, too.
    """
    if "pretrain=none" in overrides:
        overrides = [override for override in overrides if not override.startswith("pretrain.")]
    mixer = next((override.split("=")[1] for override in overrides if override.startswith("mixer=")), ATTENTION)
    if mixer == ATTENTION:
        return [override for override in overrides if not override.startswith("mixer.")]
    return [override for override in overrides if not override.startswith(ATTENTION)]


def options_in(overrides: Iterable[str]) -> str:
    """Name the options of an attention or a mixer among some overrides, such as ` num_landmarks=16`."""
    options = [override for override in overrides if override.startswith(("attention.", "mixer."))]
    return "".join(f" {override.split('.', 1)[1]}" for override in options)
