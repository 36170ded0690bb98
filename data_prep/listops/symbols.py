"""Find which id of a pickle stands for which ListOps symbol.

The pickles' ids are in the order of a Python set, another one each time that the files are made. An assignment of
symbols to ids is right if all labels follow from it. Files without closing brackets, from before March 2021, have no
structure that could be evaluated; there the label is a bound: it is at least each argument of MAX, at most each of MIN.
"""

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from data_prep.listops.evaluation import evaluate_rows
from data_prep.released_pickles import Pickles
from lra.data.listops import END, MAX, MED, MIN, SM, TOKENS, ZERO
from lra.types import UserError

LARGEST_ID = len(TOKENS) - 1  # with closing brackets; one less without
FIRST_ROWS = 4_000  # of a file, from which its symbols are found
ROWS = 64  # different rows that the assignment is searched with; the shortest, because they are evaluated soonest
TRIALS = 40  # starts of the search; the benchmark's files need one
DIGITS = 10


def symbols_of(pickles: Pickles) -> dict[str, np.ndarray]:
    """Find the symbols of each split's file, see `find_symbols`; files that were made together have the same.

    Raises:
        UserError: when they cannot be found, or when only some of the files have closing brackets.
    """
    found: dict[str, np.ndarray] = {}
    for split, path in pickles.files.items():
        read = [(ids.astype(np.uint8), label) for (ids,), label in itertools.islice(pickles.rows(split), FIRST_ROWS)]
        rows, labels = [ids for ids, _ in read], np.array([label for _, label in read])
        if not all(map(len, rows)):
            raise UserError(f"{path}, row {[*map(len, rows)].index(0)}: no expression, it is empty")
        known = next((symbols for symbols in found.values() if agrees(rows, labels, symbols)), None)
        found[split] = find_symbols(rows, labels, str(path)) if known is None else known
        if (END in found[split]) != (END in found["train"]):
            raise UserError(f"{path} and {pickles.files['train']}: only one of them has closing brackets")
    return found


def find_symbols(rows: Sequence[np.ndarray], labels: np.ndarray, where: str) -> np.ndarray:
    """Find the symbol of each id.

    Args:
        rows: ids 1 to 15 of expressions, without padding, at least one; the first ones of a file.
        labels: their values.
        where: the file, for errors.

    Returns:
        The id in `lra.data.listops.TOKENS` by the id in the file `[16]`, 0 for 0 and for ids that are not in use.

    Raises:
        UserError: when the ids can be no symbols, or no assignment, or more than one, agrees with the labels.
    """
    first, last = (np.array([row[index] for row in rows]) for index in (0, -1))
    operators = sorted(set(first.tolist()), key=lambda id_: (labels[first == id_].mean(), id_))
    if len(operators) != 4:
        raise UserError(f"{where}: its expressions begin with {len(operators)} ids, not with the 4 operators")
    middle = sorted(operators[1:3], key=lambda id_: labels[first == id_].std())
    symbols = np.zeros(LARGEST_ID + 1, np.uint8)
    symbols[[operators[0], *middle, operators[3]]] = MIN, MED, SM, MAX
    closed = len(set(last.tolist())) == 1
    if closed:
        symbols[last[0]] = END
    digits = [id_ for id_ in range(1, LARGEST_ID + closed) if not symbols[id_]]
    if len(digits) != DIGITS or (not closed and max(row.max() for row in rows) == LARGEST_ID):
        raise UserError(f"{where}: its ids are no ListOps symbols: a closing bracket ends some expressions, not all")
    search = _by_value if closed else _by_bounds
    found = search(rows, labels, symbols, operators, digits)
    if found is None:
        raise UserError(
            f"{where}: which id is which symbol cannot be told from its first {len(rows):,} rows: their labels agree"
            " with no assignment of symbols to ids, or with several; are rows missing or changed?"
        )
    return found


def agrees(rows: Sequence[np.ndarray], labels: np.ndarray, symbols: np.ndarray) -> bool:
    """Whether some rows have these symbols, for all that their labels tell."""
    decoded = [symbols[row] for row in rows]
    if END in symbols:
        return bool((evaluate_rows(decoded)[0] == labels).all())
    return all(within_bounds(row, label) for row, label in zip(decoded, labels.tolist(), strict=True))


