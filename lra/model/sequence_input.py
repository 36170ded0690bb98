"""What enters the encoder of real-valued sequences: checks, and the embedding of vectors and positions.

Letters: B sequences, L positions, I numbers at a position, T real positions of all sequences, D model width.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from lra.ops.packed.packing import Packing
from lra.types import UserError


class VectorPositionEmbedding(nn.Module):
    """A linear layer plus a learned position embedding, then dropout.

    The table of positions is initialised from N(0, .02²), as that of the benchmark's encoder.
    """

    def __init__(self, *, embed_dim: int, window_size: int, width: int, dropout: float):
        super().__init__()
        self.project = nn.Linear(embed_dim, width)
        self.position = nn.Parameter(torch.empty(window_size, width))
        self.dropout = nn.Dropout(dropout)
        nn.init.normal_(self.position, std=0.02)

    def forward(self, x_BLI: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Embed `[B, L, I]` to `[B, L, D]`; padded positions count as zeros, because NaN times zero is NaN."""
        if valid_BL is not None:
            x_BLI = x_BLI.masked_fill(~valid_BL[..., None], 0)
        x_BLD: Tensor = self.dropout(self.project(x_BLI) + self.position[: x_BLI.shape[1]])
        return x_BLD

    def forward_packed(self, x_BLI: Tensor, packing: Packing) -> Tensor:
        """Embed only the real positions of `[B, L, I]`, to `[T, D]`."""
        x_TD: Tensor = self.project(packing.pack(x_BLI)) + self.position[packing.position_T]
        dropped_TD: Tensor = self.dropout(x_TD)
        return dropped_TD


def checked_vectors(x_BLI: Tensor, embedding: VectorPositionEmbedding) -> Tensor:
    """Return the input, if the embedding can take it.

    Raises:
        UserError: for what is no tensor, another shape, a sequence longer than the window, or another dtype, and for
            weights that are shorter than float32, in which attention would not be accurate.
    """
    _check_tensor("the input", x_BLI)
    embed_dim, window_size = embedding.project.in_features, len(embedding.position)
    shape, weights = list(x_BLI.shape), embedding.project.weight.dtype
    if torch.finfo(weights).bits < 32:
        raise UserError(
            f"the weights are {_word(weights)}, but attention needs at least float32; type encoder.float(), and call it"
            f' under torch.autocast("{x_BLI.device.type}", dtype={weights})'
        )
    if len(shape) != 3 or shape[2] != embed_dim:
        raise UserError(
            f"an input of shape {shape} is not [batch, seq_len, {embed_dim}], as embed_dim={embed_dim} says"
        )
    if shape[1] > window_size:
        raise UserError(
            f"{shape[1]} positions do not fit into window_size={window_size}; build with window_size={shape[1]},"
            f" or give the last ones: x[:, -{window_size}:]"
        )
    if shape[1] == 0:
        raise UserError(f"an input of shape {shape} has no position; a sequence without any needs padding and a mask")
    if x_BLI.dtype != weights and not torch.is_autocast_enabled(x_BLI.device.type):
        raise UserError(
            f"the input is {_word(x_BLI.dtype)}, but the weights are {_word(weights)}; type x.to({weights})"
        )
    return x_BLI


def checked_mask(x_BLI: Tensor, mask: Tensor | None, lengths: Tensor | None) -> Tensor | None:
    """Return the mask of real positions, `[B, L]` bool, which may be given as lengths; None: every position is real.

    Raises:
        UserError: for a mask or lengths that are no tensor or of another shape or dtype, for both, and for lengths
            outside [0, L].
    """
    batch, length, _ = x_BLI.shape
    if mask is not None and lengths is not None:
        raise UserError("mask and lengths both say which positions are real; give one of them")
    if mask is not None:
        _check_tensor("the mask", mask)
        if mask.dtype != torch.bool:
            raise UserError(f"the mask is {_word(mask.dtype)}, not bool, True at real positions; type mask.bool()")
        if mask.shape != (batch, length):
            raise UserError(f"a mask of shape {list(mask.shape)} does not fit the input; it is {[batch, length]}")
        return mask
    if lengths is None:
        return None
    _check_tensor("the lengths", lengths)
    if lengths.is_floating_point() or lengths.dtype == torch.bool:
        raise UserError(f"the lengths are {_word(lengths.dtype)}, not whole numbers; type lengths.long()")
    if lengths.shape != (batch,):
        raise UserError(f"lengths of shape {list(lengths.shape)} do not fit the input; the shape is {[batch]}")
    if not torch.compiler.is_compiling() and batch:  # a compiled graph cannot depend on values
        least, most = int(lengths.min()), int(lengths.max())
        if least < 0 or most > length:
            raise UserError(f"lengths from {least} to {most} are not all in the input's range, 0 to {length}")
    return torch.arange(length, device=x_BLI.device) < lengths.to(x_BLI.device)[:, None]


def _check_tensor(what: str, given: object) -> None:
    if not isinstance(given, Tensor):
        raise UserError(f"{what} must be a tensor, not {type(given).__name__}; type for example torch.as_tensor(…)")


def _word(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")
