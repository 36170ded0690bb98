"""The relative error of a matrix."""

from __future__ import annotations

import torch
from torch import Tensor


def relative_error(approximation: Tensor, exact: Tensor, norm: str | int = "fro") -> Tensor:
    """Compute ‖approximation − exact‖ / ‖exact‖ over the last two dimensions; `norm` 2 is the spectral norm.

    Zeros in place of zeros, as in a sequence without real tokens, are no error.
    """
    error: Tensor = torch.linalg.matrix_norm(approximation - exact, norm)
    return torch.where(error == 0, error, error / torch.linalg.matrix_norm(exact, norm))
