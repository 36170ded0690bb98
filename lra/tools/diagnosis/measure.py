"""Measure each head of an attention layer against exact softmax attention, and its kernel 2 of Nyström attention.

Of kernel 2: its condition, and how fast its pseudo-inverse is approached.

Letters: B sequences, H heads, R rows, N real tokens, K singular values, M landmarks.
"""

import math
import statistics
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import adaptive_avg_pool1d

from lra.attention.nystrom import NystromAttention
from lra.ops.linear_algebra import exact_pinv, iterative_pinv, relative_error
from lra.tools.diagnosis.curves import (
    CurveErrors,
    LandmarkVariants,
    both_errors,
    condition,
    effective_rank,
    mean_curves,
    rank_holding,
    singular_values,
)
from lra.tools.diagnosis.landmark_matrices import attention_matrices, landmark_kernels
from lra.tools.diagnosis.matrices import ExactMatrix, LayerInputs, check_matrix, exact_matrices
from lra.tools.diagnosis.schema import Convergence, Head
from lra.tools.diagnosis.swap import Variants

INVERSE_STEPS = 16  # iterations that are shown
SHARE = 0.99  # of the squared norm
IMAGE_COLUMNS = 2048  # of the image of a matrix, at most; more are no more pixels


class MatrixPair(NamedTuple):
    """Two matrices of a head for their images, see `for_image`, and the number N of tokens, their columns."""

    exact: Tensor
    approximated: Tensor
    tokens: int


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
    """Measure a layer's heads; `advance` is called after each number of landmarks of each head and sequence.

    Returns:
        What was measured of each head, and the exact and the approximated matrix of the first sequence for the first
            `kept` heads.
    """
    backend = inputs.backend
    if isinstance(backend, NystromAttention):  # the value skip does not approximate softmax attention
        backend = variants.without_skip(backend)
    own, mixed_BHLE = attention_matrices(backend, inputs), inputs.attend(backend, inputs.v)
    nystrom, landmark_variants = variants.without_skip(inputs.backend), LandmarkVariants(inputs, variants)
    numbers: list[list[dict[str, float]]] = [[] for _ in range(inputs.q.shape[1])]
    errors: list[list[CurveErrors]] = [[] for _ in numbers]
    pairs: list[MatrixPair] = []
    for exact in exact_matrices(inputs):
        matrix_RN = own.of(exact)
        check_matrix(matrix_RN, exact, mixed_BHLE, backend)
        values_K = singular_values(exact.matrix)
        numbers[exact.head].append(head_numbers(matrix_RN, exact, values_K))
        if len(pairs) < kept and exact.sequence == 0:
            pairs.append(MatrixPair(for_image(exact.matrix), for_image(matrix_RN), tokens=len(exact.columns)))
        del matrix_RN  # before those of the variants are made
        errors[exact.head].append(landmark_variants.errors(exact, values_K, advance))
    kernels, used = landmark_kernels(nystrom, inputs)
    of_kernels = zip(
        conditions(kernels, used),
        convergence(kernels, start=nystrom.inverse.pinv_start, rtol=nystrom.inverse.pinv_rtol),
        strict=True,
    )
    heads = []
    for of_sequences, curves, (number, steps) in zip(numbers, errors, of_kernels, strict=True):
        means = {name: statistics.fmean(one[name] for one in of_sequences) for name in of_sequences[0]}
        heads.append(
            Head(
                **means,  # type: ignore[typeddict-item]
                landmark_condition=number,
                curves=mean_curves(curves, landmark_variants.counts),
                convergence=steps,
            )
        )
    return heads, pairs


def head_numbers(matrix_RN: Tensor, exact: ExactMatrix, values_K: Tensor) -> dict[str, float]:
    """Measure a head's matrix against the exact one, which has the singular values `values_K`."""
    uniform_RN = exact.matrix.new_tensor(1 / len(exact.columns)).expand_as(exact.matrix)
    errors = both_errors(matrix_RN, exact)
    assert errors.output is not None
    return {
        "matrix_error": errors.matrix,
        "spectral_error": float(singular_values(matrix_RN - exact.matrix)[0] / values_K[0]),
        "output_error": errors.output,
        "uniform_error": float(relative_error(uniform_RN, exact.matrix)),
        "effective_rank": float(effective_rank(values_K)),
        "rank_99": float(rank_holding(values_K, SHARE)),
    }


def for_image(matrix_RN: Tensor) -> Tensor:
    """Return a copy of a matrix for an image: of a long sequence with means of neighbouring columns."""
    if matrix_RN.shape[1] <= IMAGE_COLUMNS:
        return matrix_RN.clone()
    return adaptive_avg_pool1d(matrix_RN, IMAGE_COLUMNS)
