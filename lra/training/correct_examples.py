"""Test a model without Lightning, whose import takes longer than the test of a small model."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from lra.training.machine import Machine, inference_on
from lra.types import Batch, to_device


def correct_examples(model: nn.Module, batches: Iterable[Batch], machine: Machine) -> Tensor:
    """Tell which examples a model predicts right, `[examples]` bool; the model is moved to the machine's device."""
    correct = []
    with inference_on(machine, model):
        for batch in batches:
            tokens, valid, label = to_device(batch, machine.device)
            correct.append((model(tokens, valid).argmax(-1) == label).cpu())
    return torch.cat(correct)
