"""Associative recall: pairs of a key and a value, then a query for one of the keys; the label is its value.

A pair is one token, so that one layer of attention is enough (the stacked form of multi-query associative recall, Arora
et al. 2024). Of the many queries there, one is left, repeated up to the end of the sequence: the benchmark's encoder
averages over positions. Its value stands nowhere near it, so that an encoder which sees both directions cannot copy it.
Training examples have 1 to `pairs` pairs, dev and test examples `pairs`: with all pairs from the start, exact attention
needs several times the steps.

Letters: N examples, P pairs, L positions.
"""

import numpy as np

from data_prep.probes.drawn import Drawn, numbers_up_to
from lra.base.option_types import Count
from lra.types import UserError


def recall(
    rng: np.random.Generator, count: int, *, length: int, training: bool, pairs: Count, keys: Count, values: Count
) -> Drawn:
    """Draw pairs, each with another key, in random order, and then the query.

    Args:
        rng: random generator.
        count: number of examples.
        length: L, more than `pairs`.
        training: whether the number of pairs is drawn from 1 to `pairs`, evenly; else it is `pairs`.
        pairs: P, at most `keys`.
        keys: number of different keys.
        values: number of different values, the classes.
    """
    number_N = _number_of_pairs(rng, count, pairs=pairs, keys=keys, most=length - 1, training=training)
    pair_NP, query_N, label_N = _pairs(rng, number_N, pairs=pairs, keys=keys, values=values)
    tokens_NL = np.repeat(query_N[:, None], length, axis=1)
    is_pair_NP = np.arange(pairs) < number_N[:, None]
    tokens_NL[:, :pairs][is_pair_NP] = pair_NP[is_pair_NP]
    return Drawn(tokens_NL, label_N, _words(keys=keys, values=values))


def noisy_recall(
    rng: np.random.Generator,
    count: int,
    *,
    length: int,
    training: bool,
    pairs: Count,
    keys: Count,
    values: Count,
    noise: Count,
    queries: Count,
) -> Drawn:
    """Draw pairs among tokens of noise, and then the query (noisy recall, Poli et al. 2024).

    Args:
        rng, count, length, training, pairs, keys, values: see `recall`.
        noise: number of different tokens that mean nothing.
        queries: positions with the query, the last ones.
    """
    number_N = _number_of_pairs(rng, count, pairs=pairs, keys=keys, most=length - queries, training=training)
    pair_NP, query_N, label_N = _pairs(rng, number_N, pairs=pairs, keys=keys, values=values)
    words = _words(keys=keys, values=values)
    tokens_NL = np.repeat(query_N[:, None], length, axis=1)
    before = length - queries
    tokens_NL[:, :before] = 1 + len(words) + rng.integers(0, noise, (count, before))
    place_NP = np.argsort(rng.random((count, before)), axis=1)[:, :pairs]  # distinct, in random order
    is_pair_NP = np.arange(pairs) < number_N[:, None]
    example_NP = np.broadcast_to(np.arange(count)[:, None], place_NP.shape)
    tokens_NL[example_NP[is_pair_NP], place_NP[is_pair_NP]] = pair_NP[is_pair_NP]
    return Drawn(tokens_NL, label_N, [*words, *(f"~{number}" for number in range(noise))])


def _number_of_pairs(
    rng: np.random.Generator, count: int, *, pairs: int, keys: int, most: int, training: bool
) -> np.ndarray:
    """Draw the number of pairs of each example, `[N]`; `most` pairs have a place."""
    if pairs > min(keys, most):
        why = f"more than the {keys} keys" if pairs > keys else f"more than the {most} positions before the query"
        line = f"task.data.pairs={pairs} is {why}"
        raise UserError(line, kind="contradiction", key="task.data.pairs", value=pairs, right=min(keys, most))
    return numbers_up_to(pairs, rng, count, training=training)


def _pairs(
    rng: np.random.Generator, number_N: np.ndarray, *, pairs: int, keys: int, values: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Draw pairs, a query for one of the first `number_N` of them, and its value, as ids of tokens and as a label."""
    count = len(number_N)
    key_NP = np.argsort(rng.random((count, keys)), axis=1)[:, :pairs]
    value_NP = rng.integers(0, values, (count, pairs))
    asked_N = rng.integers(0, number_N)
    example_N = np.arange(count)
    query_N = 1 + keys * values + key_NP[example_N, asked_N]
    return 1 + key_NP * values + value_NP, query_N, value_NP[example_N, asked_N]


def _words(*, keys: int, values: int) -> list[str]:
    """Name the tokens: first all pairs, `k0=0`, `k0=1`, …, then all queries, `k0?`, `k1?`, …."""
    pairs = [f"k{key}={value}" for key in range(keys) for value in range(values)]
    return [*pairs, *(f"k{key}?" for key in range(keys))]
