"""One vector per sequence.

Letters: B sequences, L positions, D model width.
"""

from __future__ import annotations

from torch import Tensor, nn

from lra.ops.packing import Packing
from lra.types import UserError

POOLINGS = ("padded_mean", "valid_mean")


class MaskedMean(nn.Module):
    """Mean of the real positions' vectors.

    Args:
        over: `padded_mean` divides their sum by L (the released Nyströmformer code, behind its table);
            `valid_mean` divides by the number of real positions (0 real positions give a zero vector).
    """

    def __init__(self, over: str):
        super().__init__()
        if over not in POOLINGS:
            raise UserError(
                f"pooling {over!r} is not known; choose one of {', '.join(POOLINGS)}: protocol.pooling=padded_mean"
            )
        self.over = over

    def forward(self, x_BLD: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Pool `[B, L, D]` to `[B, D]`; padded positions never count."""
        if valid_BL is None:
            return x_BLD.mean(1)
        total_BD = (x_BLD * valid_BL[..., None]).sum(1)
        if self.over == "padded_mean":
            return total_BD / x_BLD.shape[1]
        return total_BD / valid_BL.sum(1, keepdim=True).clamp(min=1)

    def divide(self, total_BD: Tensor, packing: Packing) -> Tensor:
        """The same from the sums over packed tokens, in the batch's order."""
        if self.over == "padded_mean":
            return total_BD / packing.length
        return total_BD / packing.unsort(packing.counts_B[:, None]).clamp(min=1)

    def extra_repr(self) -> str:
        """Say the denominator in a printed model."""
        return self.over
