"""Token and position embedding.

Letters: B sequences, L positions, D model width.
"""

from __future__ import annotations

from torch import Tensor, nn


class TokenPositionEmbedding(nn.Module):
    """Token embedding plus a learned position embedding, then dropout.

    Both tables start as N(0, .02²). Token 0 (padding) has a row like any other: where it may not matter, the mask
    says so.
    """

    def __init__(self, *, vocab_size: int, seq_len: int, width: int, dropout: float):
        super().__init__()
        self.token = nn.Embedding(vocab_size, width)
        self.position = nn.Embedding(seq_len, width)
        self.dropout = nn.Dropout(dropout)
        for table in (self.token, self.position):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, tokens_BL: Tensor) -> Tensor:
        """Embed token ids `[B, L]`, L at most `seq_len`; returns `[B, L, D]`."""
        length = tokens_BL.shape[1]
        assert length <= self.position.num_embeddings, f"length {length} > {self.position.num_embeddings}"
        x_BLD: Tensor = self.token(tokens_BL) + self.position.weight[:length]
        return self.dropout(x_BLD)
