"""The sentences above a comparison say what its verdicts say, and no more."""

import re
from collections import defaultdict

import pytest

from lra.runs.record import parse_record
from lra.tables.comparison import contenders
from lra.tables.result_sentences import result_sentences
from lra.tables.seeds_needed import enough_seeds
from lra.tables.variants import RowKey
from tests.conftest import ROOT
from tests.tables.records import make_record
from tests.tables.test_comparison import make

FILES = sorted(path.name for path in (ROOT / "runs/published").glob("*.jsonl") if "identity" in path.read_text()[:99])
FULL, BETTER, NEAR = make("full", (0.36, 0.37, 0.38)), make("nystrom", (0.43, 0.44, 0.445)), (0.365, 0.392, 0.414)


def names_said(sentences: list[str], pattern: str, names: list[str]) -> set[str]:
    """The names in front of some words, in the parts of sentences that have these words."""
    said = set()
    for part in [part for sentence in sentences for part in sentence.split("; ")]:
        before, words, _ = re.split(rf"({pattern})", part, maxsplit=1) if re.search(pattern, part) else ("", "", "")
        for name in sorted(names, key=len, reverse=True):  # a short one may be the beginning of a long one
            if words and name in before:
                said.add(name)
                before = before.replace(name, "")
    return said


def groups_of(file: str) -> list[list]:
    groups = defaultdict(list)
    for line in (ROOT / "runs/published" / file).read_text().splitlines():
        record = parse_record(line, file)
        identity = record["identity"]
        groups[identity["task"], identity["protocol"], identity["size"]].append(record)
    return list(groups.values())


@pytest.mark.some_fast(4)
@pytest.mark.parametrize("file", FILES)
def test_what_is_called_better_or_worse_is_what_the_verdicts_call_significant(file):
    for records in groups_of(file):
        compared = contenders(records)
        sentences = result_sentences(compared)
        names = [row.name for row in compared[1:]]
        over_seeds = sentences[:1] if any(row.significant is not None for row in compared) else []
        for sign, word in ((1, "better"), (-1, "worse")):
            called = {row.name for row in compared if row.significant and sign * row.over_seeds.difference > 0}
            assert names_said(over_seeds, f"(?:is|are) {word} than", names) == called
        undecided = {row.name for row in compared if row.significant is False}
        assert names_said(over_seeds, "cannot be told", names) == undecided
        assert bool(sentences) == (len(compared) > 1)
        for row in compared[1:]:
            assert any(row.name in sentence for sentence in sentences)


def test_a_difference_has_its_numbers_and_what_cannot_be_told_the_seeds_that_would():
    compared = contenders([*FULL, *make("linformer", NEAR), *BETTER], RowKey("full"))
    (sentence,) = result_sentences(compared)
    rows = {row.name: row for row in compared}
    interval = rows["nystrom"].over_seeds
    assert f"by {interval.difference:.2f} points [{interval.low:.2f}, {interval.high:.2f}]" in sentence
    needed = enough_seeds({name: row.cell.accuracies for name, row in rows.items()}, "linformer", "full")
    assert f"with 3 seeds, {needed} would" in sentence
    assert rows["linformer"].verdict == f"3 seeds cannot tell; {needed} would"


def test_a_worse_row_has_the_size_of_its_difference():
    compared = contenders([*FULL, *BETTER], RowKey("nystrom"))
    (sentence,) = result_sentences(compared)
    interval = compared[1].over_seeds
    assert names_said([sentence], "is worse than", ["full", "nystrom"]) == {"full"}
    assert f"by {-interval.difference:.2f} points [{-interval.high:.2f}, {-interval.low:.2f}]" in sentence


def test_fewer_than_three_seeds_are_said_to_be_of_the_test_set_alone():
    records = [record for record in [*FULL, *BETTER] if record["identity"]["seed"] < 2]
    (sentence,) = result_sentences(contenders(records, RowKey("full")))
    assert "test set of 2 seeds" in sentence
    assert "nystrom is better" in sentence


@pytest.mark.parametrize("partly", ["full", "nystrom"])
def test_seeds_of_which_only_some_converged_have_no_verdict(partly):
    accuracies = {"full": [0.36, 0.37, 0.38], "nystrom": [0.39, 0.4, 0.41]} | {partly: [0.18, 0.37, 0.38]}
    records = [
        make_record(attention=name, seed=seed, accuracy=each)
        for name, of_name in accuracies.items()
        for seed, each in enumerate(of_name)
    ]
    (sentence,) = result_sentences(contenders(records, RowKey("full")))
    assert "converged" in sentence
    assert partly in sentence
    assert not re.search("better|worse", sentence)


def test_one_row_alone_has_no_sentence():
    assert result_sentences(contenders(FULL)) == []
    assert result_sentences([]) == []
