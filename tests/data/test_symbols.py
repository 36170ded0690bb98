"""Characters of bytes, a token at the end of a sequence, real values of pixels, batches of their longest sequence."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from lra.data.loader import Collator, PixelScale
from lra.data.store import Split
from lra.data.symbols import FIRST_CHARACTER, UNKNOWN, with_characters, with_end
from lra.types import TaskSpec

TEXTS = ("aab", "é a", "b", "", "zz")  # the first three are those of train
SPEC = TaskSpec(name="own", vocab_size=512, seq_len=8, num_sequences=1, num_classes=2)


def splits(*texts: str | bytes, first_id: int = 1) -> dict[str, Split]:
    raw = [text.encode() if isinstance(text, str) else text for text in texts]
    tokens = np.frombuffer(b"".join(raw), np.uint8)
    offsets = np.concatenate([[0], np.cumsum([len(one) for one in raw])])
    numbers = np.arange(len(raw))[:, None]
    train = Split(tokens, offsets, numbers[:3], np.array([0, 1, 0]), first_id)
    return {"train": train, "test": replace(train, sequences=numbers[3:], labels=np.zeros(len(raw) - 3, int))}


def sequences(split: Split) -> list[list[int]]:
    pairs = zip(split.offsets, split.offsets[1:], strict=False)
    return [(split.tokens[start:end].astype(int) + split.first_id).tolist() for start, end in pairs]


def test_the_most_frequent_characters_of_train_have_the_first_ids():
    a, b, blank, accent = range(FIRST_CHARACTER, FIRST_CHARACTER + 4)
    made = with_characters(splits(*TEXTS), vocabulary=20, least_count=1)
    assert sequences(made["test"]) == [[a, a, b], [accent, blank, a], [b], [], [UNKNOWN, UNKNOWN]]


def test_rarer_characters_and_those_that_do_not_fit_are_unknown():
    a, b = FIRST_CHARACTER, FIRST_CHARACTER + 1
    expected = [[a, a, b], [UNKNOWN, UNKNOWN, a], [b], [], [UNKNOWN, UNKNOWN]]
    assert sequences(with_characters(splits(*TEXTS), vocabulary=20, least_count=2)["train"]) == expected
    assert sequences(with_characters(splits(*TEXTS), vocabulary=5, least_count=1)["train"]) == expected


def test_what_is_no_utf8_is_one_character_and_sequences_are_cut_before():
    made = with_characters(splits(b"a\xffa", b"\xc3\xa9", b"aaaa", b"a"), vocabulary=20, least_count=1)
    assert [len(ids) for ids in sequences(made["train"])] == [3, 1, 4, 1]
    cut = {name: replace(split, longest=2) for name, split in splits(b"abc", b"b", b"b", b"a").items()}
    made = with_characters(cut, vocabulary=20, least_count=1)
    assert [len(ids) for ids in sequences(made["train"])] == [2, 1, 1, 1]
    assert made["train"].longest is None


@pytest.mark.parametrize("first_id, end", [(0, 17), (1, 17), (0, 300)])
def test_every_sequence_gets_an_end_the_empty_one_too(first_id, end):
    made = with_end(splits(*TEXTS, first_id=first_id), end)
    before = sequences(splits(*TEXTS, first_id=first_id)["train"])
    assert sequences(made["train"]) == [[*ids, end] for ids in before]
    assert made["test"].tokens is made["train"].tokens


def test_a_sequence_that_is_cut_gets_its_end_where_it_is_cut():
    cut = {name: replace(split, longest=2) for name, split in splits(*TEXTS).items()}
    made = with_end(cut, 511)
    assert sequences(made["train"]) == [[*ids[:2], 511] for ids in sequences(cut["train"])]
    assert [len(made["train"].example(number)[0][0]) for number in range(3)] == [3, 3, 2]
    assert made["test"].tokens is made["train"].tokens


def test_a_batch_is_as_long_as_its_longest_sequence_and_the_ids_are_the_same():
    made = with_end(splits(*TEXTS), 511)["train"]
    whole = Collator(made, SPEC, mask_zero=True)
    short = Collator(made, SPEC, mask_zero=True, to_longest=True)
    for indices, length in ((np.array([0, 2]), 4), (np.array([2]), 2), (np.array([1, 0]), 5)):
        batch, padded = short(indices), whole(indices)
        assert batch.tokens.shape == (len(indices), 1, length)
        assert batch.tokens.equal(padded.tokens[..., :length])
        assert batch.valid.equal(padded.valid[..., :length])
        assert not padded.tokens[..., length:].any()


def test_real_values_are_those_of_torchvisions_normalisation():
    split = Split(np.arange(256, dtype=np.uint8), np.array([0, 256]), np.array([[0]]), np.array([1]), 0)
    scale = PixelScale(122.6 / 255, 61 / 255)
    batch = Collator(split, replace(SPEC, seq_len=256), mask_zero=False, scale=scale)(np.array([0]))
    levels = torch.arange(256, dtype=torch.uint8).float().div(255)
    assert batch.valid is None
    assert batch.tokens.dtype == torch.float32
    assert batch.tokens[0, 0].equal((levels - 122.6 / 255) / (61 / 255))
