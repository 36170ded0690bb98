"""What is masked for self-pretraining: how much, never padding, the same at every resume and on several devices."""

import numpy as np
import pytest
import torch

from lra.data.loader import Collator, EvalLoader, TrainLoader
from lra.data.masking import MASKED_IN_DEV, MASKED_IN_TRAIN, Masking, mask_batches
from lra.data.store import Split
from lra.types import TaskSpec

SPEC = TaskSpec(name="some", vocab_size=9, seq_len=64, num_sequences=1, num_classes=2)
HALF = Masking(fraction=0.5)


@pytest.fixture
def collate():
    """Twenty examples of 10 to 64 tokens."""
    lengths = np.random.default_rng(0).integers(10, 65, 20)
    tokens = np.random.default_rng(1).integers(1, 9, lengths.sum()).astype(np.uint8)
    offsets, labels = np.concatenate([[0], lengths.cumsum()]), np.zeros(20, np.int64)
    split = Split(tokens, offsets, np.arange(20)[:, None], labels, first_id=0)
    return Collator(split, SPEC, mask_zero=True)


def apply_mask(batch, masked):
    """Targets in the place of labels, 99 in the place of what is masked."""
    return batch._replace(tokens=batch.tokens.masked_fill(masked, 99), label=batch.tokens.masked_fill(~masked, -100))


def train(collate, *, seed=0, rank=0, world_size=1, batch_size=8):
    loader = TrainLoader(collate, batch_size=batch_size, num_batches=6, seed=seed, rank=rank, world_size=world_size)
    loader.change = mask_batches(HALF, apply_mask, seed, MASKED_IN_TRAIN)
    return loader


@pytest.mark.parametrize("span", [1, 4])
@pytest.mark.parametrize("fraction", [0.1, 0.15, 0.5])
def test_the_fraction_is_hidden_of_real_positions_and_nothing_of_padding(fraction, span):
    valid = np.arange(1000) < 900
    masking = Masking(fraction=fraction, span=span)
    drawn = np.stack([masking.draw(valid[None], (seed,)) for seed in range(200)])
    assert not drawn[..., 900:].any()
    # Standard error: spans mask neighbours together, so there are a span's length fewer independent draws.
    error = (fraction * (1 - fraction) * span / (200 * (900 - span))) ** 0.5
    assert abs(drawn[..., span:900].mean() - fraction) < 4 * error


def test_single_positions_are_hidden_independently():
    drawn = np.stack([HALF.draw(np.ones((1, 1000), bool), (seed,)) for seed in range(200)])[:, 0]
    both = (drawn[:, 1:] & drawn[:, :-1]).mean()
    assert abs(both - 0.25) < 4 * (0.25 * 0.75 / (200 * 999)) ** 0.5


def test_each_example_with_real_positions_has_something_masked():
    valid = np.array([[True, False, False]])
    for seed in range(20):
        assert Masking(fraction=0.01).draw(valid, (seed,)).tolist() == valid.tolist()
    assert not Masking(fraction=0.9).draw(~valid & False, (0,)).any()


def test_batches_depend_on_seed_and_number_alone(collate):
    loader = train(collate)
    whole = list(loader)
    resumed = train(collate)
    resumed.load_state_dict({"position": 3})
    for one, other in zip(whole[3:], resumed, strict=True):
        assert one.tokens.equal(other.tokens)
        assert one.label.equal(other.label)
    assert not whole[0].tokens.equal(train(collate, seed=1).batch(0).tokens)
    first, again = whole[0], whole[5]  # the same example is masked otherwise in the next epoch
    assert not ((first.tokens == 99) == (again.tokens == 99)).all()


def test_processes_and_parts_share_what_is_masked(collate):
    whole = train(collate).batch(2)
    ranks = [train(collate, rank=rank, world_size=2).batch(2) for rank in range(2)]
    parts = [train(collate, batch_size=4).batch(number) for number in (4, 5)]
    for split in (ranks, parts):
        assert torch.cat([each.tokens for each in split]).equal(whole.tokens)


def test_dev_is_hidden_the_same_in_every_run_and_in_batches_of_every_size(collate):
    def all_tokens(batch_size, **share):
        loader = EvalLoader(collate, batch_size=batch_size, **share)
        loader.change = mask_batches(HALF, apply_mask, MASKED_IN_DEV)
        return [batch.tokens for batch in loader]

    whole = torch.cat(all_tokens(20))
    assert torch.cat(all_tokens(7)).equal(whole)
    halves = [all_tokens(10, rank=rank, world_size=2) for rank in range(2)]
    assert torch.cat([each for half in halves for each in half]).equal(whole)


def test_what_is_hidden_is_the_target_and_nothing_else(collate):
    batch, plain = train(collate).batch(1), TrainLoader(collate, batch_size=8, num_batches=6, seed=0).batch(1)
    masked = batch.tokens == 99
    assert batch.label[masked].equal(plain.tokens[masked])
    assert (batch.label[~masked] == -100).all()
    assert batch.tokens[~masked].equal(plain.tokens[~masked])
    assert plain.valid[masked].all()
