"""Departures from the released code that all protocols have: the released way, ours, and the reason.

Departures that a user can choose are the switches in conf/protocol.
"""

from __future__ import annotations

from typing import NamedTuple


class Departure(NamedTuple):
    """One row of the table: its subject, the released code's way, ours, and the reason."""

    what: str
    released: str
    ours: str
    why: str


DEPARTURES = (
    Departure(
        "dev passes",
        "a fixed number of batches from an endless, reshuffled stream: a pass may miss examples, and have others twice",
        "every example of the dev split once",
        "passes can be compared, and no draw decides which checkpoint is chosen",
    ),
    Departure(
        "test split",
        "its last batch is left out when it is smaller than the others",
        "every example",
        "an accuracy is of the whole split; protocol.test_last_batch=dropped does as released",
    ),
    Departure(
        "precision",
        "float16 autocast with a gradient scaler, attention in float32",
        "float32 throughout",
        "runs on every machine and repeats bit for bit on a CPU; trainer.precision=16-mixed does as released",
    ),
    Departure(
        "length of Text",
        "the preparation script cuts at 1,000 bytes, though the model is configured for 4,000",
        "4,000 bytes",
        "the paper calls the task Text (4K); protocol.text_length=1000 does as released",
    ),
    Departure(
        "white space around reviews of Text",
        "stripped, by the TFDS dataset that is read",
        "as in the archive",
        "nothing changes in practice",
    ),
    Departure(
        "ids of ListOps' symbols",
        "from the order of a set, which changes from process to process",
        "fixed, 1 to 15",
        "with other ids a restored checkpoint scores at chance",
    ),
    Departure(
        "dev split of Image",
        "the last tenth in TFDS's hashed order",
        "the last tenth in the archive's order",
        "found again without TFDS; as many examples, of the same distribution",
    ),
    Departure(
        "splits of Pathfinder",
        "80/10/10 of a shuffle without a seed",
        "80/10/10 of a seeded one",
        "the same on every machine",
    ),
    Departure(
        "random numbers",
        "without a seed",
        "seed=0, 1, …: weights, order and dropout",
        "a run can be repeated, and seeds compared",
    ),
    Departure(
        "attentions on offer",
        "linear attention too, beside those of its table",
        "not offered; attention=none is",
        "it stands in no published table",
    ),
)
