"""Slow twins of the attentions in which a position sees only some others: softmax over a list of them.

Letters: B examples, H heads, L positions, E dims per head.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from tests.reference.linear import real_positions


def attend(
    q: Tensor, k: Tensor, v: Tensor, valid: Tensor | None, sees: Callable[[list[int], int, int, int], bool]
) -> Tensor:
    """Softmax attention of i to each real j with sees(real positions, head, i, j)."""
    out = torch.zeros_like(v)
    for b, real in enumerate(real_positions(valid, len(q), q.shape[2])):
        for h in range(q.shape[1]):
            for i in real:
                seen = [j for j in real if sees(real, h, i, j)]
                weights = (k[b, h, seen] @ q[b, h, i] / math.sqrt(q.shape[3])).softmax(0)
                out[b, h, i] = weights @ v[b, h, seen]
    return out


def local(
    q: Tensor, k: Tensor, v: Tensor, valid: Tensor | None, *, block_length: int, neighbour_blocks: int, **_: object
) -> Tensor:
    """Tay et al. 2021, local attention: the positions of the own block, and of some blocks on each side."""

    def sees(real: list[int], h: int, i: int, j: int) -> bool:
        return abs(i // block_length - j // block_length) <= neighbour_blocks

    return attend(q, k, v, valid, sees)


def longformer(
    q: Tensor, k: Tensor, v: Tensor, valid: Tensor | None, *, window: int, global_tokens: int, **_: object
) -> Tensor:
    """Section 3.1 of Beltagy et al. 2020: half the window on each side; global tokens see all and are seen by all."""

    def sees(real: list[int], h: int, i: int, j: int) -> bool:
        first = real[:global_tokens]
        return abs(i - j) <= window // 2 or i in first or j in first

    return attend(q, k, v, valid, sees)


def bigbird(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    valid: Tensor | None,
    *,
    block_length: int,
    window_blocks: int,
    global_blocks: int,
    drawn_blocks: Tensor,
    **_: object,
) -> Tensor:
    """Section 2 of Zaheer et al. 2020, on blocks: a window, the first blocks as global ones, and random blocks."""
    drawn = drawn_blocks.tolist()

    def sees(real: list[int], h: int, i: int, j: int) -> bool:
        mine, other = i // block_length, j // block_length
        near = abs(mine - other) <= window_blocks // 2
        return near or mine < global_blocks or other < global_blocks or other in drawn[mine][h]

    return attend(q, k, v, valid, sees)
