"""Metrics that are added up on the device; only reading them makes the host wait."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torchmetrics import Metric
from torchmetrics.classification import MulticlassAccuracy, MulticlassConfusionMatrix


class MeanLoss(Metric):
    """Mean of losses; a loss that is NaN makes it NaN.

    torchmetrics' MeanMetric reads every value, to look for NaN, and leaves NaN out, so that nobody would notice.
    """

    higher_is_better = False
    full_state_update = False
    mean_value: Tensor  # the sum, under MeanMetric's name for it, which the checkpoints of earlier runs have
    weight: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("mean_value", torch.tensor(0.0), dist_reduce_fx="sum")
        self.add_state("weight", torch.tensor(0.0), dist_reduce_fx="sum")

    def update(self, loss: Tensor, weight: int = 1) -> None:
        """Add a mean over `weight` examples."""
        self.mean_value += loss.to(self.mean_value.dtype) * weight
        self.weight += weight

    def compute(self) -> Tensor:
        """Compute the weighted mean."""
        return self.mean_value / self.weight


def accuracy(num_classes: int) -> MulticlassAccuracy:
    """Make a metric for the fraction of right predictions.

    torchmetrics' check of the labels would wait for the device; a wrong label is an error of the loss anyway.
    """
    return MulticlassAccuracy(num_classes, average="micro", validate_args=False)


def confusion_matrix(num_classes: int) -> Any:
    """Make a metric for the confusion matrix, without a check of the labels, as `accuracy` does."""
    return MulticlassConfusionMatrix(num_classes, validate_args=False)
