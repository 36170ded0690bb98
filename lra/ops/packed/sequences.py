"""Attention on packed tokens by computing each sequence by itself, so that no mask and no padding is needed.

Letters: T tokens, H heads, E dims per head, W tokens of one sequence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import torch
from torch import Tensor

from lra.ops.packed.packing import Packing


def mix_each(
    planes: Iterable[Tensor], packing: Packing, mix: Callable[[Tensor, Tensor, Tensor], Tensor], *, heads: int
) -> Tensor:
    """Mix the values of each sequence; `[T, H·E]`.

    Args:
        planes: queries, keys and values, `[T, H·E]` each; each may have an E of its own.
        packing: the tokens' places in the padded batch.
        mix: maps queries, keys and values `[1, H, W, E]` of real tokens alone to `[1, H, W, E]`; W may be 0.
        heads: H.
    """
    by_head = (x_TD.unflatten(1, (heads, -1)).transpose(0, 1)[None].split(packing.counts, dim=2) for x_TD in planes)
    mixed = [mix(*sequence)[0].transpose(0, 1).flatten(1) for sequence in zip(*by_head, strict=True)]
    return torch.cat(mixed)
