"""The overrides of `lra bench attention`: its own options, and the methods to measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lra.base.option_types import check_choice
from lra.base.overrides import Override, Overrides
from lra.from_config import build_method
from lra.settings.check import check_config
from lra.settings.check_overrides import check_overrides
from lra.settings.command_options import BenchAttention
from lra.settings.compose import load_config
from lra.settings.run_config import ATTENTION, RunConfig
from lra.settings.several_values import combined, mixers_beside_attentions, options_in, spell_out_all, varied_and_fixed
from lra.settings.unknown_option import unknown_flag, unknown_own_option
from lra.terminal.console import check_out
from lra.terminal.figure_file import check_figure
from lra.types import UserError

if TYPE_CHECKING:
    from lra.tools.bench.methods import BenchMethod
    from lra.tools.bench.peers import Peer

BENCH_CONFIG = "bench_attention"
METHOD_GROUPS = (ATTENTION, "mixer", "protocol")  # their overrides choose the methods
READ_BY_SHOW = ("paths", "show", "n", "format", "out", "figure", "figure_columns")
MOST_LENGTH = 2**24
BENCH_FORMATS = ("terminal", "markdown", "csv")
OF_TABLE_1 = ("attention=nystrom", "attention.num_landmarks=32")  # of the paper, in addition to the default settings


def parse_overrides(typed: Sequence[str]) -> tuple[BenchAttention, Overrides]:
    """Split the overrides into the bench's options and those that choose methods.

    Raises:
        UserError: for the first wrong override.
    """
    defaults, overrides = load_config(BENCH_CONFIG), Overrides(typed)
    flag = next((index for index, each in enumerate(overrides) if each.startswith("-")), None)
    if flag is not None:
        problem = f"{overrides[flag]} is no flag of lra bench attention"
        raise unknown_flag(overrides[flag:], "bench", problem, defaults, METHOD_GROUPS)
    malformed = next((each for each in overrides if "=" not in each or each.startswith(("+", "~"))), None)
    if malformed:
        raise UserError(f"{malformed!r} is not key=value, as in: lra bench attention n=512,1024")
    of_methods = overrides.of_groups(*METHOD_GROUPS)
    of_bench = Overrides(_as_list(each) for each in overrides if each not in of_methods)
    unknown = next((each for each in of_bench if each.group not in defaults.names), None)
    if unknown:
        advice = f"also {', '.join(METHOD_GROUPS)} and their options; a training step of a task: lra bench step"
        raise unknown_own_option(BENCH_CONFIG, unknown, advice)
    cfg = BenchAttention.view(load_config(BENCH_CONFIG, check_overrides(BENCH_CONFIG, of_bench, sweep=False)))
    check_config(cfg, BENCH_CONFIG)
    lengths = list(cfg.n)
    wrong = [length for length in lengths if type(length) is not int or not 1 < length <= MOST_LENGTH]
    if wrong or not lengths:
        line = f"n={','.join(map(str, wrong))} is no list of whole numbers from 2 to {MOST_LENGTH:,}; type n=512,1024"
        raise UserError(line)
    check_choice("format", cfg.format, BENCH_FORMATS)
    if str(cfg.packed).lower() == "true" and cfg.device != "cpu":
        raise UserError("packed=true is for device=cpu, as in the encoder; type packed=auto")
    check_out(cfg.out, "bench.md")
    check_figure(cfg.figure)
    without_effect = [*of_methods, *(each for each in of_bench if each.group not in READ_BY_SHOW)]
    if cfg.show is not None and without_effect:
        raise UserError(
            f"{without_effect[0]} has no effect beside show=; type:"
            " lra bench attention show=runs/published/bench_attention.json n=2048"
        )
    return cfg, of_methods


def _as_list(typed: Override) -> str:
    """Read `n=512,1024` as a list."""
    return f"n=[{typed.text}]" if typed.key == "n" and not typed.text.startswith("[") else typed


def methods_to_measure(overrides: Overrides, *, packed: bool, peers: Sequence[Peer] = ()) -> list[BenchMethod]:
    """Build the methods: exact attention by both kernels, then those that were typed; by default all that there are.

    To all of them belongs what the paper's Table 1 has with other settings than the defaults.

    Several values of an option give several methods, as `attention.num_landmarks=32,64` does. Each of the `peers`
    brings the method of ours whose outputs equal its own.
    """
    from lra.tools.bench.methods import attention_method, mixer_method

    chosen, protocol = overrides.without("protocol") or ["attention=all"], overrides.only("protocol")
    words = ["sweep=compare", *spell_out_all("compare", chosen), *protocol]
    typed = check_overrides("train", words, sweep=True).without("sweep")
    by_attention = bool(typed.of_groups(ATTENTION))
    cfgs: dict[str, RunConfig] = {}  # by the method's name
    for kernel in ("fused", "math"):
        exact = ("attention=full", f"attention.kernel={kernel}", "attention.attention_dropout=0.0")
        cfgs[f"full {kernel}"] = load_config("train", [*exact, *protocol])
    known = [cfg.mixer_settings for cfg in cfgs.values()]
    all_typed = ["seed=0", *([] if by_attention else ["attention=full"]), *typed]
    varied, fixed = varied_and_fixed("compare", all_typed)
    for combination in combined(mixers_beside_attentions(varied, all_typed), fixed):
        cfg = load_config("train", combination)
        settings = cfg.mixer_settings
        # without dropout there is no other exact attention, so the two references stand for it
        if {**settings, "attention_dropout": 0.0} not in known and settings not in known:
            known.append(settings)
            cfgs[f"{cfg.method_name}{options_in(combination)}"] = cfg
    further = [peer.ours for peer in peers if peer.ours]
    if len(protocol) == len(overrides):  # all that there are
        further.append((*OF_TABLE_1, *protocol))
    for method_overrides in further:
        cfg = load_config("train", method_overrides)
        if cfg.mixer_settings not in known:
            known.append(cfg.mixer_settings)
            options = [override.rpartition(".")[2] for override in method_overrides[1:] if override not in protocol]
            cfgs[f"{cfg.method_name} ({', '.join(options)})"] = cfg
    methods = [
        attention_method(name, cfg.mixer_settings, build_method(cfg), packed=packed)
        if cfg.mixes_by_attention
        else mixer_method(f"{name} + projections", cfg.mixer_settings, build_method(cfg))
        for name, cfg in cfgs.items()
    ]
    return sorted(methods, key=lambda method: method.kind)  # attentions first
