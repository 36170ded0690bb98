"""The cells of a sweep; of a comparison beside each pretrained one also one from scratch, with as many steps in all."""

from collections.abc import Iterable
from dataclasses import replace

from lra.base.overrides import Overrides
from lra.run import Run
from lra.settings.stored_config import read_stored_config
from lra.tables.grid.cell import Cell, make_cells
from lra.tables.grid.tuned import TUNED, make_tuned_cells

FROM_SCRATCH = "beside=from_scratch"  # among the overrides of a comparison of pretrained runs
STEPS = "recipe.steps"


def cells_of(sweep: str, overrides: Overrides) -> list[Cell]:
    """Make the cells of a sweep, see `make_cells` and `make_tuned_cells`."""
    kept = Overrides(each for each in overrides if each != FROM_SCRATCH)
    cells = make_tuned_cells(sweep, kept) if TUNED in kept else make_cells(sweep, kept)
    return _with_cells_from_scratch(cells) if FROM_SCRATCH in overrides else cells


def _with_cells_from_scratch(cells: Iterable[Cell]) -> list[Cell]:
    """Put before each pretrained cell one that trains from scratch for the steps of both stages."""
    made: dict[Overrides, Cell] = {}
    for cell in cells:
        if cell.cfg.is_pretrained:
            scratch = _from_scratch(cell)
            if scratch is not None:
                made.setdefault(scratch.overrides, scratch)
            cell = replace(cell, set_apart=f"pretrain={cell.cfg.pretrain.name}")
        made.setdefault(cell.overrides, cell)
    return list(made.values())


def _from_scratch(cell: Cell) -> Cell | None:
    """Change a pretrained cell to one from scratch; None where it takes the pretraining of a run that is not there."""
    cfg, digits = cell.cfg, cell.cfg.taken_from
    if digits is not None:
        source = next(iter(Run.of_hash(digits, cfg.paths.runs)), None)
        if source is None:
            return None
        cfg = read_stored_config(source.folder)
    steps = cell.cfg.recipe.steps + cfg.pretrain.steps
    kept = cell.overrides.without("pretrain", "pretrain.", STEPS)
    return replace(cell, overrides=Overrides([*kept, f"{STEPS}={steps}"]), set_apart=f"{STEPS}={steps}")
