"""The dropout layer of the encoder."""

from __future__ import annotations

from torch import Tensor, nn

from lra.ops.dropout import dropout


class Dropout(nn.Dropout):
    """torch's Dropout with masks that cost little on a CPU (`lra.ops.dropout`)."""

    def forward(self, x: Tensor) -> Tensor:
        """Drop in training, keep in evaluation."""
        return dropout(x, self.p) if self.training else x
