"""Measure the errors of Nyström attention: of its pseudo-inverse, and of its attention matrix.

Letters: B examples, H heads, L positions, E dims per head, M landmarks.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from lra.attention.nystrom import NystromAttention
from lra.attention.nystrom_inverse import landmark_kernel
from lra.ops.relative_error import relative_error
from lra.ops.softmax import masked_softmax


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
    """Measure the errors for given queries and keys.

    Args:
        backend: the attention.
        q_BHLE, k_BHLE: queries and keys, unscaled, as `forward` gets them.
        valid_BL: True at real tokens; None for all.
        examples: number of examples whose L × L attention matrices are compared, one at a time. The pseudo-inverse is
            measured on the whole batch.
    """
    length, scale = q_BHLE.shape[2], backend.dims.head_dim**-0.5
    if backend.is_exact(length):
        return ApproximationError(pinv_residual=0.0, attention_error=0.0)
    q_BHLE, k_BHLE = backend.without_padding(valid_BL, q_BHLE, k_BHLE)
    q_BHME, k_BHME, used_BM = backend.landmarks_of(q_BHLE, k_BHLE, valid_BL)
    a_BHMM = landmark_kernel(q_BHME, k_BHME, used_BM, used_BM)
    eye_BHMM = torch.eye(a_BHMM.shape[-1], dtype=a_BHMM.dtype, device=a_BHMM.device).expand_as(a_BHMM)
    z_BHMM = backend.inverse.weigh(q_BHME, k_BHME, used_BM, eye_BHMM)
    residual_BH = relative_error(a_BHMM @ z_BHMM @ a_BHMM, a_BHMM)
    errors = []
    for b in range(min(examples, len(q_BHLE))):
        real_L = None if valid_BL is None else valid_BL[b]
        if real_L is not None and not real_L.any():
            continue
        q_HLE = q_BHLE[b] if real_L is None else q_BHLE[b][:, real_L]
        used_M = None if used_BM is None else used_BM[b]
        kernel_1 = masked_softmax(q_HLE @ k_BHME[b].mT * scale, used_M)
        kernel_3 = masked_softmax(q_BHME[b] @ k_BHLE[b].mT * scale, real_L)
        exact_HLL = masked_softmax(q_HLE @ k_BHLE[b].mT * scale, real_L)
        errors.append(relative_error(kernel_1 @ (z_BHMM[b] @ kernel_3), exact_HLL))
    return ApproximationError(
        pinv_residual=residual_BH.mean().item(),
        attention_error=torch.stack(errors).mean().item() if errors else 0.0,
    )