def within_bounds(ids: np.ndarray, label: int) -> bool:
    """Whether an expression without closing brackets may have a value: its first digits are arguments of its root."""
    digits = _first_digits(ids) - ZERO
    fits = {MIN: label <= digits, MAX: label >= digits}.get(int(ids[0]), np.True_)
    return bool(MIN <= ids[0] <= SM and ids[-1] >= ZERO and END not in ids and np.all(fits))


def _first_digits(ids: np.ndarray) -> np.ndarray:
    """Return the digits after the root, up to the next operator."""
    others = np.flatnonzero(ids[1:] < ZERO)
    return ids[1 : 1 + others[0] if len(others) else None].astype(int)


def _by_value(
    rows: Sequence[np.ndarray], labels: np.ndarray, symbols: np.ndarray, operators: list[int], digits: list[int]
) -> np.ndarray | None:
    """Exchange two symbols as long as more labels follow, until all do; None if they never do."""
    different = {row.tobytes(): number for number, row in enumerate(rows)}
    shortest = sorted(different.values(), key=lambda number: len(rows[number]))[:ROWS]
    ids, targets = np.concatenate([rows[i] for i in shortest]), labels[shortest]
    ends = np.cumsum([len(rows[i]) for i in shortest])[:-1]
    pairs = [*itertools.combinations(operators, 2), *itertools.combinations(digits, 2)]

    def disagreement(assigned: np.ndarray) -> tuple[int, int]:
        values, _ = evaluate_rows(np.split(assigned[ids], ends))
        return int((values != targets).sum()), int(np.abs(values - targets).sum())

    rng = np.random.default_rng(0)
    for trial in range(TRIALS):
        assigned = symbols.copy()
        assigned[digits] = ZERO + rng.permutation(DIGITS)
        if trial % 2:
            assigned[operators] = rng.permutation([MIN, MAX, MED, SM])
        best, improved = disagreement(assigned), True
        while improved:
            improved = False
            for a, b in rng.permutation(pairs):
                other = _exchanged(assigned, a, b)
                if (less := disagreement(other)) < best:
                    best, assigned, improved = less, other, True
        if best == (0, 0):
            alone = all(disagreement(_exchanged(assigned, a, b)) > best for a, b in pairs)
            return assigned if alone else None
    return None


def _exchanged(assigned: np.ndarray, a: int, b: int) -> np.ndarray:
    other = assigned.copy()
    other[[a, b]] = assigned[[b, a]]
    return other


def _by_bounds(
    rows: Sequence[np.ndarray], labels: np.ndarray, symbols: np.ndarray, operators: list[int], digits: list[int]
) -> np.ndarray | None:
    """Find the only assignment of digits that the labels of MIN and MAX allow; None if there are several."""
    low, high = np.zeros(LARGEST_ID + 1, int), np.full(LARGEST_ID + 1, DIGITS - 1)
    is_digit = np.isin(np.arange(LARGEST_ID + 1), digits)
    for row, label in zip(rows, labels.tolist(), strict=True):
        arguments = row[1:][np.logical_and.accumulate(is_digit[row[1:]])]
        if symbols[row[0]] == MIN:
            low[arguments] = np.maximum(low[arguments], label)
        if symbols[row[0]] == MAX:
            high[arguments] = np.minimum(high[arguments], label)
    found = list(itertools.islice(_assignments([(low[i], high[i]) for i in digits], set(range(DIGITS))), 2))
    if len(found) != 1:
        return None
    symbols[digits] = ZERO + np.array(found[0])
    return symbols


def _assignments(bounds: list[tuple[int, int]], left: set[int]) -> Iterator[list[int]]:
    """Yield each choice of different digits within bounds."""
    if not bounds:
        yield []
        return
    low, high = bounds[0]
    for digit in sorted(left & set(range(low, high + 1))):
        for others in _assignments(bounds[1:], left - {digit}):
            yield [digit, *others]
