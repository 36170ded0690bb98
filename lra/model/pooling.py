"""Pooling: one vector per sequence.

Letters: B sequences, N sequences per example, L positions, D model width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lra.base.protocol import Pooling

MEANS = ("padded_mean", "valid_mean")


def make_pooling(name: Pooling, *, vocab_size: int) -> MaskedMean | FirstVector:
    """Make the pooling module that `protocol.pooling` names; `cls` uses the last of `vocab_size` ids for its token."""
    return MaskedMean(name) if name in MEANS else FirstVector(vocab_size - 1)


class MaskedMean(nn.Module):
    """Mean of the vectors at real positions.

    Args:
        over: `padded_mean` divides their sum by L, as the released Nyströmformer code does; `valid_mean` divides it by
            the number of real positions. A sequence without real positions gives a zero vector.
    """

    def __init__(self, over: str):
        super().__init__()
        assert over in MEANS, over
        self.over = over

    def add_token(self, tokens_BNL: Tensor, valid_BNL: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Return the sequences unchanged, because no token has to be added."""
        return tokens_BNL, valid_BNL

    def forward(self, x_BLD: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Pool `[B, L, D]` to `[B, D]`; padded positions are not in the sum."""
        if valid_BL is None:
            return x_BLD.mean(1)
        total_BD = (x_BLD * valid_BL[..., None]).sum(1)
        if self.over == "padded_mean":
            return total_BD / x_BLD.shape[1]
        return total_BD / valid_BL.sum(1, keepdim=True).clamp(min=1)

    def extra_repr(self) -> str:
        """Show the kind of mean when a model is printed."""
        return self.over


class FirstVector(nn.Module):
    """The vector of an extra token before every sequence (CLS in the released code), whose id no sequence contains.

    The sequence keeps its length, so its last position is dropped.
    """

    def __init__(self, token: int):
        super().__init__()
        self.token = token

    def add_token(self, tokens_BNL: Tensor, valid_BNL: Tensor | None) -> tuple[Tensor, Tensor | None]:
        """Put the extra token before every sequence, as a real token."""
        tokens = torch.cat([torch.full_like(tokens_BNL[..., :1], self.token), tokens_BNL[..., :-1]], dim=-1)
        if valid_BNL is None:
            return tokens, None
        return tokens, torch.cat([torch.ones_like(valid_BNL[..., :1]), valid_BNL[..., :-1]], dim=-1)

    def forward(self, x_BLD: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Pool `[B, L, D]` to `[B, D]`."""
        return x_BLD[:, 0]

    def extra_repr(self) -> str:
        """Show the token's id when a model is printed."""
        return f"token={self.token}"


class MarkedPositions(nn.Module):
    """The vectors at marked real positions, which is no pooling: `[M, D]`, in the order of the positions in the batch.

    Args:
        marked_BL: the marked positions, `[B, L]` bool.
    """

    def __init__(self, marked_BL: Tensor):
        super().__init__()
        self.marked_BL = marked_BL

    def forward(self, x_BLD: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Select from `[B, L, D]`."""
        return x_BLD[self.marked_BL]


class LastVector(nn.Module):
    """The vector at the last real position of each sequence; a sequence without real positions gives a zero vector."""

    def forward(self, x_BLD: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Pool `[B, L, D]` to `[B, D]`."""
        if valid_BL is None:
            return x_BLD[:, -1]
        batch, length = valid_BL.shape
        last_B = (valid_BL * torch.arange(1, length + 1, device=valid_BL.device)).argmax(1)
        vector_BD = x_BLD[torch.arange(batch, device=valid_BL.device), last_B]
        return vector_BD.masked_fill(~valid_BL.any(1, keepdim=True), 0)
