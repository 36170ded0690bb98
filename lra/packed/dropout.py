"""Dropout masks that cost little on a CPU.

torch draws one Bernoulli number per entry, one core at a time: a quarter of a small model's step. Here one byte
decides about an entry, and the bytes of a mask are sums of two windows of a table of random words: one pass over data
that stays in cache. A mask alone is as random as the table is; two masks never add the same pair of words. Masks are
numbered and come back from their number, so that a backward pass need not keep them.
"""

from __future__ import annotations

import torch
from torch import Tensor

LEVELS = 1 << 8  # of a byte
WINDOWS = 1 << 16  # masks of one table
WINDOW_WORDS = 1 << 17  # 32-bit words of the largest mask
MOST_ENTRIES = 4 * WINDOW_WORDS


class DropoutMasks:
    """Numbered masks of one seed; the seed comes from torch's generator, so that masks repeat with its state.

    A byte knows 256 rates. A mask has one of the two that are next to the asked one, drawn so that an entry's chance
    over all masks is the asked one to 1 / 65536.

    Args:
        rate: fraction of dropped entries, in [0, 1).
    """

    def __init__(self, rate: float):
        self.rate = rate
        self.scale = 1 / (1 - rate)  # for kept entries
        self.seed = int(torch.randint(1 << 62, ()))
        self.next = 0
        self._table = -1
        # Always the same memory, so that it stays in cache.
        self._sums, self._kept = torch.empty(WINDOW_WORDS, dtype=torch.int32), torch.empty(MOST_ENTRIES)

    def reserve(self, count: int) -> int:
        """Take `count` numbers; returns the first."""
        first, self.next = self.next, self.next + count
        return first

    def keep(self, number: int, like: Tensor) -> Tensor:
        """Mask `number`, 1 where an entry is kept and 0 where it is dropped, in `like`'s shape and type.

        At most `MOST_ENTRIES` entries; valid until the next call. The mean of what is kept falls by 1 / `scale`.
        """
        table, window = divmod(number, WINDOWS)
        if table != self._table:
            self._draw(table)
        count = like.numel()
        assert count <= MOST_ENTRIES, like.shape
        words, first = -(-count // 4), (self._steps[0] * window + self._steps[1]) % WINDOWS
        second = (first + self._steps[2] * window + self._steps[3]) % WINDOWS
        sums = self._sums[:words]
        torch.add(self._words[0, first : first + words], self._words[1, second : second + words], out=sums)
        dropped = int(self.rate * LEVELS + (self._steps[4] * window + self._steps[5]) % WINDOWS / WINDOWS)
        if self._kept.dtype != like.dtype:
            self._kept = self._kept.to(like.dtype)
        kept = self._kept[:count]
        return kept.copy_(sums.view(torch.int8)[:count].ge_(dropped - LEVELS // 2)).view(like.shape)

    def _draw(self, table: int) -> None:
        """Two rows of words, and how places and rates follow from a mask's number.

        Odd steps give every number of a table another first place, another distance between the two and another
        fraction to round the rate by.
        """
        generator = torch.Generator().manual_seed((self.seed + table) % (1 << 63))
        words = torch.empty(2, (WINDOWS + WINDOW_WORDS) // 2, dtype=torch.int64)
        self._words = words.random_(-(1 << 63), None, generator=generator).view(torch.int32)
        self._steps = (torch.randint(WINDOWS // 2, (6,), generator=generator) * 2 + 1).tolist()
        self._table = table
