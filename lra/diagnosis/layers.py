"""Find a model's attention layers, and what each of them gets on a batch.

Letters: B sequences, H heads, L positions, E dims per head.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lra.attention.base import AttentionBackend, real_positions
from lra.model.classifier import in_padded_form
from lra.types import Batch, UserError


@dataclass(frozen=True, kw_only=True, eq=False)
class LayerInputs:
    """What an attention layer got for some sequences.

    Attributes:
        backend: the layer's attention.
        q, k, v: queries, keys and values `[B, H, L, E]`, unscaled; zeros at padding, unless the attention reads it.
        valid: `[B, L]`, True at real tokens.
    """

    backend: AttentionBackend
    q: Tensor
    k: Tensor
    v: Tensor
    valid: Tensor

    def attend(self, backend: AttentionBackend, v_BHLE: Tensor) -> Tensor:
        """Let an attention mix values with this layer's queries and keys; it draws what an evaluation pass draws."""
        mixed_BHLE: Tensor = backend.eval()(self.q, self.k, v_BHLE, self.valid)
        return mixed_BHLE


def attentions(model: nn.Module, method: str) -> list[AttentionBackend]:
    """List the attention backends of a model, in the order of its layers; tied layers have one.

    Args:
        model: the model.
        method: its name, for the error.

    Raises:
        UserError: when the model has none.
    """
    backends = [module for module in model.modules() if isinstance(module, AttentionBackend)]
    if not backends:
        raise UserError(
            f"{method} is no attention, so nothing can be compared with softmax attention; choose a run of"
            " another method, or type for example attention=nystrom",
            kind="no_attention",
            value=method,
        )
    return backends


@torch.inference_mode()
def layer_inputs(model: nn.Module, backends: list[AttentionBackend], batch: Batch, sequences: int) -> list[LayerInputs]:
    """Compute a batch, and note what each attention layer gets for its first sequences.

    Of layers that are called several times, tied or for groups of a batch, the first call counts.
    """
    noted: dict[AttentionBackend, LayerInputs] = {}

    def note(backend: AttentionBackend, inputs: tuple[Tensor, Tensor, Tensor, Tensor | None]) -> None:
        if backend not in noted:
            valid_BL = real_positions(inputs[3], inputs[0])
            some = valid_BL.any(1).nonzero().flatten()[:sequences]
            read = valid_BL[some, None, :, None] | backend.reads_padding
            q, k, v = (x[some].float() * read for x in inputs[:3])
            noted[backend] = LayerInputs(backend=backend, q=q, k=k, v=v, valid=valid_BL[some])

    hooks = [backend.register_forward_pre_hook(note) for backend in backends]
    try:
        with torch.compiler.set_stance("force_eager"):
            in_padded_form(model.eval(), batch.tokens, batch.valid)
    finally:
        for hook in hooks:
            hook.remove()
    return [noted[backend] for backend in backends]
