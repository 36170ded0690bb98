"""Lag: which token stands `distance` positions before the marks? The range that a method needs is known.

A planted dependency at one distance, as in arXiv 2501.14850 and in the copying tasks before it. With one mark in a
sequence of 64, hardly any method of this encoder learns in a minute; with `marks` of them all can be compared.

Letters: N examples, L positions.
"""

import numpy as np

from data_prep.probes.drawn import Drawn, random_positions
from lra.base.option_types import Count, CountOrZero, Fraction
from lra.types import UserError


def lag(
    rng: np.random.Generator,
    count: int,
    *,
    length: int,
    training: bool,
    distance: CountOrZero,
    marks: Count,
    values: Count,
    noise: Fraction,
) -> Drawn:
    """Draw a label, marked positions, and before each of these, at the distance, the label's token.

    All other tokens are drawn so that each value is as frequent as any other, on average: the tokens alone, without
    their places, say nothing.

    Args:
        rng: random generator.
        count: number of examples.
        length: L.
        training: not used: training examples are as difficult as others.
        distance: from a mark back to its token; 0: the marked token itself, so that no position needs another.
        marks: number of marks; with `marks` · `values` = L, no other token has the label's value.
        values: number of different values, the classes.
        noise: fraction of the marks, in [0, 1), before which stands a token of any value.

    Raises:
        UserError: for marks that have no place in the sequence, or too many of them.
    """
    if distance >= length or marks > length - distance:
        line = f"task.data.marks={marks} at task.data.distance={distance} have no place in {length} tokens"
        raise UserError(f"{line}; type fewer", kind="contradiction", key="task.data.marks", value=marks)
    if marks * values > length:
        right = length // values
        line = f"task.data.marks={marks}: {marks} tokens of one value are more than a {values}th of {length}"
        raise UserError(f"{line}; type {right}", kind="contradiction", key="task.data.marks", value=marks, right=right)
    label_N = rng.integers(0, values, count)
    is_marked_NL = np.zeros((count, length), bool)
    places = length - distance
    is_marked_NL[:, distance:] = random_positions(marks, rng, count, places)
    is_asked_NL = np.zeros((count, length), bool)
    is_asked_NL[:, :places] = is_marked_NL[:, distance:]
    is_asked_NL &= rng.random((count, length)) >= noise
    planted = marks * (1 - noise)
    share = (length / values - planted) / (length - planted)  # of the label among the other tokens
    other_NL = (label_N[:, None] + rng.integers(1, values, (count, length))) % values
    has_label_NL = is_asked_NL | (rng.random((count, length)) < share)
    value_NL = np.where(has_label_NL, label_N[:, None], other_NL)
    words = [*map(str, range(values)), *(f"{value}!" for value in range(values))]
    return Drawn(1 + value_NL + values * is_marked_NL, label_N, words)
