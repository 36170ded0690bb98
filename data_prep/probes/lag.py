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

    All other tokens are drawn so that at each position each value is as frequent as any other, on marked tokens and on
    unmarked ones: a token says nothing of the label unless it is seen together with another. At distance 0 it does.

    Args:
        rng: random generator.
        count: number of examples.
        length: L.
        training: not used: training examples are as difficult as others.
        distance: from a mark back to its token; 0: the marked token itself, so that no position needs another.
        marks: number of marks.
        values: number of different values, the classes.
        noise: fraction of the marks, in [0, 1), before which stands a token of any value.

    Raises:
        UserError: for marks that have no place in the sequence, or too many of them.
    """
    places = length - distance
    if places <= values:
        line = f"task.data.marks={marks} at task.data.distance={distance} have no place in {length} tokens"
        raise UserError(f"{line}; type a smaller distance", kind="contradiction", key="task.data.marks", value=marks)
    if marks * values >= places:
        right = (places - 1) // values
        line = f"task.data.marks={marks}: each of {values} values has fewer of the {places} positions to ask for"
        line += f"; type {right}"
        raise UserError(line, kind="contradiction", key="task.data.marks", value=marks, right=right)
    label_N = rng.integers(0, values, count)
    is_marked_NL = np.zeros((count, length), bool)
    is_marked_NL[:, distance:] = random_positions(marks, rng, count, places)
    is_asked_NL = np.zeros((count, length), bool)
    is_asked_NL[:, :places] = is_marked_NL[:, distance:]
    is_asked_NL &= rng.random((count, length)) >= noise
    chance_NL = np.zeros((count, length))  # of being asked, from the position and whether the token is marked
    if distance:
        may_be_marked_L = np.arange(length) >= distance
        chance_NL[:, :places] = ((marks - is_marked_NL) / np.where(may_be_marked_L, places - 1, places))[:, :places]
        chance_NL *= 1 - noise
    has_label_NL = is_asked_NL | (rng.random((count, length)) < (1 / values - chance_NL) / (1 - chance_NL))
    other_NL = (label_N[:, None] + rng.integers(1, values, (count, length))) % values
    value_NL = np.where(has_label_NL, label_N[:, None], other_NL)
    words = [*map(str, range(values)), *(f"{value}!" for value in range(values))]
    return Drawn(1 + value_NL + values * is_marked_NL, label_N, words)
