"""How well a trained model's layers approximate exact attention, on real batches."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

from lra.attention.nystrom import NystromAttention
from lra.attention.nystrom_error import ApproximationError, approximation_error
from lra.model.classifier import in_padded_form
from lra.types import Batch

EXAMPLES = 16


def measure_approximation(
    model: nn.Module, batches: Iterable[Batch], device: torch.device
) -> dict[str, float | list[float]] | None:
    """Errors of each Nyström layer of a model, on the first of some batches; None without such layers.

    What a batch-wide constant covers is measured together: the batch's first group, see `lra.model.groups`.

    Returns:
        `sequences` whose matrices were compared; `pinv_residual` and `attention_error`, each a mean over layers, and
        with `_layers` after the name one value for each; see `ApproximationError`.
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
        # The measurement branches on its data, which no compiled graph holds.
        with torch.inference_mode(), torch.compiler.set_stance("force_eager"):
            valid = None if batch.valid is None else batch.valid.to(device)
            in_padded_form(model.eval(), batch.tokens.to(device), valid)
    finally:
        for hook in hooks:
            hook.remove()
    residuals = [errors[layer].pinv_residual for layer in layers]
    attention = [errors[layer].attention_error for layer in layers]
    return {
        "sequences": min(EXAMPLES, sequences[0]),
        "pinv_residual": sum(residuals) / len(layers),
        "pinv_residual_layers": residuals,
        "attention_error": sum(attention) / len(layers),
        "attention_error_layers": attention,
    }
