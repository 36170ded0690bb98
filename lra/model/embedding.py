"""Token and position embedding.

Letters: B sequences, L positions, D model width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lra.packed.dropout import DropoutMasks
from lra.packed.ends import embed
from lra.packed.packing import Packing


class TokenPositionEmbedding(nn.Module):
    """Token embedding plus a learned position embedding, then dropout.

    Both tables are initialised from N(0, .02²). Token 0 (padding) has a row like any other token; the mask decides
    where padding is ignored.
    """

    def __init__(self, *, vocab_size: int, seq_len: int, width: int, dropout: float):
        super().__init__()
        self.token = nn.Embedding(vocab_size, width)
        self.position = nn.Parameter(torch.empty(seq_len, width))
        self.dropout = nn.Dropout(dropout)
        for table in (self.token.weight, self.position):
            nn.init.normal_(table, std=0.02)

    def forward(self, tokens_BL: Tensor) -> Tensor:
        """Embed token ids `[B, L]`, L at most `seq_len`, to `[B, L, D]`."""
        length = tokens_BL.shape[1]
        assert length <= len(self.position), f"length {length} > {len(self.position)}"
        x_BLD: Tensor = self.token(tokens_BL) + self.position[:length]
        dropped_BLD: Tensor = self.dropout(x_BLD)
        return dropped_BLD

    def forward_packed(self, tokens_BL: Tensor, packing: Packing, masks: DropoutMasks | None) -> Tensor:
        """Embed only the real tokens of `[B, L]`, to `[T, D]`; without masks there is no dropout."""
        ids_T = packing.pack(tokens_BL)
        return embed(self.token.weight, self.position, ids_T, packing.position_T, masks)
