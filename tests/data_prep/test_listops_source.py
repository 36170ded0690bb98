"""ListOps from files: every value follows from its expression, counts are the benchmark's, nothing is cut."""

import itertools
import time

import numpy as np
import pytest

from data_prep.listops import source, tsv
from data_prep.listops.evaluation import ROWS_AT_ONCE, evaluate_rows
from data_prep.listops.generator import generate
from lra.data.listops import decode, evaluate
from lra.types import UserError


@pytest.fixture
def files(tmp_path):
    """Write the three files, of drawn expressions; gives their folder."""

    def write(*counts: int, min_length: int = 20, max_length: int = 250):
        drawn = generate(0, min_length=min_length, max_length=max_length)
        for name, count in zip(tsv.FILES.values(), counts, strict=True):
            rows = [f"{decode(ids)}\t{value}" for ids, value in itertools.islice(drawn, count)]
            (tmp_path / name).write_text("\n".join(["Source\tTarget", *rows]) + "\n")
        return tmp_path

    return write


def test_other_counts_than_the_benchmarks_are_refused(prepare, files):
    line = prepare("listops", f"source={files(256, 32, 64)}")
    assert "256 train examples, the benchmark 96,000" in line
    assert "verify=false" in line


def test_other_counts_are_a_stand_in_when_the_user_takes_them(prepare, files):
    manifest, splits = prepare("listops", f"source={files(300, 40, 20)}", "verify=false")
    assert manifest["origin"] == "stand-in"
    assert [len(split) for split in splits.values()] == [256, 32, 20], "no more than the size's, evenly spread"


def test_the_benchmarks_counts_are_unverified(prepare, files, monkeypatch):
    monkeypatch.setattr(source, "BENCHMARK", {"train": 300, "dev": 40, "test": 20})
    manifest, _ = prepare("listops", f"source={files(300, 40, 20)}")
    assert manifest["origin"] == "unverified"
    assert set(manifest["source"]["files"]) == set(tsv.FILES.values())


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("verify=false",)])
def test_no_expression_is_cut(prepare, files, monkeypatch, words):
    monkeypatch.setattr(source, "BENCHMARK", {"train": 5, "dev": 1, "test": 1})
    line = prepare("listops", f"source={files(5, 1, 1, min_length=500, max_length=2000)}", *words)
    assert "basic_train.tsv, line 2: " in line
    assert "tokens, but size=tiny holds 250, and" in line
    assert "type size=full" in line


def read(path):
    return list(tsv.read(path, max_length=2000, size="full"))


@pytest.mark.parametrize(
    "row, fault",
    [
        ("[MAX 4 7 ]\t4", "the value is 4, but the expression's is 7"),
        ("[MED 1 4 6 9 ]\t6", "the value is 6, but the expression's is 5"),
        ("[SM 9 [MIN 8 3 ] ]\t3", "the value is 3, but the expression's is 2"),
        ("[MAX 4 7\t7", "no expression, an operator is not closed"),
        ("[MAX 4 7 ] ]\t7", "no expression, a bracket closes nothing"),
        ("4 ] [MAX 7\t7", "no expression, a bracket closes nothing"),
        ("[MAX 4 [MIN ] ]\t4", "no expression, an operator has no arguments"),
        ("[MAX 4 7 ] 7\t7", "no expression, it has 2 roots"),
        ("\t7", "no expression, it is empty"),
        ("( )\t7", "no expression, it is empty"),
    ],
)
def test_a_row_whose_value_does_not_follow_is_named(tmp_path, row, fault):
    path = tmp_path / "basic_train.tsv"
    good = "( ( ( [MAX 4 ) 7 ) ] )\t7"
    path.write_text("\n".join(["Source\tTarget", good, row, good]) + "\n")
    with pytest.raises(UserError, match=r"basic_train\.tsv\b.* 3\b") as error:
        read(path)
    assert fault in str(error.value)


def test_bytes_that_are_no_text_and_endless_lines_are_named(tmp_path, monkeypatch):
    path = tmp_path / "basic_train.tsv"
    path.write_bytes(b"Source\tTarget\n[MAX 4 \xff ]\t4\n")
    with pytest.raises(UserError, match=r"tsv\b.* 2\b"):
        read(path)
    monkeypatch.setattr(tsv, "LONGEST_LINE_BYTES", 20)
    path.write_bytes(b"Source\tTarget\n[MAX " + b"4 " * 50 + b"]\t4\n")
    with pytest.raises(UserError, match=r"tsv\b.* 2\b.* 20 "):
        read(path)


def test_values_are_those_of_the_slow_evaluator():
    rows = [ids for ids, _ in itertools.islice(generate(1, min_length=20, max_length=2000), 300)]
    rows += [np.array([9], np.uint8)]
    values, faults = evaluate_rows(rows)
    assert not faults
    assert values.tolist() == [evaluate(ids) for ids in rows]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_checking_a_hundred_thousand_rows_takes_seconds(files):
    folder = files(20_000, 1, 1, min_length=500, max_length=2000)
    started = time.process_time()
    rows = [ids for _, _, ids, _ in tsv.encoded(folder / tsv.FILES["train"])]
    read_seconds = time.process_time() - started
    started = time.process_time()
    for start in range(0, len(rows), ROWS_AT_ONCE):
        evaluate_rows(rows[start : start + ROWS_AT_ONCE])
    seconds = 5 * (time.process_time() - started)
    print(f"100,000 rows: {5 * read_seconds:.1f} s to read, {seconds:.1f} s to evaluate")
    assert seconds < 60  # a tenth of that at rest; the evaluator of Python's own numbers takes minutes
