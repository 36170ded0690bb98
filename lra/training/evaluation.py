"""Test a trained model without Lightning, whose import takes longer than the test of a small model."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from lra.training.machine import Machine, prepare_machine
from lra.training.precision import autocast_of, with_weights_of
from lra.types import Batch, to_device


@torch.inference_mode()
def correct_predictions(model: nn.Module, batches: Iterable[Batch], machine: Machine) -> Tensor:
    """Tell which examples the model predicts right, as a Trainer's test on one device computes it.

    Args:
        model: maps tokens `[B, N, L]` and their mask to logits `[B, C]`.
        batches: the batches of a split.
        machine: hardware and precision.

    Returns:
        One bool for each example, `[examples]`, on the CPU.
    """
    prepare_machine(machine)
    model = with_weights_of(machine.precision, model).to(machine.device).eval()
    correct = []
    with autocast_of(machine.precision, machine.device):
        for batch in batches:
            tokens, valid, label = to_device(batch, machine.device)
            correct.append((model(tokens, valid).argmax(-1) == label).cpu())
    return torch.cat(correct)
