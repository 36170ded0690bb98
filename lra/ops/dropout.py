"""Dropout masks that cost little on a CPU.

torch draws one Bernoulli number per entry, one core at a time: a quarter of a small model's step. Here one 16-bit
number decides about an entry, and the numbers of a mask are sums of two windows of a table of random words: one pass
over data that stays in cache. A mask alone is as random as the table is; two masks never add the same pair of words.
Masks are numbered and come back from their number, so that a backward pass need not keep them.
"""

from __future__ import annotations

import torch
from torch import Tensor

LEVELS = 1 << 16  # a rate is met to 1 / 131072
WINDOWS = 1 << 16  # masks of one table
WINDOW_WORDS = 1 << 16  # 32-bit words of the largest mask
MOST_ENTRIES = 2 * WINDOW_WORDS


class DropoutMasks:
    """Numbered masks of one seed; the seed comes from torch's generator, so that masks repeat with its state.

    Args:
        rate: share of dropped entries, in [0, 1).
    """

    def __init__(self, rate: float):
        self.threshold = round(rate * LEVELS)
        self.scale = LEVELS / (LEVELS - self.threshold)  # for kept entries: from the rate as it is met
        self.seed = int(torch.randint(1 << 62, ()))
        self.next = 0
        self._table = -1

    def reserve(self, count: int) -> int:
        """Take `count` numbers; returns the first."""
        first, self.next = self.next, self.next + count
        return first

    def keep(self, number: int, like: Tensor) -> Tensor:
        """Mask `number`, 1 where an entry is kept and 0 where it is dropped, in `like`'s shape and type.

        At most `MOST_ENTRIES` entries. The mean of what is kept falls by 1 / `scale`.
        """
        table, window = divmod(number, WINDOWS)
        if table != self._table:
            self._draw(table)
        assert like.numel() <= MOST_ENTRIES, like.shape
        words = -(-like.numel() // 2)
        first = (self._steps[0] * window + self._steps[1]) % WINDOWS
        second = (first + self._steps[2] * window + self._steps[3]) % WINDOWS
        sums = torch.add(self._words[0, first : first + words], self._words[1, second : second + words])
        numbers = sums.view(torch.int16)[: like.numel()]
        return numbers.ge_(self.threshold - LEVELS // 2).to(like.dtype).view(like.shape)

    def _draw(self, table: int) -> None:
        """Two rows of words, and how the windows' places follow from a number.

        Odd steps give every number of a table another first place and another distance between the two.
        """
        generator = torch.Generator().manual_seed((self.seed + table) % (1 << 63))
        words = torch.empty(2, (WINDOWS + WINDOW_WORDS) // 2, dtype=torch.int64)
        self._words = words.random_(-(1 << 63), None, generator=generator).view(torch.int32)
        places = torch.randint(WINDOWS, (4,), generator=generator).tolist()
        self._steps = [places[0] | 1, places[1], places[2] | 1, places[3]]
        self._table = table
