"""Measure a trained model: which predictions are right, and how near its Nyström layers are to exact attention.

Lightning is not used: its import takes longer than the test of a small model.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import torch
from torch import Tensor, nn

from lra.attention.nystrom import NystromAttention
from lra.attention.nystrom_error import ApproximationError, approximation_error
from lra.model.classifier import in_padded_form
from lra.training.machine import Machine, autocast_context, prepare_machine, to_weight_dtype
from lra.types import Batch, to_device

EXAMPLES = 16


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
    model = to_weight_dtype(machine.precision, model).to(machine.device).eval()
    correct = []
    with autocast_context(machine.precision, machine.device):
        for batch in batches:
            tokens, valid, label = to_device(batch, machine.device)
            correct.append((model(tokens, valid).argmax(-1) == label).cpu())
    return torch.cat(correct)


def measure_approximation(
    model: nn.Module, batches: Iterable[Batch], device: torch.device
) -> dict[str, float | list[float]] | None:
    """Measure the errors of each Nyström layer on the first batch; return None without such layers.

    If a protocol has batch-wide constants, only the batch's first group is measured, see `lra.model.classifier`.

    Returns:
        `sequences`: the number of sequences whose attention matrices were compared. `pinv_residual` and
        `attention_error`: means over the layers, see `ApproximationError`. `pinv_residual_layers` and
        `attention_error_layers`: one value for each layer.

    Raises:
        FloatingPointError: when an error is NaN or infinite.
    """
    layers = [module for module in model.modules() if isinstance(module, NystromAttention)]
    if not layers:
        return None
    batch = next(iter(batches))
    errors: dict[NystromAttention, ApproximationError] = {}
    sequences: list[int] = []

    def note(layer: NystromAttention, inputs: tuple[Tensor, Tensor, Tensor, Tensor | None]) -> None:
        q, k, _, valid = inputs
        if layer in errors:
            return
        sequences.append(len(q))
        errors[layer] = approximation_error(layer, q, k, valid, examples=EXAMPLES)

    hooks = [layer.register_forward_pre_hook(note) for layer in layers]
    try:
        # The measurement has branches that depend on data, so it cannot be compiled.
        with torch.inference_mode(), torch.compiler.set_stance("force_eager"):
            valid = None if batch.valid is None else batch.valid.to(device)
            in_padded_form(model.eval(), batch.tokens.to(device), valid)
    finally:
        for hook in hooks:
            hook.remove()
    residuals = [errors[layer].pinv_residual for layer in layers]
    attention = [errors[layer].attention_error for layer in layers]
    if not all(map(math.isfinite, residuals + attention)):
        raise FloatingPointError("they are not finite")
    return {
        "sequences": min(EXAMPLES, sequences[0]),
        "pinv_residual": sum(residuals) / len(layers),
        "pinv_residual_layers": residuals,
        "attention_error": sum(attention) / len(layers),
        "attention_error_layers": attention,
    }
