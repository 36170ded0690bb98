"""Make other tokens of the stored ones: characters of bytes, and a token at the end of each sequence.

The store stays as it is. The splits that are made here share their tokens, as those of a store, which are in memory.
Under `protocol=s4` the ids are 0 for padding, 1 for an unknown character, then the characters of the training split,
the most frequent first; the last id is that of the end.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np

from lra.data.store import Split
from lra.data.text import decode

UNKNOWN, FIRST_CHARACTER = 1, 2
AT_ONCE = 1000  # sequences that are decoded at a time
CODE_POINTS = 0x110000


def with_characters(splits: Mapping[str, Split], *, vocabulary: int, least_count: int) -> dict[str, Split]:
    """Make tokens of the characters of bytes that are UTF-8; what is not becomes one character, `�`.

    A sequence is cut at `longest` bytes before.

    Args:
        splits: the splits of one store, which share their tokens.
        vocabulary: number of ids, with those of padding, the unknown character and the end.
        least_count: how often a character must be in the sequences of the training split to have an id.
    """
    shared = splits["train"]
    counts = np.zeros(CODE_POINTS, np.int64)
    for points, _ in _decoded(shared, np.unique(shared.sequences)):
        counts += np.bincount(points, minlength=CODE_POINTS)
    known = np.argsort(-counts, kind="stable")[: vocabulary - FIRST_CHARACTER - 1]
    known = known[counts[known] >= least_count]
    ids = np.full(CODE_POINTS, UNKNOWN, np.min_scalar_type(vocabulary))
    ids[known] = np.arange(FIRST_CHARACTER, FIRST_CHARACTER + len(known))
    parts = [(ids[points], lengths) for points, lengths in _decoded(shared, np.arange(len(shared.offsets) - 1))]
    tokens = np.concatenate([of_part for of_part, _ in parts])
    offsets = np.concatenate([[0], np.cumsum(np.concatenate([lengths for _, lengths in parts]))])
    return {
        name: replace(split, tokens=tokens, offsets=offsets, first_id=0, longest=None) for name, split in splits.items()
    }


def with_end(splits: Mapping[str, Split], token: int) -> dict[str, Split]:
    """Put a token with the id `token` at the end of each sequence of a store's splits, which is cut at `longest`."""
    shared = next(iter(splits.values()))
    assert all(split.longest == shared.longest for split in splits.values()), "they share their tokens"
    if shared.longest is not None:
        shared = _cut(shared, shared.longest)
    stored = shared.tokens.astype(np.min_scalar_type(token))
    tokens = np.insert(stored, shared.offsets[1:], token - shared.first_id)
    offsets = shared.offsets + np.arange(len(shared.offsets))
    return {name: replace(split, tokens=tokens, offsets=offsets, longest=None) for name, split in splits.items()}


def _cut(split: Split, longest: int) -> Split:
    """Copy the tokens that are used of each sequence, the first `longest` ones."""
    lengths = np.minimum(np.diff(split.offsets), longest)
    ends = split.offsets[:-1] + lengths
    parts = [split.tokens[start:end] for start, end in zip(split.offsets[:-1].tolist(), ends.tolist(), strict=True)]
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    return replace(split, tokens=np.concatenate(parts), offsets=offsets, longest=None)


def _decoded(split: Split, sequences: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield the code points of some sequences after each other, and the number of each one's characters."""
    for first in range(0, len(sequences), AT_ONCE):
        bounds = [split.offsets[number : number + 2] for number in sequences[first : first + AT_ONCE].tolist()]
        texts = [decode(np.asarray(split.tokens[start:end][: split.longest])) for start, end in bounds]
        yield np.frombuffer("".join(texts).encode("utf-32-le"), np.uint32), np.array([len(text) for text in texts])
