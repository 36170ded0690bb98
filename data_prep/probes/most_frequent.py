"""Which token is the most frequent one? An average over positions is all that it takes (most-freq, Weiss et al. 2021).

Letters: N examples, L positions, C values.
"""

import numpy as np

from data_prep.probes.drawn import Drawn
from lra.base.option_types import AtLeastTwo


def most_frequent(rng: np.random.Generator, count: int, *, length: int, training: bool, values: AtLeastTwo) -> Drawn:
    """Draw tokens at random until one of them is more frequent than each other one.

    Args:
        rng: random generator.
        count: number of examples.
        length: L.
        training: not used: training examples are as difficult as others.
        values: C, number of different tokens, the classes.
    """
    value_NL, label_N = np.zeros((count, length), int), np.zeros(count, int)
    tied = np.arange(count)  # numbers of the examples without a majority so far
    while len(tied):
        drawn_NL = rng.integers(0, values, (len(tied), length))
        times_NC = (drawn_NL[:, :, None] == np.arange(values)).sum(1)
        value_NL[tied], label_N[tied] = drawn_NL, times_NC.argmax(1)
        tied = tied[(times_NC == times_NC.max(1, keepdims=True)).sum(1) > 1]
    return Drawn(1 + value_NL, label_N, [*map(str, range(values))])
