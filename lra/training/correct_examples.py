"""Test a model without Lightning, whose import takes longer than the test of a small model."""

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from lra.training.machine import Machine, autocast_context, prepare_machine, to_weight_dtype
from lra.types import Batch, to_device


def correct_examples(model: nn.Module, batches: Iterable[Batch], machine: Machine) -> Tensor:
    """Tell which examples a model predicts right, `[examples]` bool; the model is moved to the machine's device."""
    prepare_machine(machine)
    model = to_weight_dtype(machine.precision, model).to(machine.device).eval()
    correct = []
    with torch.inference_mode(), autocast_context(machine.precision, machine.device):
        for batch in batches:
            tokens, valid, label = to_device(batch, machine.device)
            correct.append((model(tokens, valid).argmax(-1) == label).cpu())
    return torch.cat(correct)
