"""Measure how near the Nyström layers of a trained model are to exact attention, for the record of its run.

Letters: B examples, H heads, L positions, N real tokens, R rows of a block, E dims per head, M landmarks.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
from torch import Tensor, nn

from lra.attention.nystrom import NystromAttention
from lra.model.classifier import in_padded_form
from lra.ops.landmarks import landmark_kernel
from lra.ops.linear_algebra import relative_error
from lra.types import Batch, to_device

EXAMPLES = 16
ROWS_BYTES = 8 << 20  # of memory for both matrices that are compared, whatever the length; more is no faster
Measured = TypeVar("Measured")


@dataclass(frozen=True, kw_only=True)
class ApproximationError:
    """Relative errors in the Frobenius norm, as means over examples and heads.

    Attributes:
        pinv_residual: ‖AZA − A‖ / ‖A‖ for kernel 2, A, and its pseudo-inverse Z; 0 if attention is exact.
        attention_error: ‖Ŝ − S‖ / ‖S‖ for the approximated and the exact attention matrix, rows of real tokens only; 0
            if attention is exact.
    """

    pinv_residual: float
    attention_error: float


@torch.no_grad()
def approximation_error(
    backend: NystromAttention, q_BHLE: Tensor, k_BHLE: Tensor, valid_BL: Tensor | None, *, examples: int
) -> ApproximationError:
    """Measure the errors for queries and keys as `forward` gets them, unscaled; `valid_BL` is True at real tokens.

    The L × L attention matrices of the first `examples` examples are compared, `ROWS_BYTES` of them at a time; the
    pseudo-inverse is measured on the whole batch.
    """
    length, scale = q_BHLE.shape[2], backend.dims.head_dim**-0.5
    if backend.is_exact(length):
        return ApproximationError(pinv_residual=0.0, attention_error=0.0)
    q_BHLE, k_BHLE = backend.without_padding(valid_BL, q_BHLE, k_BHLE)
    q_BHME, k_BHME, used_BM = backend.landmarks_of(q_BHLE, k_BHLE, valid_BL)
    a_BHMM = landmark_kernel(q_BHME, k_BHME, used_BM, used_BM)
    eye_BHMM = torch.eye(a_BHMM.shape[-1], dtype=a_BHMM.dtype, device=a_BHMM.device).expand_as(a_BHMM)
    z_BHMM = backend.inverse.apply(q_BHME, k_BHME, used_BM, eye_BHMM)
    residual_BH = relative_error(a_BHMM @ z_BHMM @ a_BHMM, a_BHMM)
    errors = []
    for b in range(min(examples, len(q_BHLE))):
        q_HNE, k_HNE = (x_BHLE[b] if valid_BL is None else x_BHLE[b][:, valid_BL[b]] for x_BHLE in (q_BHLE, k_BHLE))
        if q_HNE.shape[1]:
            used = slice(None) if used_BM is None else used_BM[b]
            kernel_3 = (q_BHME[b][:, used] @ k_HNE.mT * scale).softmax(-1)
            kernel_1 = (q_HNE @ k_BHME[b][:, used].mT * scale).softmax(-1)
            factors = zip(q_HNE * scale, k_HNE, kernel_1, z_BHMM[b][:, used][:, :, used] @ kernel_3, strict=True)
            errors.append(torch.stack([_error_of_product(*of_head) for of_head in factors]))
    return ApproximationError(
        pinv_residual=residual_BH.mean().item(), attention_error=torch.stack(errors).mean().item() if errors else 0.0
    )


def _error_of_product(q_NE: Tensor, k_NE: Tensor, left_NM: Tensor, right_MN: Tensor) -> Tensor:
    """Compute ‖Ŝ − S‖ / ‖S‖ for S = softmax(q kᵀ) and Ŝ = left · right, from blocks of their rows."""
    tokens = len(q_NE)
    rows = min(tokens, max(1, ROWS_BYTES // (2 * tokens * q_NE.element_size())))
    buffer, other_buffer = q_NE.new_empty(2, rows, tokens)  # used again for each block, so that memory does not grow
    norms = []
    for q_RE, left_RM in zip(q_NE.split(rows), left_NM.split(rows), strict=True):
        buffer, other_buffer = buffer[: len(q_RE)], other_buffer[: len(q_RE)]
        torch.matmul(q_RE, k_NE.mT, out=buffer)
        exact_RN = torch.softmax(buffer, -1, out=other_buffer)
        error_RN = torch.addmm(exact_RN, left_RM, right_MN, beta=-1, out=buffer)
        norms.append(torch.stack([torch.linalg.vector_norm(x_RN, dim=-1) for x_RN in (error_RN, exact_RN)]))
    error, exact = torch.linalg.vector_norm(torch.cat(norms, dim=1), dim=1).unbind()
    return torch.div(error, exact)


@torch.inference_mode()
def at_first_calls(
    model: nn.Module, layers: Sequence[nn.Module], batch: Batch, measure: Callable[..., Measured]
) -> list[Measured]:
    """Compute a batch; return what `measure` makes of each attention layer and its inputs q, k, v and valid.

    Of layers that are called several times, tied or for groups of a batch, the first call counts.
    """
    measured: dict[nn.Module, Measured] = {}

    def measure_first(layer: nn.Module, inputs: tuple[Tensor, Tensor, Tensor, Tensor | None]) -> None:
        if layer not in measured:
            measured[layer] = measure(layer, *inputs)

    hooks = [layer.register_forward_pre_hook(measure_first) for layer in layers]
    try:
        with torch.compiler.set_stance("force_eager"):  # a measurement may have branches that depend on data
            in_padded_form(model.eval(), batch.tokens, batch.valid)
    finally:
        for hook in hooks:
            hook.remove()
    return [measured[layer] for layer in layers]


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

    def measure(
        layer: NystromAttention, q: Tensor, k: Tensor, _: Tensor, valid: Tensor | None
    ) -> tuple[int, ApproximationError]:
        return len(q), approximation_error(layer, q, k, valid, examples=EXAMPLES)

    batch = to_device(next(iter(batches)), device)
    sequences, errors = zip(*at_first_calls(model, layers, batch, measure), strict=True)
    residuals = [error.pinv_residual for error in errors]
    attention = [error.attention_error for error in errors]
    if not all(map(math.isfinite, residuals + attention)):
        raise FloatingPointError("they are not finite")
    return {
        "sequences": min(EXAMPLES, sequences[0]),
        "pinv_residual": sum(residuals) / len(layers),
        "pinv_residual_layers": residuals,
        "attention_error": sum(attention) / len(layers),
        "attention_error_layers": attention,
    }
