"""Layers over the positions of a sequence: batch norm over real positions, dropout with one mask for all positions.

Letters: B sequences, L positions, D model width.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout


class BatchNorm(nn.BatchNorm1d):
    """Batch norm of each channel over the positions of all sequences.

    The sequences of a batch depend on each other in training; in evaluation the running averages are used.

    Args:
        width: D.
        eps: what is added to the variance.
        over_padding: whether padded positions count, as in the authors' code of S4; if not, only real ones do.
    """

    batch_wide = True

    def __init__(self, width: int, *, eps: float, over_padding: bool):
        super().__init__(width, eps=eps)
        self.over_padding = over_padding

    def forward(self, x_BLD: Tensor, valid_BL: Tensor | None = None) -> Tensor:
        """Normalise `[B, L, D]`; no shape depends on the mask, so that a GPU does not wait for the host."""
        if valid_BL is None or self.over_padding or not self.training:
            return super().forward(x_BLD.flatten(0, 1)).view_as(x_BLD)
        with torch.autocast(x_BLD.device.type, enabled=False):
            wide_BLD = x_BLD.to(torch.promote_types(x_BLD.dtype, torch.float32))
            valid_BL1 = valid_BL[..., None]
            count = valid_BL1.sum().clamp(min=1)
            mean_D = (wide_BLD * valid_BL1).sum((0, 1)) / count
            centred_BLD = wide_BLD - mean_D
            variance_D = (centred_BLD.square() * valid_BL1).sum((0, 1)) / count
            self._track(mean_D.detach(), variance_D.detach() * count / (count - 1).clamp(min=1))
            return centred_BLD * ((variance_D + self.eps).rsqrt() * self.weight) + self.bias

    def _track(self, mean_D: Tensor, unbiased_D: Tensor) -> None:
        """Move the running averages, as `nn.BatchNorm1d` does."""
        assert self.momentum is not None
        with torch.no_grad():
            for running_D, now_D in ((self.running_mean, mean_D), (self.running_var, unbiased_D)):
                assert running_D is not None
                running_D.lerp_(now_D.to(running_D.dtype), self.momentum)
            assert self.num_batches_tracked is not None
            self.num_batches_tracked.add_(1)


def normalise(norm: nn.Module, x_BLD: Tensor, valid_BL: Tensor | None) -> Tensor:
    """Apply a LayerNorm, a `BatchNorm` or no norm."""
    out_BLD: Tensor = norm(x_BLD, valid_BL) if isinstance(norm, BatchNorm) else norm(x_BLD)
    return out_BLD


class TiedDropout(nn.Dropout):
    """Dropout of whole channels of a sequence `[B, L, D]`: one mask for all positions."""

    def forward(self, x_BLD: Tensor) -> Tensor:
        """Drop channels in training."""
        if not self.training or not self.p:
            return x_BLD
        return x_BLD * dropout(torch.ones_like(x_BLD[:, :1]), self.p)


def make_dropout(rate: float, *, tied: bool) -> nn.Dropout:
    """Make dropout of single numbers, or of whole channels of a sequence."""
    return TiedDropout(rate) if tied else nn.Dropout(rate)
