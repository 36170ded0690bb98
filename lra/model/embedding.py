"""Token and position embedding.

Letters: B sequences, L positions, D model width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lra.model.form import EncoderForm
from lra.ops.packed.dropout import DropoutMasks
from lra.ops.packed.layers import embed
from lra.ops.packed.packing import Packing


class TokenPositionEmbedding(nn.Module):
    """Token embedding plus a learned position embedding, then dropout; `form` may add token types and a LayerNorm.

    The tables are initialised from N(0, .02²). Token 0 (padding) has a row like any other token; the mask decides
    where padding is ignored.
    """

    def __init__(self, *, vocab_size: int, seq_len: int, width: int, dropout: float, form: EncoderForm):
        super().__init__()
        self.first = form.first_position
        self.token = nn.Embedding(vocab_size, width)
        self.position = nn.Parameter(torch.empty(self.first + seq_len, width))
        self.token_type = nn.Embedding(form.token_types, width) if form.token_types else None
        self.norm = nn.LayerNorm(width, eps=form.norm_eps) if form.norm == "post" else None
        self.dropout = nn.Dropout(dropout)
        types = [] if self.token_type is None else [self.token_type.weight]
        for table in (self.token.weight, self.position, *types):
            nn.init.normal_(table, std=0.02)

    def forward(self, tokens_BL: Tensor, types_BL: Tensor | None = None) -> Tensor:
        """Embed token ids `[B, L]`, L at most `seq_len`, to `[B, L, D]`; without `types_BL` every type is 0."""
        end = self.first + tokens_BL.shape[1]
        assert end <= len(self.position), f"length {tokens_BL.shape[1]} > {len(self.position) - self.first}"
        x_BLD: Tensor = self.token(tokens_BL)
        if self.token_type is not None:
            x_BLD = x_BLD + self.token_type(torch.zeros_like(tokens_BL) if types_BL is None else types_BL)
        x_BLD = x_BLD + self.position[self.first : end]
        if self.norm is not None:
            x_BLD = self.norm(x_BLD)
        dropped_BLD: Tensor = self.dropout(x_BLD)
        return dropped_BLD

    def forward_packed(self, tokens_BL: Tensor, packing: Packing, masks: DropoutMasks | None) -> Tensor:
        """Embed only the real tokens of `[B, L]`, to `[T, D]`; without masks there is no dropout."""
        ids_T = packing.pack(tokens_BL)
        return embed(self.token.weight, self.position, ids_T, packing.position_T, masks)
