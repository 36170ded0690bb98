"""Errors against the number of landmarks: of Nyström attention with each landmark rule, and of its classical forms.

Ranks of a matrix, and its approximations from some of its rows and columns.

Letters: R rows, N real tokens or columns, M landmarks, K singular values.
"""

import math
import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple, get_args

import torch
from torch import Tensor

from lra.attention.nystrom import LandmarkRule
from lra.ops.landmarks import middle_tokens, valid_segments
from lra.ops.linear_algebra import relative_error
from lra.tools.diagnosis.landmark_matrices import attention_matrices
from lra.tools.diagnosis.matrices import AttentionMatrices, ExactMatrix, LayerInputs
from lra.tools.diagnosis.schema import Curve
from lra.tools.diagnosis.swap import LANDMARK_COUNTS, Variants

RULES = get_args(LandmarkRule)
APPROXIMATIONS = (*RULES, "classical", "cur", "best")


class Errors(NamedTuple):
    """Relative Frobenius errors of an approximation: of the matrix, and of matrix times values, None if not known."""

    matrix: float
    output: float | None


CurveErrors = dict[str, list[Errors]]  # by method, at each number of landmarks


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
    inverse_of_rows = torch.linalg.pinv(rows.mT).mT  # as in `singular_values`
    approximation: Tensor = columns @ (torch.linalg.pinv(columns) @ matrix @ inverse_of_rows) @ rows
    return approximation


def singular_values(matrix_RN: Tensor) -> Tensor:
    """Compute the singular values `[K]`, the largest first, of a matrix with more columns than rows.

    They are those of its transpose, which LAPACK decomposes in a quarter of the time.
    """
    values_K: Tensor = torch.linalg.svdvals(matrix_RN.mT)
    return values_K


def condition(matrices: Tensor) -> Tensor:
    """Compute the condition numbers of square matrices `[..., M, M]`; infinite for singular ones.

    A number above 1 / ε of the data type is rounding noise, so the matrix counts as singular.
    """
    numbers = torch.linalg.cond(matrices)
    singular = numbers * torch.finfo(matrices.dtype).eps >= 1
    return torch.where(singular, math.inf, numbers)


def both_errors(approximation_RN: Tensor, exact: ExactMatrix) -> Errors:
    """Compute the relative Frobenius errors of a matrix and of the matrix times the values."""
    output = relative_error(approximation_RN @ exact.values, exact.matrix @ exact.values)
    return Errors(float(relative_error(approximation_RN, exact.matrix)), float(output))


def landmark_tokens(tokens: int, count: int) -> Tensor:
    """Choose the tokens in the middle of near-equal segments; all of them if there are no more than `count`."""
    segments = valid_segments(torch.ones(1, tokens, dtype=torch.bool), count)
    positions, used = middle_tokens(*segments)
    return positions[used]


def from_tokens(exact: ExactMatrix, count: int) -> CurveErrors:
    """Measure the approximations from the rows and columns of landmark tokens: classical Nyström, the optimal CUR."""
    positions = landmark_tokens(len(exact.columns), count)
    rows_MN, columns_RM = exact.at(positions), exact.matrix[:, positions]
    classical = both_errors(classical_nystrom(columns_RM, rows_MN[:, positions], rows_MN), exact)
    return {
        "classical": [classical],  # its matrix is gone before the next one is made
        "cur": [both_errors(optimal_cur(exact.matrix, columns_RM, rows_MN), exact)],
    }


class LandmarkVariants:
    """Nyström attention with each landmark rule and number of landmarks, prepared for a layer's queries and keys."""

    def __init__(self, inputs: LayerInputs, variants: Variants):
        self.counts = [count for count in LANDMARK_COUNTS if count <= inputs.q.shape[2]]
        self.matrices: dict[tuple[str, int], AttentionMatrices] = {}
        for count in self.counts:
            for rule in RULES:
                variant = variants.without_skip(inputs.backend, num_landmarks=count, landmark_rule=rule)
                self.matrices[rule, count] = attention_matrices(variant, inputs)

    def errors(self, exact: ExactMatrix, values_K: Tensor, advance: Callable[[], object]) -> CurveErrors:
        """Measure all approximations of an exact matrix with the singular values `values_K`.

        `advance` is called after each number of landmarks.
        """
        errors: CurveErrors = {method: [] for method in APPROXIMATIONS}
        for count in self.counts:
            for rule in RULES:
                errors[rule].append(both_errors(self.matrices[rule, count].of(exact), exact))
            for method, measured in from_tokens(exact, count).items():
                errors[method] += measured
            errors["best"].append(Errors(float(best_error(values_K, count)), None))
            advance()
        return errors


def mean_curves(of_sequences: Sequence[CurveErrors], counts: Sequence[int]) -> list[Curve]:
    """Make the curves of a head, as means over its sequences."""
    curves = []
    for method in APPROXIMATIONS:
        points = list(zip(*(errors[method] for errors in of_sequences), strict=True))
        outputs = [[errors.output for errors in point if errors.output is not None] for point in points]
        curves.append(
            Curve(
                method=method,
                num_landmarks=list(counts),
                matrix_error=[statistics.fmean(errors.matrix for errors in point) for point in points],
                output_error=[statistics.fmean(output) for output in outputs if output],
            )
        )
    return curves
