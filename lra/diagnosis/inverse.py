"""Kernel 2 of Nyström attention: its condition, and how fast its pseudo-inverse is approached.

Letters: B sequences, H heads, M landmarks, K landmarks in use.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

from lra.attention.nystrom import NystromAttention, landmark_kernel
from lra.diagnosis.layers import LayerInputs
from lra.diagnosis.low_rank import condition
from lra.diagnosis.schema import Convergence
from lra.ops.linear_algebra import exact_pinv, iterative_pinv, relative_error

INVERSE_STEPS = 16  # iterations that are shown


def landmark_kernels(backend: NystromAttention, inputs: LayerInputs) -> tuple[Tensor, Tensor]:
    """Compute kernel 2 in float64, `[B, H, M, M]`, and which landmarks are in use, `[B, M]`."""
    q_BHME, k_BHME, used_BM = backend.landmarks_of(inputs.q, inputs.k, inputs.valid)
    if used_BM is None:
        used_BM = torch.ones(len(q_BHME), q_BHME.shape[2], dtype=torch.bool)
    return landmark_kernel(q_BHME.double(), k_BHME.double(), used_BM, used_BM), used_BM


def conditions(a_BHMM: Tensor, used_BM: Tensor) -> list[float | None]:
    """Compute each head's median condition number of the rows and columns in use; None: the kernel is singular."""
    heads = []
    for a_BMM in a_BHMM.transpose(0, 1):
        numbers = torch.tensor(
            [condition(a[used][:, used]) for a, used in zip(a_BMM, used_BM, strict=True)], dtype=torch.float64
        )
        middle = float(numbers.median())
        heads.append(middle if math.isfinite(middle) else None)
    return heads


def convergence(a_BHMM: Tensor, *, start: str, rtol: float) -> list[Convergence]:
    """Follow the iterative pseudo-inverse in each head, as means over sequences.

    Args:
        a_BHMM: kernel 2, in float64.
        start: how the iteration begins, see `iterative_pinv`.
        rtol: cut-off of the exact pseudo-inverse that it is compared with, see `exact_pinv`.
    """
    exact_BHMM = exact_pinv(a_BHMM, rtol=rtol)
    steps = list(range(1, INVERSE_STEPS + 1))
    residuals, distances = [], []
    for count in steps:
        z_BHMM = iterative_pinv(a_BHMM, iterations=count, start=start)
        residuals.append(relative_error(a_BHMM @ z_BHMM @ a_BHMM, a_BHMM).mean(0).tolist())
        distances.append(relative_error(z_BHMM, exact_BHMM).mean(0).tolist())
    return [
        Convergence(steps=steps, residual=[row[head] for row in residuals], distance=[row[head] for row in distances])
        for head in range(a_BHMM.shape[1])
    ]
