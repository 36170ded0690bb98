"""Read what was typed after `lra bench gpu`: its own settings, and the cells to measure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from lra.config import load_config
from lra.types import UserError

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from lra.sweeps.grid import Cell

GPU_CONFIG = "bench_gpu"
SWEEP = "paper_table"
CELLS = ("task", "attention", "mixer")  # of which several values, of their knobs too, are several cells
GPU_BENCH_FORMATS = ("terminal", "markdown")


def read_gpu_words(words: Sequence[str]) -> tuple[DictConfig, list[str], list[Cell]]:
    """Split the words into the bench's settings, those of every cell, and the cells: by default the paper's table.

    Raises:
        UserError: for the first wrong word.
    """
    from lra.cli_support.bench_words import words_beside
    from lra.cli_support.out_file import check_out
    from lra.cli_support.overrides import check
    from lra.cli_support.settings import check_settings
    from lra.cli_support.unread import check_all_read
    from lra.sweeps.grid import make_cells, spell_out_all

    strange = next((word for word in words if "=" not in word or word.startswith("-")), None)
    if strange:
        raise UserError(f"{strange!r} is no setting; settings are key=value, as in: lra bench gpu task=listops,text")
    defaults = load_config(GPU_CONFIG)
    own = [word for word in words if word.split("=")[0].split(".")[0] in defaults]
    cfg = load_config(GPU_CONFIG, check(GPU_CONFIG, [_as_list(word) for word in own], sweep=False))
    check_settings(cfg)
    wrong = [number for number in cfg.processes if type(number) is not int or number < 1]
    if wrong:
        raise UserError(f"processes={wrong[0]} is not a whole number of at least 1; type processes=1,2,4")
    if cfg.format not in GPU_BENCH_FORMATS:
        raise UserError(f"format={cfg.format} is not known; choose one of {', '.join(GPU_BENCH_FORMATS)}")
    check_out(cfg.out, "bench.md")
    without_effect = words_beside(own, "predict", ("format", "out"))
    if cfg.predict is not None and without_effect:
        raise UserError(f"{without_effect[0]} has no effect beside predict=, which measures nothing; leave one out")
    typed = [word for word in words if word not in own]
    if not any(word.startswith("trainer=") for word in typed) and cfg.predict is None:
        typed = ["trainer=gpu", *typed]
    _, *typed = check("train", [f"sweep={SWEEP}", "seed=0", *spell_out_all(SWEEP, typed)], sweep=True)
    _check_one_value(typed)
    cells = make_cells(SWEEP, typed)
    for cell in cells:
        check_settings(cell.cfg)
        check_all_read(cell.cfg, "train")
    return cfg, typed, cells


def _check_one_value(words: Sequence[str]) -> None:
    """Refuse several values of a setting by which the record does not tell cells apart."""
    from hydra.core.override_parser.overrides_parser import OverridesParser

    for override in OverridesParser.create().parse_overrides(list(words)):
        key = override.key_or_group
        if override.is_sweep_override() and key.split(".")[0] not in CELLS:
            raise UserError(
                f"{override.input_line}: lra bench gpu takes one value of {key} at a time; type {key}="
                f"{next(override.sweep_string_iterator())}, and the others in commands of their own"
            )


def _as_list(word: str) -> str:
    """Read `processes=1,2` as a list."""
    key, _, value = word.partition("=")
    return f"{key}=[{value}]" if key == "processes" and not value.startswith("[") else word
