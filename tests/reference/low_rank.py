"""Slow twins of the ranks and low-rank approximations of lra.tools.diagnosis, entry by entry, from the definitions."""

import math

import torch
from torch import Tensor


def effective_rank(matrix: Tensor) -> float:
    """exp of the entropy of the normalised singular values (Roy & Vetterli 2007, definition 1)."""
    values = torch.linalg.svdvals(matrix).tolist()
    shares = [value / sum(values) for value in values]
    return math.exp(-sum(share * math.log(share) for share in shares if share > 0))


def truncated(matrix: Tensor, rank: int) -> Tensor:
    """The matrix with all singular values but the largest `rank` set to 0."""
    u, values, v = torch.linalg.svd(matrix, full_matrices=False)
    return (u[:, :rank] * values[:rank]) @ v[:rank]


def relative_error(approximation: Tensor, exact: Tensor) -> float:
    """The square root of the sum of squares, one entry at a time."""
    apart = sum(float(a - b) ** 2 for a, b in zip(approximation.flatten(), exact.flatten(), strict=True))
    return math.sqrt(apart / sum(float(b) ** 2 for b in exact.flatten()))


def others(count: int, chosen: list[int]) -> list[int]:
    """The numbers below `count` that are not chosen."""
    return [number for number in range(count) if number not in chosen]


def schur_complement(matrix: Tensor, rows: list[int], columns: list[int]) -> Tensor:
    """D − C W⁻¹ B for the block W of the chosen rows and columns."""
    rest_rows, rest_columns = others(len(matrix), rows), others(matrix.shape[1], columns)
    w, b = matrix[rows][:, columns], matrix[rows][:, rest_columns]
    c, d = matrix[rest_rows][:, columns], matrix[rest_rows][:, rest_columns]
    return d - c @ torch.linalg.inv(w) @ b


def exact_attention(q: Tensor, k: Tensor) -> Tensor:
    """softmax(q kᵀ / √E) of one head, `[L, E]` to `[L, L]`, one row at a time."""
    rows = []
    for query in q:
        weights = [math.exp(float(query @ key) / math.sqrt(q.shape[1])) for key in k]
        rows.append(torch.tensor([weight / sum(weights) for weight in weights], dtype=q.dtype))
    return torch.stack(rows)
