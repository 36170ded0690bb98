"""Draw ListOps expressions from the benchmark's distribution, many at a time.

At depth d < 10 a node is an operator with probability .25, else a uniform digit. The root has depth 1. The number of
arguments is uniform from 2 to 10. A tree is kept if min < length < max, where an operator counts 2 (for itself and its
bracket) and a digit 1 (Tay et al. 2021, after Nangia and Bowman 2018). Trees grow level by level as flat arrays; a
recursive reference implementation in the tests draws one tree at a time.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from data_prep.listops.evaluation import apply_operators
from lra.data.listops import END, MIN, SM, ZERO
from lra.types import UserError

MAX_DEPTH, MAX_ARGS, OPERATOR_SHARE = 10, 10, 0.25
FRUITLESS_DRAWS = 200  # draws in a row without a new expression, before it is said that there is none
ROOTS_PER_DRAW = 2048  # large enough to use numpy well, small enough to stay in cache


@dataclass
class Level:
    """All nodes of one depth, in order; the children of a parent are neighbours.

    Attributes:
        tree: number of the tree that each node belongs to.
        token: token id, an operator or a digit.
        args: number of arguments, 0 for a digit.
    """

    tree: np.ndarray
    token: np.ndarray
    args: np.ndarray


def generate(seed: int, *, min_length: int, max_length: int) -> Iterator[tuple[np.ndarray, int]]:
    """Yield distinct expressions endlessly, as token ids uint8 and value 0..9; equal arguments give equal ones.

    Raises:
        UserError: when no expression of these lengths is left.
    """
    rng = np.random.default_rng(seed)
    seen: set[bytes] = set()
    fruitless = 0
    while fruitless < FRUITLESS_DRAWS:
        before = len(seen)
        for ids, value in draw(rng, ROOTS_PER_DRAW, min_length=min_length, max_length=max_length):
            digest = hashlib.blake2b(ids.tobytes(), digest_size=16).digest()
            if digest not in seen:
                seen.add(digest)
                yield ids, value
        fruitless = fruitless + 1 if len(seen) == before else 0
    raise UserError(
        f"there are {len(seen):,} ListOps expressions of more than {min_length} and fewer than {max_length} tokens, as"
        f" far as {FRUITLESS_DRAWS} draws of {ROOTS_PER_DRAW} tell; ask for fewer examples, or type a larger max_length"
    )


def draw(rng: np.random.Generator, roots: int, *, min_length: int, max_length: int) -> Iterator[tuple[np.ndarray, int]]:
    """Draw `roots` trees with an operator as root, and yield those that are kept; a single digit would be too short."""
    levels, lengths = _grow(rng, roots, max_length)
    kept = (lengths > min_length) & (lengths < max_length)
    if not kept.any():
        return
    levels = _select(levels, kept)
    values, sizes = _fold(levels)
    starts = np.cumsum(sizes[0]) - sizes[0]
    flat = _write(levels, sizes, starts)
    for start, size, value in zip(starts.tolist(), sizes[0].tolist(), values.tolist(), strict=True):
        yield flat[start : start + size], value


def _grow(rng: np.random.Generator, roots: int, max_length: int) -> tuple[list[Level], np.ndarray]:
    """Draw level after level; a tree that becomes longer than `max_length` stops growing."""
    tree, operator = np.arange(roots), np.ones(roots, bool)
    lengths = np.zeros(roots, np.int64)
    levels = []
    for depth in range(1, MAX_DEPTH + 1):
        if depth > 1:
            operator = rng.random(len(tree)) < OPERATOR_SHARE if depth < MAX_DEPTH else np.zeros(len(tree), bool)
        args = np.where(operator, rng.integers(2, MAX_ARGS + 1, len(tree)), 0)
        token = np.where(operator, rng.integers(MIN, SM + 1, len(tree)), ZERO + rng.integers(0, 10, len(tree)))
        lengths += np.bincount(tree, weights=1 + operator, minlength=roots).astype(np.int64)
        args[lengths[tree] >= max_length] = 0  # no arguments are drawn for a tree that is dropped anyway
        levels.append(Level(tree, token, args))
        tree = np.repeat(tree, args)
        if not len(tree):
            break
    return levels, lengths


def _select(levels: list[Level], kept: np.ndarray) -> list[Level]:
    """Copy the levels with only the nodes of the kept trees."""
    chosen = []
    for level in levels:
        mask = kept[level.tree]
        if not mask.any():
            break
        chosen.append(Level(level.tree[mask], level.token[mask], level.args[mask]))
    return chosen


def _fold(levels: list[Level]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Compute the values of the roots, and each node's size in tokens, from the deepest level up."""
    values = np.zeros(0, np.int64)
    sizes: list[np.ndarray] = []
    for level in reversed(levels):
        inner = level.args > 0
        own, size = level.token - ZERO, np.ones(len(level.token), np.int64)
        if inner.any():
            args = level.args[inner]
            starts = np.cumsum(args) - args
            own[inner] = apply_operators(level.token[inner], values, starts, args)
            size[inner] = 2 + np.add.reduceat(sizes[0], starts)
        values, sizes = own, [size, *sizes]
    return values, sizes


def _write(levels: list[Level], sizes: list[np.ndarray], positions: np.ndarray) -> np.ndarray:
    """Write the tokens of all kept trees in reading order, one tree after the other, from the top level down."""
    flat = np.zeros(int(sizes[0].sum()) if sizes else 0, np.uint8)
    for depth, level in enumerate(levels):
        flat[positions] = level.token
        inner = level.args > 0
        flat[(positions + sizes[depth])[inner] - 1] = END
        if depth + 1 == len(levels):
            break
        args, below = level.args[inner], sizes[depth + 1]
        before = np.cumsum(below) - below  # number of tokens of earlier nodes of this level
        starts = np.cumsum(args) - args
        positions = before + np.repeat(positions[inner] + 1 - before[starts], args)
    return flat
