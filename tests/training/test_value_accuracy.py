"""Loss and accuracy of predicted values are what their definitions say, over batches of any size."""

import pytest
import torch

from lra.training.value_accuracy import ValueAccuracy, value_loss


def test_loss_and_accuracy_are_the_mean_absolute_error():
    generator = torch.Generator().manual_seed(0)
    predicted, values = torch.randn(50, 1, generator=generator), torch.randn(50, generator=generator)
    error = sum(abs(float(a) - float(b)) for a, b in zip(predicted[:, 0], values, strict=True)) / 50
    assert value_loss(predicted, values).item() == pytest.approx(error, rel=1e-5)
    metric = ValueAccuracy(0.25)
    for part in (slice(0, 7), slice(7, 50)):
        metric.update(predicted[part], values[part])
    assert metric.compute().item() == pytest.approx(1 - 0.25 * error, rel=1e-6)


def test_it_is_between_0_and_1():
    metric = ValueAccuracy(1.0)
    metric.update(torch.full((3, 1), 9.0), torch.zeros(3))
    assert metric.compute().item() == 0
    metric.reset()
    metric.update(torch.ones(3, 1), torch.ones(3))
    assert metric.compute().item() == 1
