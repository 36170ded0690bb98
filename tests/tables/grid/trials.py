"""A search of two methods over two options, with records of trials as training writes them."""

import json

from lra.runs.files import RESULT
from lra.runs.record import validated
from lra.runs.settings_hash import hash_of
from lra.settings.which_run import hashed_settings
from lra.tables.grid.cell import Cell
from tests.tables.records import make_record

SPACE = ["recipe.optimizer.weight_decay=0", "recipe.warmup_fraction=0.2"]  # what is left: the rate and dropout
WORDS = ["task=listops", "attention=nystrom,full", "size=tiny", *SPACE]


def finish(cell: Cell, dev: float, *, test: float = 0.2) -> dict:
    """Write the record of a cell with this best dev accuracy."""
    record = make_record(accuracy=test, origin="generated")
    settings = json.loads(json.dumps(hashed_settings(cell.cfg)))
    steps = cell.cfg.recipe.steps
    record |= {"identity": cell.cfg.identity, "settings": settings}
    record["outcome"] |= {"best_dev_accuracy": dev, "steps": steps, "best_step": steps}
    record["provenance"]["config_hash"] = hash_of(settings)
    cell.run.folder.mkdir(parents=True, exist_ok=True)
    (cell.run.folder / RESULT).write_text(json.dumps(validated(record, cell.run.folder)))
    return record
