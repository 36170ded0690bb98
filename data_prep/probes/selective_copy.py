"""Selective copying: which value has the j-th marked token among tokens of noise?

After selective copying of Poli et al. 2024 (before: Arjovsky et al. 2016, Gu and Dao 2023), which copies all marked
tokens; here a query asks for one of them, because a sequence has one label.

Letters: N examples, L positions.
"""

import numpy as np

from data_prep.probes.drawn import Drawn, numbers_up_to, random_positions
from lra.base.option_types import Count
from lra.types import UserError


def selective_copy(
    rng: np.random.Generator,
    count: int,
    *,
    length: int,
    training: bool,
    marked: Count,
    values: Count,
    noise: Count,
    queries: Count,
) -> Drawn:
    """Draw noise with marked tokens in it, and then the query.

    Args:
        rng: random generator.
        count: number of examples.
        length: L.
        training: whether the number of marked tokens is drawn from 1 to `marked`, evenly; else it is `marked`.
        marked: number of marked tokens.
        values: number of their values, the classes.
        noise: number of different tokens that mean nothing.
        queries: positions with the query, the last ones.

    Raises:
        UserError: for more marked tokens than positions.
    """
    before = length - queries
    if marked > before:
        line = f"task.data.marked={marked} is more than the {before} positions before the query"
        raise UserError(line, kind="contradiction", key="task.data.marked", value=marked, right=before)
    number_N = numbers_up_to(marked, rng, count, training=training)
    value_NL = rng.integers(0, values, (count, before))
    is_marked_NL = random_positions(number_N, rng, count, before)
    asked_N = rng.integers(0, number_N)
    is_asked_NL = is_marked_NL & (np.cumsum(is_marked_NL, axis=1) == 1 + asked_N[:, None])
    noise_NL = 1 + values + rng.integers(0, noise, (count, before))
    query_N = 1 + values + noise + asked_N
    tokens_NL = np.concatenate(
        [np.where(is_marked_NL, 1 + value_NL, noise_NL), np.repeat(query_N[:, None], queries, axis=1)], axis=1
    )
    words = [*(f"*{value}" for value in range(values)), *(f"~{number}" for number in range(noise))]
    return Drawn(tokens_NL, value_NL[is_asked_NL], [*words, *(f"{1 + j}?" for j in range(marked))])
