"""Loss and accuracy of predicted pixel values, in place of cross-entropy and the fraction of right classes."""

import torch
from torch import Tensor
from torch.nn.functional import l1_loss
from torchmetrics import Metric


def value_loss(predicted_M1: Tensor, values_M: Tensor) -> Tensor:
    """Compute the mean absolute error of values that were predicted."""
    return l1_loss(predicted_M1.squeeze(-1), values_M)


class ValueAccuracy(Metric):
    """1 − mean absolute error / range of the values, in [0, 1]: 1 is perfect, and an error of the whole range is 0.

    Args:
        scale: the range of the values is 1 / scale; that of standardised pixels is 1 / std.
    """

    error: Tensor
    count: Tensor

    def __init__(self, scale: float):
        super().__init__()
        self.scale = scale
        self.add_state("error", torch.tensor(0.0, dtype=torch.float64), dist_reduce_fx="sum")
        self.add_state("count", torch.tensor(0), dist_reduce_fx="sum")

    def update(self, predicted_M1: Tensor, values_M: Tensor) -> None:
        """Add predictions."""
        self.error += (predicted_M1.squeeze(-1) - values_M).abs().double().sum()
        self.count += values_M.numel()

    def compute(self) -> Tensor:
        """Compute the accuracy."""
        return (1 - self.scale * self.error / self.count).clamp(min=0).float()
