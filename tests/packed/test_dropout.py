"""Masks: the asked rate, independent entries, independent masks, the same mask from the same number."""

import math

import pytest
import torch
from scipy.stats import chisquare

from lra.ops import dropout_masks
from lra.ops.dropout_masks import DropoutMasks

RATES = (0.1, 0.25, 0.5)
SHAPE = torch.empty(999, 131)  # an odd count of entries


def kept(masks: DropoutMasks, number: int) -> torch.Tensor:
    return masks.keep(number, SHAPE).double().flatten()  # a copy


@pytest.fixture(autouse=True)
def seeded():
    torch.manual_seed(0)


@pytest.mark.parametrize("rate", RATES)
def test_the_share_over_many_masks_is_the_rate_and_the_scale_keeps_the_mean(rate):
    masks = DropoutMasks(rate)
    share = torch.stack([kept(masks, number) for number in range(200)]).mean().item()
    assert abs(share - (1 - rate)) < 5 * math.sqrt(rate * (1 - rate) / (200 * SHAPE.numel())) + 1 / 200 / 256
    assert share * masks.scale == pytest.approx(1, abs=1e-3)


def test_a_rate_that_a_byte_cannot_hold_drops_all_in_some_masks():
    masks = DropoutMasks(0.999)
    share = torch.stack([kept(masks, number) for number in range(400)]).mean().item()
    assert share == pytest.approx(0.001, abs=0.0005)


@pytest.mark.parametrize("rate", RATES)
def test_each_mask_has_one_of_the_two_rates_next_to_the_asked_one(rate):
    masks = DropoutMasks(rate)
    for number in range(20):
        dropped = 1 - kept(masks, number).mean().item()
        error = 5 * math.sqrt(rate * (1 - rate) / SHAPE.numel())
        assert math.floor(rate * 256) / 256 - error < dropped < math.ceil(rate * 256) / 256 + error


def correlation(a: torch.Tensor, b: torch.Tensor) -> float:
    a, b = a - a.mean(), b - b.mean()
    return (a @ b / (a.norm() * b.norm())).item() * math.sqrt(len(a))  # standard normal when independent


@pytest.mark.parametrize("rate", RATES)
def test_entries_of_a_mask_are_independent(rate):
    flat = kept(DropoutMasks(rate), 7)
    scores = [correlation(flat[lag:], flat[:-lag]) for lag in (1, 2, 3, 4, 5, 8, 64, 128, 131, 4096)]
    assert max(map(abs, scores)) < 4.5


def test_patterns_of_eight_neighbours_are_as_frequent_as_they_should_be():
    flat = kept(DropoutMasks(0.5), 11)
    count = len(flat) // 8
    patterns = (flat[: 8 * count].view(count, 8) @ (2.0 ** torch.arange(8.0, dtype=torch.float64))).long()
    assert chisquare(torch.bincount(patterns, minlength=256).numpy()).pvalue > 1e-4


def test_masks_are_independent_of_each_other_also_when_shifted():
    masks = DropoutMasks(0.1)
    all_kept = [kept(masks, number) for number in range(40)]
    scores = [correlation(a, b) for i, a in enumerate(all_kept) for b in all_kept[:i]]
    assert max(map(abs, scores)) < 5
    assert 0.8 < torch.tensor(scores).std().item() < 1.2, "as spread as chance makes them"
    for lag in range(-12, 13, 4):  # windows of one table, at other places
        other = all_kept[1].roll(lag)
        assert abs(correlation(all_kept[0], other)) < 4.5


def test_no_two_masks_of_a_table_add_the_same_words(monkeypatch):
    """With the same distance between its two windows, one mask would be a piece of another."""
    masks = DropoutMasks(0.1)
    masks.keep(0, SHAPE)
    first, distance = masks._steps[0], masks._steps[2]
    windows = torch.arange(dropout_masks.WINDOWS)
    for step in (first, distance):
        assert len((windows * step % dropout_masks.WINDOWS).unique()) == dropout_masks.WINDOWS


def test_a_number_brings_its_mask_back_also_from_another_table_and_numbers_are_given_once():
    masks = DropoutMasks(0.3)
    early, late = kept(masks, 5), kept(masks, dropout_masks.WINDOWS + 5)
    assert kept(masks, 5).equal(early)
    assert abs(correlation(early, late)) < 4.5
    assert [masks.reserve(3), masks.reserve(2), masks.reserve(1)] == [0, 3, 5]


def test_masks_repeat_with_torchs_generator():
    torch.manual_seed(4)
    first, second = kept(DropoutMasks(0.1), 0), kept(DropoutMasks(0.1), 0)
    torch.manual_seed(4)
    assert kept(DropoutMasks(0.1), 0).equal(first)
    assert not first.equal(second)
