"""Measure each head of an attention layer against exact softmax attention, and its kernel 2 of Nyström attention.

Of kernel 2: its condition, and how fast its pseudo-inverse is approached.

Letters: B or S sequences, H heads, R rows, N real tokens, K singular values, M landmarks.
"""

import math
from collections.abc import Callable

import torch
from torch import Tensor

from lra.attention.nystrom import NystromAttention
from lra.diagnosis.curves import both_errors, condition, effective_rank, head_curves, rank_holding
from lra.diagnosis.matrices import LayerInputs, attention_matrices, check_matrices, exact_matrices
from lra.diagnosis.schema import Convergence, Head
from lra.diagnosis.swap import Variants
from lra.ops.landmarks import landmark_kernel
from lra.ops.linear_algebra import exact_pinv, iterative_pinv, relative_error

INVERSE_STEPS = 16  # iterations that are shown
SHARE = 0.99  # of the squared norm
MatrixPair = tuple[Tensor, Tensor]


def landmark_kernels(backend: NystromAttention, inputs: LayerInputs) -> tuple[Tensor, Tensor]:
    """Compute kernel 2 in float64, `[B, H, M, M]`, and which landmarks are in use, `[B, M]`."""
    q_BHME, k_BHME, used_BM = backend.landmarks_of(inputs.q, inputs.k, inputs.valid)
    if used_BM is None:
        used_BM = torch.ones(len(q_BHME), q_BHME.shape[2], dtype=torch.bool)
    return landmark_kernel(q_BHME.double(), k_BHME.double(), used_BM, used_BM), used_BM


def conditions(a_BHMM: Tensor, used_BM: Tensor) -> list[float | None]:
    """Compute each head's median condition number of the rows and columns in use; None: the kernel is singular."""
    numbers_BH = torch.stack([condition(a[:, used][:, :, used]) for a, used in zip(a_BHMM, used_BM, strict=True)])
    return [number if math.isfinite(number) else None for number in numbers_BH.median(0).values.tolist()]


def convergence(a_BHMM: Tensor, *, start: str, rtol: float) -> list[Convergence]:
    """Follow the iterative pseudo-inverse of kernel 2, in float64, in each head, as means over sequences.

    `start` and the cut-off `rtol` of the exact pseudo-inverse, which it is compared with: see `iterative_pinv`,
    `exact_pinv`.
    """
    exact_BHMM = exact_pinv(a_BHMM, rtol=rtol)
    steps = list(range(1, INVERSE_STEPS + 1))
    residuals, distances = [], []
    for count in steps:
        z_BHMM = iterative_pinv(a_BHMM, iterations=count, start=start)
        residuals.append(relative_error(a_BHMM @ z_BHMM @ a_BHMM, a_BHMM).mean(0))
        distances.append(relative_error(z_BHMM, exact_BHMM).mean(0))
    of_heads = zip(torch.stack(residuals, dim=1).tolist(), torch.stack(distances, dim=1).tolist(), strict=True)
    return [Convergence(steps=steps, residual=residual, distance=distance) for residual, distance in of_heads]


@torch.inference_mode()
def measure_layer(
    inputs: LayerInputs, variants: Variants, advance: Callable[[], object], *, kept: int = 0
) -> tuple[list[Head], list[MatrixPair]]:
    """Measure a layer's heads; `advance` is called after each number of landmarks.

    Returns:
        What was measured of each head, and the exact and the approximated matrix of the first sequence, `[R, N]` each,
            for the first `kept` heads.
    """
    exact = exact_matrices(inputs)
    backend = inputs.backend
    if isinstance(backend, NystromAttention):  # the value skip does not approximate softmax attention
        backend = variants.without_skip(backend)
    own = attention_matrices(backend, inputs, exact)
    check_matrices(own, backend, inputs, exact)
    matrix_SH, output_SH = both_errors(own, exact)
    spectral_SH = torch.stack([relative_error(matrix, one.matrix, 2) for matrix, one in zip(own, exact, strict=True)])
    uniform = (torch.full_like(one.matrix, 1 / len(one.columns)) for one in exact)
    values = [torch.linalg.svdvals(one.matrix) for one in exact]
    nystrom = variants.without_skip(inputs.backend)
    kernels, used = landmark_kernels(nystrom, inputs)
    means = {
        "matrix_error": matrix_SH.mean(0),
        "spectral_error": spectral_SH.mean(0),
        "output_error": output_SH.mean(0),
        "uniform_error": both_errors(uniform, exact)[0].mean(0),
        "effective_rank": _mean([effective_rank(of_one) for of_one in values]),
        "rank_99": _mean([rank_holding(of_one, SHARE) for of_one in values]),
    }
    parts = zip(
        conditions(kernels, used),
        head_curves(inputs, exact, values, variants, advance),
        convergence(kernels, start=nystrom.inverse.pinv_start, rtol=nystrom.inverse.pinv_rtol),
        strict=True,
    )
    heads = [
        Head(
            **{name: float(numbers[head]) for name, numbers in means.items()},  # type: ignore[typeddict-item]
            landmark_condition=number,
            curves=curves,
            convergence=steps,
        )
        for head, (number, curves, steps) in enumerate(parts)
    ]
    return heads, [(exact[0].matrix[head].clone(), own[0][head].clone()) for head in range(min(kept, len(heads)))]


def _mean(of_sequences: list[Tensor]) -> Tensor:
    return torch.stack(of_sequences).double().mean(0)
