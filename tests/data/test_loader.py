"""Batches: a function of (seed, k), shared out by rank, resumable in the middle."""

import os
import signal
from contextlib import suppress
from dataclasses import replace

import numpy as np
import pytest
import torch

from lra.base.signals import Stopped, clean_up_on_signals, exit_on_signals
from lra.data.loader import Collator, EvalLoader, TrainLoader
from lra.data.store import open_store
from tests.data.test_store import SPEC, store  # noqa: F401  a fixture

LOADERS = (lambda collate: loader(collate), lambda collate: EvalLoader(collate, batch_size=4))


@pytest.fixture
def collate(store):  # noqa: F811
    return Collator(open_store(store, SPEC).splits["train"], SPEC, mask_zero=True)


def loader(collate, **changes):
    return TrainLoader(collate, **{"batch_size": 4, "num_batches": 7, "seed": 0, **changes})


@pytest.mark.parametrize("make", LOADERS, ids=["train", "eval"])
def test_after_a_signal_whose_exception_a_library_has_caught_there_is_no_other_batch(collate, make):
    seen = []

    @exit_on_signals(seen.append)
    def work():
        with clean_up_on_signals():
            for _ in make(collate):
                with suppress(Stopped):
                    os.kill(os.getpid(), signal.SIGTERM)
                seen.append("a batch")
        return 0

    assert work() == 128 + signal.SIGTERM
    assert seen == ["a batch", "stopped by SIGTERM"]


def labels(batches):
    return [batch.label.tolist() for batch in batches]


def test_a_batch_is_padded_and_masked(collate):
    batch = collate(np.array([2, 9]))
    assert batch.tokens.tolist() == [
        [[0, 1, 2, 0, 0, 0, 0, 0], [2, 2, 2, 0, 0, 0, 0, 0]],
        [[0, 1, 2, 3, 4, 0, 0, 0], [2, 2, 2, 0, 0, 0, 0, 0]],
    ]
    assert batch.tokens.dtype == torch.int64
    assert batch.valid.equal(batch.tokens != 0), "a zero inside is masked too: a black pixel"
    assert batch.label.tolist() == [2, 9]
    assert Collator(collate.split, SPEC, mask_zero=False)(np.array([0])).valid is None


def test_every_pass_sees_every_example_once_in_an_order_of_its_own(collate):
    stream = [label for batch in labels(loader(collate, batch_size=5, num_batches=4)) for label in batch]
    assert sorted(stream[:10]) == sorted(stream[10:]) == list(range(10))
    assert stream[:10] != stream[10:]
    assert stream[:10] != list(range(10))


def test_batch_k_depends_on_the_seed_and_k_alone(collate):
    whole = labels(loader(collate))
    assert whole == labels(loader(collate))
    assert labels([loader(collate).batch(5)]) == [whole[5]]
    assert labels(loader(collate, seed=1)) != whole
    assert labels(loader(collate, num_batches=99))[:7] == whole


def test_a_loader_goes_on_where_its_state_says(collate):
    first = loader(collate)
    whole = labels(loader(collate))
    taken = [next(iter(first)) for _ in range(3)]
    second = loader(collate)
    second.load_state_dict(first.state_dict())
    assert labels(taken) + labels(second) == whole


def test_ranks_together_see_the_single_process_batch(collate):
    whole = labels(loader(collate))
    parts = [labels(loader(collate, rank=rank, world_size=2)) for rank in (0, 1)]
    assert [a + b for a, b in zip(*parts, strict=True)] == whole


def test_evaluation_sees_every_example_in_order_with_a_short_last_batch(collate):
    batches = EvalLoader(collate, batch_size=4)
    assert len(batches) == 3
    assert labels(batches) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert labels(batches) == labels(batches), "and again"


def test_a_short_last_batch_can_be_dropped_as_the_papers_code_does(collate):
    batches = EvalLoader(collate, batch_size=4, drop_last=True)
    assert (len(batches), batches.num_examples) == (2, 8)
    assert labels(batches) == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_stored_bytes_become_ids_from_one(collate):
    split = replace(collate.split, first_id=1)
    batch = Collator(split, SPEC, mask_zero=True)(np.array([2]))
    assert batch.tokens.tolist() == [[[1, 2, 3, 0, 0, 0, 0, 0], [3, 3, 3, 0, 0, 0, 0, 0]]]
    assert batch.valid.sum().item() == 6, "a byte 0 is a token, not padding"
