"""Groups of examples that share an attention's batch-wide constants and random draws.

Letters: B examples, N sequences per example, L positions, D model width.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from lra.base.protocol import Sides


@dataclass(frozen=True, kw_only=True)
class BatchGroups:
    """Splits a batch into groups that are encoded one after the other, each with its own batch-wide constants.

    Several devices, or gradient accumulation, split a batch before, and each part is split into groups. If each of
    these equal parts is one group or several whole groups, the groups are those of the undivided batch.

    Attributes:
        sides: `separate`: the first sequences of all pairs are one group and the second ones another, as in the
            released code of Xiong et al. (2021). `together`: both are in the same group.
        examples: largest number of examples in a group, 128 in the released code; None: no limit.
    """

    sides: Sides
    examples: int | None

    def encode(
        self, encode_group: Callable[[Tensor, Tensor | None], Tensor], tokens_BNL: Tensor, valid_BNL: Tensor | None
    ) -> Tensor:
        """Encode `[B, N, L]` to `[B, N, D]`, with one call of `encode_group` for each group."""
        batch, sequences, _ = tokens_BNL.shape
        examples, side = self.examples or batch, 1 if self.sides == "separate" else sequences
        parts = []
        for first in range(0, batch, examples):
            part_sides = []
            for begin in range(0, sequences, side):
                group = (slice(first, first + examples), slice(begin, begin + side))
                valid = None if valid_BNL is None else valid_BNL[group]
                part_sides.append(encode_group(tokens_BNL[group], valid))
            parts.append(torch.cat(part_sides, dim=1))
        return torch.cat(parts)
