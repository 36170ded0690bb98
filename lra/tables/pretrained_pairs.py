"""Pretrained rows of a comparison beside those from scratch that train as many steps in all."""

from collections.abc import Sequence

from lra.runs.flat_settings import FlatSettings, flatten
from lra.runs.schema import Record
from lra.tables.cells import make_rows
from lra.tables.comparison import contenders
from lra.tables.result_sentences import result_sentences
from lra.tables.variants import RowKey

OF_STEPS = ("recipe.steps", "recipe.schedule.steps")


def equal_steps_sentences(records: list[Record]) -> list[str]:
    """Word for each pretrained row of one task what it has to do with the row from scratch of as many steps in all."""
    sentences = []
    for scratch, pretrained, steps in pairs_of_equal_steps(records):
        found = result_sentences(contenders(records, scratch, among=(scratch, pretrained)))
        sentences += [f"With {steps:,} steps in all, {sentence[0].lower()}{sentence[1:]}" for sentence in found]
    return sentences


def pairs_of_equal_steps(records: list[Record]) -> list[tuple[RowKey, RowKey, int]]:
    """Find the keys of each pretrained row, after that of its row from scratch, and their steps in all."""
    firsts = [(row.key, row.records[0]) for row in make_rows(records)]
    from_scratch = {_settings(first, first.steps): key for key, first in firsts if first.pretraining is None}
    pairs = []
    for key, first in firsts:
        if first.pretraining is not None:
            steps = first.pretraining["steps"] + first.steps
            scratch = from_scratch.get(_settings(first, steps))
            pairs += [] if scratch is None else [(scratch, key, steps)]
    return pairs


def _settings(record: Record, steps: int) -> Sequence[tuple[str, str]]:
    """What a pretrained run of so many steps in all shares with one from scratch."""
    flat: FlatSettings = flatten({group: options for group, options in record.settings.items() if group != "pretrain"})
    return (*sorted((key, text) for key, text in flat.items() if key not in OF_STEPS), ("steps", str(steps)))
