"""A mixer without attention: a gated mean over a position's neighbours.

Letters: B sequences, L positions, D model width.
"""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn.functional import avg_pool1d

from lra.base.option_types import CountOrZero, checked
from lra.model.mixer import MixerDims, SequenceMixer


class AveragingMixer(SequenceMixer):
    """`W(σ(V x) · mean of x over the neighbours)`, where the mean is over real tokens.

    Args:
        dims: dimensions of the encoder.
        radius: number of neighbours on each side, at least 0.
    """

    @checked
    def __init__(self, dims: MixerDims, *, radius: CountOrZero):
        super().__init__(dims)
        self.radius = radius
        self.gate, self.out = nn.Linear(dims.width, dims.width), nn.Linear(dims.width, dims.width)

    def forward(self, x_BLD: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Mix; see the base class."""
        real_BL1 = x_BLD.new_ones(*x_BLD.shape[:2], 1) if valid_BL is None else valid_BL[:, :, None].to(x_BLD)
        sums_BLD, counts_BL1 = self._around(x_BLD * real_BL1), self._around(real_BL1)
        mixed_BLD: Tensor = self.out(self.gate(x_BLD).sigmoid() * sums_BLD / counts_BL1.clamp(min=1e-6))
        return mixed_BLD

    def _around(self, x_BLD: Tensor) -> Tensor:
        """Compute the mean over each position's neighbours, with zeros beyond the ends."""
        return avg_pool1d(x_BLD.mT, 2 * self.radius + 1, stride=1, padding=self.radius).mT
