"""Ranks of a matrix, and its approximations from some of its rows and columns.

Letters: R rows, N columns, M landmarks.
"""

import math

import torch
from torch import Tensor


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


def condition(matrix: Tensor) -> float:
    """Compute the median of the condition numbers of some square matrices; infinite for singular ones.

    A number above 1 / ε of the data type is rounding noise, so the matrix counts as singular.
    """
    numbers = torch.linalg.cond(matrix).flatten()
    singular = numbers * torch.finfo(matrix.dtype).eps >= 1
    return float(numbers.masked_fill(singular, math.inf).median())
