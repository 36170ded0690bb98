"""Words of a group: the product of its elements, in the order in which they stand in the sequence.

The word problem (Merrill et al. 2024, "The Illusion of State in State-Space Models"). Groups of one size differ in what
they ask: `Z60` adds, `A4xZ5` is solvable, `A5` is not, so that no circuit of fixed depth computes its words (if TC⁰ is
not NC¹). In a minute on one core this encoder learns words of a few elements of `S3` or `Z6`, which have six elements
each, and of `Z2`, not of the groups of 60.

Each element fills as many positions as any other, of which some are blank: so short words, of which there are few, make
many different sequences.

Letters: N examples, W elements of a word, L positions.
"""

import itertools
import re

import numpy as np

from data_prep.probes.drawn import Drawn, numbers_up_to, random_positions
from lra.base.option_types import Count, Fraction
from lra.types import UserError

IDENTITY = 0  # number of the identity in each table
LARGEST_SYMMETRIC = 5
LARGEST_CYCLIC = 1000
NAMES = "Zn (such as Z2, Z60), Sn and An for n up to 5, and products such as A4xZ5"


def words(
    rng: np.random.Generator, count: int, *, length: int, training: bool, group: str, word: Count, blanks: Fraction
) -> Drawn:
    """Draw elements, and multiply them from left to right.

    Args:
        rng: random generator.
        count: number of examples.
        length: L, a multiple of `word`.
        training: whether the number of elements is drawn from 1 to `word`, evenly, and the others are the
            identity; else all are drawn, the identity as often as any other.
        group: name of the group; its elements are the classes.
        word: W, number of elements.
        blanks: fraction of positions without their element, in [0, 1), but for the first position of each element.

    Raises:
        UserError: for an unknown group, and a word that does not divide the sequence.
    """
    table = multiplication_table(group)
    if length % word:
        line = f"task.data.word={word} does not divide the {length} positions of a sequence"
        right = max(number for number in range(1, word) if length % number == 0)
        raise UserError(f"{line}; type {right}", kind="contradiction", key="task.data.word", value=word, right=right)
    number_N = numbers_up_to(word, rng, count, training=training)
    is_drawn_NW = random_positions(number_N, rng, count, word)
    element_NW = np.where(is_drawn_NW, rng.integers(0, len(table), (count, word)), IDENTITY)
    product_N = element_NW[:, 0]
    for index in range(1, word):
        product_N = table[product_N, element_NW[:, index]]
    element_NL = np.repeat(element_NW, length // word, axis=1)
    is_first_L = np.arange(length) % (length // word) == 0
    is_blank_NL = (rng.random((count, length)) < blanks) & ~is_first_L
    return Drawn(np.where(is_blank_NL, 1, 2 + element_NL), product_N, ["_", *map(str, range(len(table)))])


def multiplication_table(group: str) -> np.ndarray:
    """Make the table of a group, `[size, size]`: entry (a, b) is the number of a · b. IDENTITY is its identity.

    Raises:
        UserError: for a group that is not known.
    """
    table = np.zeros((1, 1), int)
    for name in group.split("x"):
        factor = _factor(name, group)
        size, pair = len(factor), np.arange(len(table) * len(factor))
        first, second = pair // size, pair % size
        table = table[first[:, None], first] * size + factor[second[:, None], second]
    return table


def _factor(name: str, group: str) -> np.ndarray:
    found = re.fullmatch(r"([ZSA])(\d{1,4})", name)
    kind, number = (found[1], int(found[2])) if found else ("", 0)
    if kind == "Z" and 2 <= number <= LARGEST_CYCLIC:
        return (np.arange(number)[:, None] + np.arange(number)) % number
    if kind in ("S", "A") and 2 + (kind == "A") <= number <= LARGEST_SYMMETRIC:
        return _permutations(number, even=kind == "A")
    line = f"task.data.group={group} is not known; there are {NAMES}"
    raise UserError(line, kind="wrong_value", key="task.data.group", value=group, right=NAMES)


def _permutations(number: int, *, even: bool) -> np.ndarray:
    """Make the table of the permutations of `number` things, or of the even ones, in lexicographic order."""
    every = [*itertools.permutations(range(number))]
    chosen = [each for each in every if not even or _inversions(each) % 2 == 0]
    numbers = {each: index for index, each in enumerate(chosen)}
    return np.array([[numbers[tuple(a[i] for i in b)] for b in chosen] for a in chosen])


def _inversions(permutation: tuple[int, ...]) -> int:
    return sum(first > second for first, second in itertools.combinations(permutation, 2))
