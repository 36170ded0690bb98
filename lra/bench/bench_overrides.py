"""Read what was typed after `lra bench attention`: its own settings, and the methods to measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lra.base.arguments import check_choice
from lra.settings.config import ATTENTION, load_config, method_name, mixer_settings, mixes_by_attention
from lra.types import UserError

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from lra.bench.methods import BenchMethod
    from lra.bench.peers import Peer
    from lra.sweeps.grid import Cell

OWN_CONFIG = "bench_attention"
OF_METHODS = (ATTENTION, "mixer", "protocol")
MOST_LENGTH = 2**24
BENCH_FORMATS = ("terminal", "markdown", "csv")
OF_TABLE_1 = (("attention=nystrom", "attention.num_landmarks=32"),)  # of the paper, beside the default settings


def read_words(words: Sequence[str]) -> tuple[DictConfig, list[str]]:
    """Split the words into the bench's settings and the overrides that choose methods.

    Raises:
        UserError: for the first wrong word.
    """
    from lra.settings.check import check_stored
    from lra.settings.overrides import check_overrides
    from lra.terminal.output import check_out

    strange = next((word for word in words if "=" not in word or word.startswith(("-", "+", "~"))), None)
    if strange:
        raise UserError(f"{strange!r} is not key=value, as in: lra bench attention n=512,1024")
    defaults = load_config(OWN_CONFIG)
    chosen = [word for word in words if word.split("=")[0].split(".")[0] in OF_METHODS]
    own = [_as_list(word) for word in words if word not in chosen]
    unknown = next((word for word in own if word.split("=")[0].split(".")[0] not in defaults), None)
    if unknown:
        raise UserError(
            f"unknown option {unknown}; lra bench attention has {', '.join(map(str, defaults))},"
            f" {', '.join(OF_METHODS)} and their options; a training step of a task: lra bench step"
        )
    cfg = load_config(OWN_CONFIG, check_overrides(OWN_CONFIG, own, sweep=False))
    check_stored(cfg, classes=False)
    lengths = list(cfg.n)
    wrong = [length for length in lengths if type(length) is not int or not 1 < length <= MOST_LENGTH]
    if wrong or not lengths:
        raise UserError(
            f"n={','.join(map(str, wrong))} is no list of whole numbers from 2 to {MOST_LENGTH:,}; type n=512,1024"
        )
    check_choice("format", cfg.format, BENCH_FORMATS)
    if str(cfg.packed).lower() == "true" and cfg.device != "cpu":
        raise UserError("packed=true is for device=cpu, as in the encoder; type packed=auto")
    check_out(cfg.out, "bench.md")
    without_effect = [*chosen, *words_beside(own, "show", ("n", "format", "out"))]
    if cfg.show is not None and without_effect:
        raise UserError(
            f"{without_effect[0]} has no effect beside show=; type:"
            " lra bench attention show=runs/published/bench_attention.json n=2048"
        )
    return cfg, chosen


def words_beside(words: Sequence[str], key: str, read: Sequence[str]) -> list[str]:
    """The words of settings that are neither `key` nor any that is read beside it."""
    return [word for word in words if word.split("=")[0].split(".")[0] not in ("paths", key, *read)]


def _as_list(word: str) -> str:
    """Read `n=512,1024` as a list."""
    key, _, value = word.partition("=")
    return f"n=[{value}]" if key == "n" and not value.startswith("[") else word


def methods_to_measure(words: Sequence[str], *, packed: bool, peers: Sequence[Peer] = ()) -> list[BenchMethod]:
    """Build the methods: exact attention by both kernels, then those that were typed; by default all that there are.

    To all of them belongs what the paper's Table 1 has with other settings than the defaults.

    Several values of a knob give several methods, as `attention.num_landmarks=32,64` does. Each of the `peers` brings
    the method of ours whose outputs equal its own.

    Raises:
        UserError: for the first wrong word.
    """
    from lra.settings.overrides import check_overrides
    from lra.sweeps.grid import Cell, make_cells, spell_out_all

    chosen = [word for word in words if not word.startswith("protocol=")]
    protocol = [word for word in words if word.startswith("protocol=")]
    further = [peer.ours for peer in peers if peer.ours]
    if not chosen:
        chosen = ["attention=all"]
        further += [(*column, *protocol) for column in OF_TABLE_1]
    _, *typed = check_overrides("train", ["sweep=compare", *spell_out_all("compare", chosen), *protocol], sweep=True)
    by_attention = any(word.startswith(("attention=", "attention.")) for word in typed)
    kernels = [_exact(kernel, protocol) for kernel in ("fused", "math")]
    cells: list[tuple[str, Cell]] = [(f"full {kernel}", Cell(words=words)) for kernel, words in kernels]
    known = [mixer_settings(cell.cfg) for _, cell in cells]
    for cell in make_cells("compare", ["seed=0", *([] if by_attention else ["attention=full"]), *typed]):
        settings = mixer_settings(cell.cfg)
        # without dropout there is no other exact attention, so the two references stand for it
        if {**settings, "attention_dropout": 0.0} not in known and settings not in known:
            known.append(settings)
            cells.append((_name(cell), cell))
    for cell in (Cell(words=words) for words in further):
        if mixer_settings(cell.cfg) not in known:
            known.append(mixer_settings(cell.cfg))
            knobs = [_knob(word) for word in cell.words[1:] if word not in protocol]
            cells.append((f"{method_name(cell.cfg)} ({', '.join(knobs)})", cell))
    methods = [_method(name, cell.cfg, packed=packed) for name, cell in cells]
    return sorted(methods, key=lambda method: method.kind)  # attentions first


def _exact(kernel: str, protocol: list[str]) -> tuple[str, tuple[str, ...]]:
    return kernel, ("attention=full", f"attention.kernel={kernel}", "attention.attention_dropout=0.0", *protocol)


def _knob(word: str) -> str:
    return word.rpartition(".")[2]


def _name(cell: Cell) -> str:
    return f"{method_name(cell.cfg)}{cell.apart}"


def _method(name: str, cfg: DictConfig, *, packed: bool) -> BenchMethod:
    from lra import build
    from lra.bench.methods import attention_method, mixer_method

    make, settings = build.build_method(cfg), mixer_settings(cfg)
    if mixes_by_attention(cfg):
        return attention_method(name, settings, make, packed=packed)
    return mixer_method(f"{name} + projections", settings, make)
