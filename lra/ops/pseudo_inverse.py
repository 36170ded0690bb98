"""The Moore-Penrose pseudo-inverse of the landmark kernel.

Letters: B examples, H heads, M landmarks.
"""

from __future__ import annotations

import torch
from torch import Tensor

# Keeps an all-zero matrix (an example without a real token) from dividing by zero; far below any norm that occurs.
TINY_NORM = 1e-12


def iterative_pinv(a_BHMM: Tensor, *, iterations: int, start: str) -> Tensor:
    """Iterate towards the pseudo-inverse of each M × M matrix with products alone.

    Z ← ¼ Z (13 I − A Z (15 I − A Z (7 I − A Z))), from Z = Aᵀ / (‖A‖₁ ‖A‖∞) (Razavi et al. 2014, as in Xiong et al.
    2021, equation 11). Six iterations do for a softmax kernel; convergence is of third order.

    Args:
        a_BHMM: the matrices.
        iterations: at least 1.
        start: `per_matrix` divides each matrix by its own norms, as the paper's equation does; `batch` divides all by
            the largest norms in the batch, as the released code does, so that an example's result depends on its
            batch-mates.
    """
    absolute = a_BHMM.abs()
    columns, rows = absolute.sum(-2).amax(-1), absolute.sum(-1).amax(-1)
    if start == "batch":
        columns, rows = columns.max(), rows.max()
    z = a_BHMM.mT / (columns * rows).clamp(min=TINY_NORM)[..., None, None]
    eye = torch.eye(a_BHMM.shape[-1], dtype=a_BHMM.dtype, device=a_BHMM.device)
    for _ in range(iterations):
        az = a_BHMM @ z
        z = 0.25 * z @ (13 * eye - az @ (15 * eye - az @ (7 * eye - az)))
    return z


def exact_pinv(a_BHMM: Tensor) -> Tensor:
    """The pseudo-inverse by singular value decomposition: slower, and what the iteration is measured against."""
    return torch.linalg.pinv(a_BHMM)
