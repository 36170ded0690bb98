"""What the function of a probe draws, and the draws that several of them make.

Letters: N examples, L positions.
"""

from typing import NamedTuple

import numpy as np


class Drawn(NamedTuple):
    """Examples of a probe.

    Attributes:
        tokens: ids `[count, length]`, from 1 on.
        labels: class labels `[count]`, from 0 on.
        words: what each id stands for, the first word for id 1.
    """

    tokens: np.ndarray
    labels: np.ndarray
    words: list[str]


def numbers_up_to(most: int, rng: np.random.Generator, count: int, *, training: bool) -> np.ndarray:
    """Draw how many pairs, marks or elements each example has, `[N]`: in training 1 to `most`, evenly, else `most`."""
    return rng.integers(1, most + 1, count) if training else np.full(count, most)


def random_positions(number: int | np.ndarray, rng: np.random.Generator, count: int, length: int) -> np.ndarray:
    """Choose `number` (or `[N]`) of `length` positions at random in each example, `[N, L]` bool."""
    rank_NL = np.argsort(np.argsort(rng.random((count, length)), axis=1), axis=1)
    return rank_NL < np.reshape(number, (-1, 1))
