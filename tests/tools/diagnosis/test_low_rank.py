"""Ranks and low-rank approximations, on matrices whose answers are known."""

import math

import pytest
import torch

from lra.ops.linear_algebra import relative_error
from lra.tools.diagnosis.curves import (
    best_error,
    classical_nystrom,
    condition,
    effective_rank,
    optimal_cur,
    rank_holding,
)
from tests.reference import low_rank as slow

EYE = torch.eye(6, dtype=torch.float64)
ONE = torch.outer(torch.arange(1.0, 7), torch.arange(2.0, 8)).double()
BLOCKS = torch.block_diag(*(torch.full((3, 3), 1 / 3, dtype=torch.float64) for _ in range(2)))


def of_chance(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64)


@pytest.mark.parametrize("matrix, rank", [(EYE, 6), (ONE, 1), (BLOCKS, 2)], ids=["identity", "rank one", "blocks"])
def test_ranks_of_known_matrices(matrix, rank):
    values = torch.linalg.svdvals(matrix)
    assert effective_rank(values).item() == pytest.approx(rank)
    assert rank_holding(values, 0.99).item() == rank
    assert best_error(values, rank).item() == pytest.approx(0, abs=1e-8)


def test_a_share_of_the_squares():
    values = torch.tensor([3.0, 1.0, 0.1])
    assert rank_holding(values, 0.89).item() == 1
    assert rank_holding(values, 0.99).item() == 2
    assert rank_holding(values, 0.9999).item() == 3
    assert best_error(values, 1).item() == pytest.approx(math.sqrt(1.01 / 10.01))


def test_ranks_equal_the_slow_formulas():
    matrices = of_chance(4, 7, 5)
    for matrix, values in zip(matrices, torch.linalg.svdvals(matrices), strict=True):
        assert effective_rank(values).item() == pytest.approx(slow.effective_rank(matrix))
        for rank in range(5):
            expected = slow.relative_error(slow.truncated(matrix, rank), matrix)
            assert best_error(values, rank).item() == pytest.approx(expected)


def test_the_error_of_classical_nystrom_is_the_schur_complement_of_the_block():
    """A = [[W, B], [C, D]], split by the chosen rows and columns: zero in the first ones, D − C W⁻¹ B elsewhere."""
    matrix = of_chance(9, 8).softmax(-1)
    rows, columns = [1, 4, 6], [0, 3, 7]
    approximation = classical_nystrom(matrix[:, columns], matrix[rows][:, columns], matrix[rows])
    error = matrix - approximation
    rest_rows, rest_columns = slow.others(9, rows), slow.others(8, columns)
    assert error[rows].abs().max() < 1e-12
    assert error[:, columns].abs().max() < 1e-12
    schur = slow.schur_complement(matrix, rows, columns)
    torch.testing.assert_close(error[rest_rows][:, rest_columns], schur)
    assert schur.norm() > 0.01


def test_a_matrix_of_the_rank_of_its_block_has_no_error():
    matrix = of_chance(8, 3) @ of_chance(3, 8)
    parts = matrix[:, [1, 2, 5]], matrix[[0, 3, 7]]
    assert relative_error(classical_nystrom(parts[0], matrix[[0, 3, 7]][:, [1, 2, 5]], parts[1]), matrix) < 1e-9
    assert relative_error(optimal_cur(matrix, *parts), matrix) < 1e-9


def test_no_other_middle_factor_is_nearer_than_the_optimal_one():
    matrix = of_chance(10, 10).softmax(-1)
    columns, rows = matrix[:, [1, 5, 8]], matrix[[1, 5, 8]]
    least = relative_error(optimal_cur(matrix, columns, rows), matrix)
    assert least <= relative_error(classical_nystrom(columns, matrix[[1, 5, 8]][:, [1, 5, 8]], rows), matrix)
    middle = torch.linalg.pinv(columns) @ matrix @ torch.linalg.pinv(rows)
    for _ in range(20):
        other = columns @ (middle + 0.1 * of_chance(3, 3)) @ rows
        assert relative_error(other, matrix) > least
    assert least >= best_error(torch.linalg.svdvals(matrix), 3)


def test_the_spectral_error_is_that_of_the_largest_singular_value():
    exact, approximation = torch.diag(torch.tensor([4.0, 2.0])), torch.diag(torch.tensor([4.0, 1.0]))
    assert relative_error(approximation, exact, 2).item() == pytest.approx(1 / 4)
    assert relative_error(approximation, exact).item() == pytest.approx(1 / math.sqrt(20))


def test_the_condition_of_each_matrix_is_infinite_if_it_is_singular():
    kernels = torch.stack([torch.diag(torch.tensor([1.0, d]).double()) for d in (0.5, 0.1, 0.0)])
    assert condition(kernels).tolist() == [pytest.approx(2), pytest.approx(10), math.inf]
    assert condition(ONE[None]).tolist() == [math.inf], "beyond the precision"
