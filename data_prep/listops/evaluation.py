"""Evaluate many ListOps expressions together, level by level, on flat arrays, and check the rows of files so."""

import itertools
from collections.abc import Iterator

import numpy as np

from lra.data.listops import END, MAX, MED, MIN, SM, ZERO
from lra.types import UserError

ROWS_AT_ONCE = 256  # large enough to use numpy well, small enough to stay in cache


def checked_rows(
    rows: Iterator[tuple[str, str, np.ndarray, int]], *, max_length: int, size: str
) -> Iterator[tuple[str, int]]:
    """Yield expression and value of each row, and check that the expression has this value.

    Args:
        rows: place of the row for errors, expression, its token ids and its stated value.
        max_length: largest number of tokens; a longer expression is refused, because a part of it has another value.
        size: the value of `size=`, for the error.

    Raises:
        UserError: with the place, for a row that is no expression, has a wrong value, or is too long.
    """
    while chunk := list(itertools.islice(rows, ROWS_AT_ONCE)):
        for location, _, ids, _ in chunk:
            check_length(ids, location, max_length=max_length, size=size)
        values, faults = evaluate_rows([ids for _, _, ids, _ in chunk])
        for i, (location, source, _, target) in enumerate(chunk):
            if i in faults:
                raise UserError(f"{location}: no expression, {faults[i]}")
            if target != values[i]:
                raise UserError(f"{location}: the value is {target}, but the expression's is {values[i]}")
            yield source, target


def check_length(ids: np.ndarray, location: str, *, max_length: int, size: str) -> None:
    """Refuse an expression that is too long.

    Raises:
        UserError: with the place.
    """
    if len(ids) > max_length:
        raise UserError(
            f"{location}: {len(ids):,} tokens, but size={size} holds {max_length:,}, and a part of an expression has"
            " another value; type size=full, or source=generate"
        )


def evaluate_rows(rows: list[np.ndarray]) -> tuple[np.ndarray, dict[int, str]]:
    """Evaluate each expression, and find the faults of rows that are no expressions.

    Args:
        rows: token ids (uint8, 1..15) of each expression; at least one row.

    Returns:
        Values 0..9 `[rows]` int64, −1 for a row with a fault; and the faults by number of the row.
    """
    ids, lengths = np.concatenate(rows), np.array([len(ids) for ids in rows])
    values, faults = np.full(len(rows), -1), _faults(ids, lengths)
    well_formed = np.ones(len(rows), bool)
    well_formed[list(faults)] = False
    values[well_formed] = _evaluate(ids[np.repeat(well_formed, lengths)])
    return values, faults


def apply_operators(operators: np.ndarray, values: np.ndarray, starts: np.ndarray, args: np.ndarray) -> np.ndarray:
    """Compute the value of each operator from its arguments.

    Args:
        operators: ids of MIN, MAX, MED, SM `[operators]`.
        values: 0..9, the arguments of all operators, concatenated.
        starts: where each operator's arguments begin in `values`.
        args: number of arguments of each operator, at least 1.
    """
    segment = np.repeat(np.arange(len(args)), args)
    ranked = np.sort(segment * 10 + values) % 10  # sorts the values within each segment
    low, high = ranked[starts + (args - 1) // 2], ranked[starts + args // 2]
    choices = {
        MIN: np.minimum.reduceat(values, starts),
        MAX: np.maximum.reduceat(values, starts),
        MED: (low + high) // 2,
        SM: np.add.reduceat(values, starts) % 10,
    }
    return np.select([operators == operator for operator in choices], list(choices.values()))


def _faults(ids: np.ndarray, lengths: np.ndarray) -> dict[int, str]:
    """Find the rows that are not one complete expression, and the reason, by number of the row."""
    row, count = np.repeat(np.arange(len(lengths)), lengths), len(lengths)
    step = (ids < END).astype(np.int64) - (ids == END)
    depth = np.cumsum(step)  # after each token
    before = np.concatenate([[0], depth])[np.cumsum(lengths) - lengths]  # depth at the end of the row before
    depth -= before[row]
    node_depth = depth - (ids < END)
    closes_nothing = np.bincount(row[depth < 0], minlength=count)
    left_open = np.bincount(row, weights=step, minlength=count) > 0
    bare = np.flatnonzero((ids[:-1] < END) & (ids[1:] == END) & (row[:-1] == row[1:]))
    no_arguments = np.bincount(row[bare], minlength=count)
    roots = np.bincount(row[(ids != END) & (node_depth == 0)], minlength=count)
    faults = {int(i): f"it has {roots[i]} roots" for i in np.flatnonzero(roots != 1)}
    for wrong, fault in (
        (no_arguments, "an operator has no arguments"),
        (left_open, "an operator is not closed"),
        (closes_nothing, "a bracket closes nothing"),
        (lengths == 0, "it is empty"),
    ):
        faults |= {int(i): fault for i in np.flatnonzero(wrong)}  # a row with several faults gets the last one
    return faults


def _evaluate(ids: np.ndarray) -> np.ndarray:
    """Evaluate well-formed expressions that are concatenated."""
    opens, node = ids < END, ids != END
    depth = (np.cumsum(opens.astype(np.int64) - (ids == END)) - opens)[node]
    token, position = ids[node].astype(np.int64), np.arange(len(depth))
    narrow = depth.astype(np.min_scalar_type(depth.max(initial=0)))  # small types are sorted in linear time
    by_depth = np.argsort(narrow, kind="stable")  # within a depth, in reading order
    ends = np.cumsum(np.bincount(depth)) if len(depth) else np.zeros(0, np.int64)
    below_position = below = np.zeros(0, np.int64)  # positions and values of the nodes one level deeper
    for level in reversed(range(len(ends))):
        nodes = by_depth[ends[level - 1] if level else 0 : ends[level]]
        values = token[nodes] - ZERO
        inner = np.flatnonzero(token[nodes] < END)
        if len(inner):
            starts = np.searchsorted(below_position, nodes[inner])  # arguments follow their operator
            args = np.diff(np.append(starts, len(below_position)))
            values[inner] = apply_operators(token[nodes[inner]], below, starts, args)
        below_position, below = position[nodes], values
    return below
