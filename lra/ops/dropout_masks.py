"""Dropout masks that are cheap to draw on a CPU.

torch draws one Bernoulli number per entry on a single core, which takes a quarter of a small model's step. Here one
random byte decides about one entry. The bytes of a mask are the sums of two windows of a table of random words, which
is one pass over data that stays in cache. A single mask is as random as the table; no two masks add the same pair of
words. A mask can be made again from its number, so the backward pass does not store it.
"""

import torch
from torch import Tensor

LEVELS = 1 << 8  # values of a byte
WINDOWS = 1 << 16  # masks that one table gives
WINDOW_WORDS = 1 << 17  # 32-bit words of the largest mask
MOST_ENTRIES = 4 * WINDOW_WORDS


class DropoutMasks:
    """Numbered dropout masks of one seed, which is drawn from torch's generator: equal states give equal masks.

    A byte can have only 256 different rates. A mask has one of the two rates next to `rate`, in [0, 1), chosen such
    that the mean rate over all masks differs from `rate` by at most 1 / 65536.
    """

    def __init__(self, rate: float):
        self.rate = rate
        self.scale = 1 / (1 - rate)  # factor for kept entries
        self.seed = int(torch.randint(1 << 62, ()))
        self.next = 0
        self._table = -1
        # All masks use the same memory, so that it stays in cache.
        self._sums, self._kept = torch.empty(WINDOW_WORDS, dtype=torch.int32), torch.empty(MOST_ENTRIES)

    def reserve(self, count: int) -> int:
        """Reserve `count` mask numbers, and return the first."""
        first, self.next = self.next, self.next + count
        return first

    def keep(self, number: int, like: Tensor) -> Tensor:
        """Make mask `number` in the shape and type of `like`: 1 where an entry is kept, 0 where it is dropped.

        A mask has at most `MOST_ENTRIES` entries, and is overwritten by the next call. It does not scale: multiply kept
        entries by `scale`.
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
        if dropped == LEVELS:  # more than a byte can be compared with
            return kept.zero_().view(like.shape)
        return kept.copy_(sums.view(torch.int8)[:count].ge_(dropped - LEVELS // 2)).view(like.shape)

    def _draw(self, table: int) -> None:
        """Draw a table: two rows of random words, and steps from which a mask's windows and rate are computed.

        The steps are odd. So all masks of a table differ in the first window's place, in the distance between the two
        windows, and in the fraction by which the rate is rounded.
        """
        generator = torch.Generator().manual_seed((self.seed + table) % (1 << 63))
        words = torch.empty(2, (WINDOWS + WINDOW_WORDS) // 2, dtype=torch.int64)
        self._words = words.random_(-(1 << 63), None, generator=generator).view(torch.int32)
        self._steps = (torch.randint(WINDOWS // 2, (6,), generator=generator) * 2 + 1).tolist()
        self._table = table
