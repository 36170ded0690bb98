"""The cells of a sweep; of a comparison beside each pretrained one also one from scratch, with as many steps in all."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from lra.base.printed_commands import key_of
from lra.settings.pretrain import is_pretrained
from lra.tables.grid.cell import Cell, make_cells
from lra.tables.grid.tuned import TUNED, make_tuned_cells

FROM_SCRATCH = "beside=from_scratch"  # among the overrides of a comparison of pretrained runs
STEPS = "recipe.steps"


def cells_of(sweep: str, overrides: Sequence[str]) -> list[Cell]:
    """Make the cells of a sweep, see `make_cells` and `make_tuned_cells`."""
    kept = [text for text in overrides if text != FROM_SCRATCH]
    cells = make_tuned_cells(sweep, kept) if TUNED in kept else make_cells(sweep, kept)
    return _with_cells_from_scratch(cells) if FROM_SCRATCH in overrides else cells


def _with_cells_from_scratch(cells: Iterable[Cell]) -> list[Cell]:
    """Put before each pretrained cell one that trains from scratch for the steps of both stages."""
    made: dict[tuple[str, ...], Cell] = {}
    for cell in cells:
        if is_pretrained(cell.cfg):
            scratch = _from_scratch(cell)
            made.setdefault(scratch.overrides, scratch)
            cell = replace(cell, set_apart=f"pretrain={cell.cfg.pretrain.name}")
        made.setdefault(cell.overrides, cell)
    return list(made.values())


def _from_scratch(cell: Cell) -> Cell:
    steps = cell.cfg.recipe.steps + cell.cfg.pretrain.steps
    kept = [text for text in cell.overrides if key_of(text).split(".")[0] != "pretrain" and key_of(text) != STEPS]
    return replace(cell, overrides=(*kept, f"{STEPS}={steps}"), set_apart=f"{STEPS}={steps}")
