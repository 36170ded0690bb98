"""Errors against the number of landmarks: of Nyström attention with each landmark rule, and of its classical forms.

Ranks of a matrix, and its approximations from some of its rows and columns.

Letters: S sequences, H heads, R rows, N real tokens or columns, M landmarks, K singular values.
"""

import math
from collections.abc import Callable, Iterable
from typing import get_args

import torch
from torch import Tensor

from lra.attention.nystrom import LandmarkRule
from lra.diagnosis.matrices import ExactMatrix, LayerInputs, attention_matrices
from lra.diagnosis.schema import Curve
from lra.diagnosis.swap import LANDMARK_COUNTS, Variants
from lra.ops.landmarks import middle_tokens, valid_segments
from lra.ops.linear_algebra import relative_error

RULES = get_args(LandmarkRule)
APPROXIMATIONS = (*RULES, "classical", "cur", "best")


def effective_rank(values: Tensor) -> Tensor:
    """Compute exp(−Σ p ln p) of the singular values `[..., K]`, with p = σ / Σ σ; from 1 to K.

    Source: Roy & Vetterli, The effective rank, EUSIPCO 2007.
    """
    share = values / values.sum(-1, keepdim=True)
    rank: Tensor = torch.special.entr(share).sum(-1).exp()
    return rank


def rank_holding(values: Tensor, share: float) -> Tensor:
    """Count the largest singular values of `[..., K]` whose squares together are at least `share` of all squares."""
    squares = values.square()
    held = squares.cumsum(-1) / squares.sum(-1, keepdim=True)
    return (held < share).sum(-1) + 1


def best_error(values: Tensor, rank: int) -> Tensor:
    """Compute the least relative Frobenius error that a matrix of this rank can have, from the singular values.

    Source: Eckart & Young 1936.
    """
    squares = values.square()
    return (squares[..., rank:].sum(-1) / squares.sum(-1)).sqrt()


def classical_nystrom(columns: Tensor, block: Tensor, rows: Tensor) -> Tensor:
    """Compute C W⁺ R from the columns C `[..., R, M]`, the rows R `[..., M, N]`, and W `[..., M, M]` where they meet.

    It equals the matrix in the chosen rows and columns if W has full rank. In the other places its error is the Schur
    complement D − C W⁻¹ B of the block.
    """
    approximation: Tensor = columns @ torch.linalg.pinv(block) @ rows
    return approximation


def optimal_cur(matrix: Tensor, columns: Tensor, rows: Tensor) -> Tensor:
    """Compute C (C⁺ A R⁺) R of A `[..., R, N]`, which has the least Frobenius error of all C U R (Stewart 1999)."""
    approximation: Tensor = columns @ (torch.linalg.pinv(columns) @ matrix @ torch.linalg.pinv(rows)) @ rows
    return approximation


def condition(matrices: Tensor) -> Tensor:
    """Compute the condition numbers of square matrices `[..., M, M]`; infinite for singular ones.

    A number above 1 / ε of the data type is rounding noise, so the matrix counts as singular.
    """
    numbers = torch.linalg.cond(matrices)
    singular = numbers * torch.finfo(matrices.dtype).eps >= 1
    return torch.where(singular, math.inf, numbers)


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
    # of the matrix and of the output, both `[S, H]`, at each number of landmarks
    errors: dict[str, list[tuple[Tensor, Tensor | None]]] = {method: [] for method in APPROXIMATIONS}
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
