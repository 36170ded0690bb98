"""Accuracy against the number of pairs that a probe asks a method to recall."""

import pytest

from lra.tables.capacity import capacity_rows, capacity_table
from lra.tables.figures.capacity import plot_capacity
from tests.tables.records import make_record

MEANS = {("full", 4): 0.99, ("full", 16): 0.98, ("performer", 4): 0.985, ("performer", 16): 0.50}


def records():
    made = []
    for (method, pairs), mean in MEANS.items():
        for seed in range(3):
            record = make_record(attention=method, seed=seed, accuracy=mean + seed / 1000)
            record["settings"]["task"] = {"name": "listops", "data": {"pairs": pairs, "keys": 16}}
            record["provenance"]["data_sha256"] = {"tokens": f"{pairs:064}"}
            made.append(record)
    return made


def test_a_row_for_each_method_and_a_column_for_each_number_of_pairs():
    table = capacity_table(capacity_rows(reversed(records())), title="Recall")
    assert table.columns == ("attention", "4 pairs (%)", "16 pairs (%)")
    assert table.rows == [
        ["full", "99.10 ± 0.10 (3)", "98.10 ± 0.10 (3)"],
        ["performer", "98.60 ± 0.10 (3)", "50.10 ± 0.10 (3)"],
    ]
    assert [(row["attention"], row["pairs"], round(row["mean"], 1)) for row in table.csv_rows] == [
        ("full", 4, 99.1), ("full", 16, 98.1), ("performer", 4, 98.6), ("performer", 16, 50.1),
    ]  # fmt: skip


def test_what_is_not_below_the_best_is_bold_by_column_and_named_for_the_most_pairs():
    table = capacity_table(capacity_rows(records()), title="Recall")
    assert (0, "16 pairs (%)") in table.best
    assert (1, "16 pairs (%)") not in table.best
    (sentence,) = table.sentences
    assert "16 pairs" in sentence
    assert "full" in sentence
    assert "performer" not in sentence


def test_a_missing_cell_is_a_dash_and_a_task_without_pairs_has_no_row():
    kept = [record for record in records() if (record["identity"]["attention"], _pairs(record)) != ("performer", 16)]
    assert capacity_table(capacity_rows(kept), title="").rows[1][2] == "–"
    assert capacity_rows([make_record()]) == []
    assert capacity_table([], title="").notes == []


def _pairs(record):
    return record["settings"]["task"]["data"]["pairs"]


@pytest.mark.slow
def test_the_figure_is_drawn(tmp_path):
    drawn = plot_capacity(capacity_rows(records()), tmp_path / "f.png", title="recall", majority_rate=0.26)
    assert drawn.path.stat().st_size > 10_000
