"""ListOps' ids in any order: the symbols are found from the values, or the files are refused."""

import itertools

import numpy as np
import pytest

from data_prep.listops import symbols
from data_prep.listops.generator import generate
from data_prep.listops.symbols import agrees, find_symbols, within_bounds
from lra.data.listops import decode, encode
from lra.types import UserError
from tests.data_prep.pickled_rows import write_pickles


def drawn(count: int, seed: int, min_length: int = 20, max_length: int = 200) -> list[tuple[str, int]]:
    examples = itertools.islice(generate(seed, min_length=min_length, max_length=max_length), count)
    return [(decode(ids), value) for ids, value in examples]


def any_order(seed: int, count: int = 15) -> np.ndarray:
    """The id of each of the first symbols."""
    return np.random.default_rng(seed).permutation(count) + 1


def with_ids(examples: list[tuple[str, int]], order: np.ndarray):
    return [((order[encode(source) - 1],), value) for source, value in examples]


def without_brackets(examples: list[tuple[str, int]], order: np.ndarray):
    """As the benchmark's files before March 2021: 14 symbols."""
    ranks = np.argsort(np.argsort(np.delete(order, 4)))
    known = np.insert(ranks + 1, 4, 0)
    return with_ids([(source.replace(" ]", ""), value) for source, value in examples], known)


def parts(rows):
    return [np.array(ids, np.uint8) for (ids,), _ in rows], np.array([value for _, value in rows])


@pytest.mark.some_fast(1)
@pytest.mark.parametrize("seed", range(5))
def test_symbols_are_found_from_a_few_expressions(seed):
    order = any_order(seed)
    rows, labels = parts(with_ids(drawn(64, seed), order))
    found = find_symbols(rows, labels, "x")
    assert found[order].tolist() == list(range(1, 16))
    assert agrees(rows, labels, found)
    labels[9] = (labels[9] + 1) % 10
    assert not agrees(rows, labels, found)


@pytest.mark.parametrize("seed", range(3))
def test_symbols_are_found_without_brackets(seed):
    order = any_order(seed)
    examples = drawn(2000, seed, 100, 400)
    rows, labels = parts(without_brackets(examples, order))
    found = find_symbols(rows, labels, "x")
    assert [decode(found[row]) for row in rows[:50]] == [source.replace(" ]", "") for source, _ in examples[:50]]
    assert agrees(rows, labels, found)


@pytest.mark.parametrize(
    "expression, label, may_be",
    [
        ("[MIN 4 7 [MAX 1", 4, True),
        ("[MIN 4 7 [MAX 1", 5, False),
        ("[MAX 4 7 [MIN 9", 7, True),
        ("[MAX 4 7 [MIN 9", 6, False),
        ("[SM 4 7 [MIN 9", 6, True),
        ("[MED [MIN 9", 3, True),
        ("4 7", 4, False),
        ("[MAX 4 [MIN", 4, False),
        ("[MAX 4 ]", 4, False),
    ],
)
def test_the_first_digits_bound_the_value(expression, label, may_be):
    assert within_bounds(encode(expression), label) is may_be


def changed(rows, labels, how):
    rng = np.random.default_rng(0)
    if how == "labels of other rows":
        labels = rng.permutation(labels)
    if how == "too few rows":
        rows, labels = rows[:8], labels[:8]
    if how == "one operator":
        kept = [i for i, row in enumerate(rows) if row[0] == rows[0][0]]
        rows, labels = [rows[i] for i in kept], labels[kept]
    if how == "a row that is cut":
        rows[3] = rows[3][:-2]
    if how == "one row many times":
        rows, labels = [rows[0]] * 64, labels[[0] * 64]
    if how == "no operators":
        rows = [row[1:] for row in rows]
    return rows, labels


@pytest.mark.some_fast(4)
@pytest.mark.parametrize(
    "how",
    ["labels of other rows", "too few rows", "one operator", "a row that is cut", "one row many times", "no operators"],
)
@pytest.mark.parametrize("brackets", [True, False])
def test_what_cannot_be_decided_is_refused(how, brackets, monkeypatch):
    monkeypatch.setattr(symbols, "TRIALS", 2)
    examples = drawn(64 if brackets else 1000, 1)
    made = (with_ids if brackets else without_brackets)(examples, any_order(1))
    if how == "a row that is cut" and not brackets:
        pytest.skip("it may have had no more")
    with pytest.raises(UserError, match=r"^x: "):
        find_symbols(*changed(*parts(made), how), "x")


@pytest.mark.slow
def test_each_file_may_have_an_order_of_its_own(prepare, tmp_path):
    sizes = {"train": 200, "dev": 64, "test": 64}
    examples = {split: drawn(count, seed) for seed, (split, count) in enumerate(sizes.items())}
    arrays = []
    for orders in ((1, 1, 1), (2, 3, 4)):
        rows = {
            split: with_ids(part, any_order(seed)) for (split, part), seed in zip(examples.items(), orders, strict=True)
        }
        made = write_pickles(tmp_path / "x", "listops", rows)
        arrays.append(prepare("listops", f"source={made}", "verify=false", "force=true")[0]["arrays"])
    assert arrays[0] == arrays[1]


def test_a_wrong_value_beyond_the_first_rows_is_named(prepare, tmp_path, monkeypatch):
    monkeypatch.setattr(symbols, "FIRST_ROWS", 64)
    rows = {split: with_ids(drawn(100, seed), any_order(1)) for seed, split in enumerate(("train", "dev", "test"))}
    (ids, value) = rows["dev"][80]
    rows["dev"][80] = (ids, (value + 1) % 10)
    line = prepare("listops", f"source={write_pickles(tmp_path / 'x', 'listops', rows)}", "verify=false")
    assert "listops.dev.pickle, row 80: the value is" in line


@pytest.mark.slow
def test_brackets_in_some_files_alone_are_refused(prepare, tmp_path):
    rows = {split: with_ids(drawn(100, seed), any_order(1)) for seed, split in enumerate(("train", "dev", "test"))}
    rows["dev"] = without_brackets(drawn(2000, 1, 100, 400), any_order(1))
    line = prepare("listops", f"source={write_pickles(tmp_path / 'x', 'listops', rows)}", "verify=false")
    assert "only one of them has closing brackets" in line
