"""Errors against the number of landmarks: of Nyström attention with each landmark rule, and of its classical forms.

Letters: S sequences, H heads, R rows, N real tokens, M landmarks, X methods or counts.
"""

from collections.abc import Callable, Iterable
from typing import get_args

import torch
from torch import Tensor

from lra.attention.nystrom import LandmarkRule
from lra.diagnosis.low_rank import best_error, classical_nystrom, optimal_cur
from lra.diagnosis.matrices import ExactMatrix, LayerInputs, attention_matrices
from lra.diagnosis.schema import Curve
from lra.diagnosis.swap import LANDMARK_COUNTS, Variants
from lra.ops.landmarks import middle_tokens, valid_segments
from lra.ops.linear_algebra import relative_error

RULES = get_args(LandmarkRule)
APPROXIMATIONS = (*RULES, "classical", "cur", "best")

Errors = tuple[Tensor, Tensor | None]  # of the matrix and of the output, both `[S, H]`


def both_errors(approximations: Iterable[Tensor], exact: list[ExactMatrix]) -> tuple[Tensor, Tensor]:
    """Compute the relative Frobenius errors of matrices and of matrices times values, both `[S, H]`."""
    matrix, output = [], []
    for approximation, of_one in zip(approximations, exact, strict=True):
        matrix.append(relative_error(approximation, of_one.matrix))
        output.append(relative_error(approximation @ of_one.values, of_one.matrix @ of_one.values))
    return torch.stack(matrix), torch.stack(output)


def landmark_tokens(tokens: int, count: int) -> Tensor:
    """Choose the tokens in the middle of near-equal segments; all of them if there are no more than `count`."""
    segments = valid_segments(torch.ones(1, tokens, dtype=torch.bool), count)
    positions, used = middle_tokens(*segments)
    return positions[used]


def from_tokens(one: ExactMatrix, count: int) -> tuple[Tensor, Tensor]:
    """Approximate a matrix from the rows and columns of landmark tokens: classical Nyström, and the optimal CUR."""
    places = landmark_tokens(len(one.columns), count)
    rows_HMN, columns_HRM = one.at(places), one.matrix[..., places]
    return (
        classical_nystrom(columns_HRM, rows_HMN[..., places], rows_HMN),
        optimal_cur(one.matrix, columns_HRM, rows_HMN),
    )


def head_curves(
    inputs: LayerInputs,
    exact: list[ExactMatrix],
    values: list[Tensor],
    variants: Variants,
    advance: Callable[[], object],
) -> list[list[Curve]]:
    """Compute the curves of each head from a layer's inputs, its exact matrices and their singular values `[H, K]`.

    `advance` is called after each number of landmarks.
    """
    length = inputs.q.shape[2]
    counts = [count for count in LANDMARK_COUNTS if count <= length]
    errors: dict[str, list[Errors]] = {method: [] for method in APPROXIMATIONS}
    for count in counts:
        for rule in RULES:
            variant = variants.without_skip(inputs.backend, num_landmarks=count, landmark_rule=rule)
            errors[rule].append(both_errors(attention_matrices(variant, inputs, exact), exact))
        classical, cur = zip(*(from_tokens(one, count) for one in exact), strict=True)
        errors["classical"].append(both_errors(classical, exact))
        errors["cur"].append(both_errors(cur, exact))
        errors["best"].append((torch.stack([best_error(of_one, count) for of_one in values]), None))
        advance()
    return [
        [
            Curve(
                method=method,
                num_landmarks=counts,
                matrix_error=[float(matrix[:, head].mean()) for matrix, _ in points],
                output_error=[float(output[:, head].mean()) for _, output in points if output is not None],
            )
            for method, points in errors.items()
        ]
        for head in range(inputs.q.shape[1])
    ]
