"""Records are found, and what is broken is named and never used."""

import json

import numpy as np
import pytest

from docs.blocks.published import PUBLISHED, by_cell
from lra.runs.collection import collect
from lra.runs.record import pack_correct, unpack_correct
from tests.tables.records import make_record


def write(folder, name, record):
    (folder / name).mkdir(parents=True)
    (folder / name / "result.json").write_text(record if isinstance(record, str) else json.dumps(record))


def test_records_come_from_folders_and_from_files_of_published_ones(tmp_path):
    write(tmp_path, "a/seed0", make_record(seed=0))
    (tmp_path / "more.jsonl").write_text(
        json.dumps({"what": "another measurement"}) + "\n" + json.dumps(make_record(seed=1)) + "\n"
    )
    found = collect(tmp_path)
    assert [record["identity"]["seed"] for record in found.records] == [0, 1]
    assert found.problems == []


@pytest.mark.parametrize(
    "damage, said",
    [
        (lambda record: "{half", "result.json"),
        (lambda record: {**record, "schema_version": 99}, " 99, "),
        (lambda record: {**record, "cost": {}}, "cost.parameters is missing"),
        (lambda record: {**record, "cost": None}, "cost=None should be a valid dictionary"),
        (
            lambda record: {**record, "outcome": {**record["outcome"], "test_accuracy": 37.15}},
            "outcome.test_accuracy=37.15 should be less than or equal to 1",
        ),
        (lambda record: {**record, "outcome": {**record["outcome"], "test_accuracy": float("nan")}}, "result.json"),
    ],
)
def test_a_broken_record_is_named_and_left_out(tmp_path, damage, said):
    write(tmp_path, "good/seed0", make_record(seed=0))
    write(tmp_path, "bad/seed1", damage(make_record(seed=1)))
    found = collect(tmp_path)
    assert [record["identity"]["seed"] for record in found.records] == [0]
    (problem,) = found.problems
    assert said in problem
    assert "bad/seed1" in problem


def test_a_run_counts_once_and_its_later_record_wins(tmp_path):
    write(tmp_path, "a/seed0", make_record(accuracy=0.30, finished_at="2026-01-01T00:00:00+00:00"))
    write(tmp_path, "b/seed0", make_record(accuracy=0.35, finished_at="2026-02-01T00:00:00+00:00"))
    write(tmp_path, "c/seed0", make_record(accuracy=0.35, finished_at="2026-02-01T00:00:00+00:00"))
    write(tmp_path, "a/seed0.replaced-20260101-000000", make_record(accuracy=0.99, finished_at="2027"))
    found = collect(tmp_path)
    assert [record["outcome"]["test_accuracy"] for record in found.records] == [0.35]
    assert len(found.problems) == 1, "the same record twice is no trouble, another one is"


def lines(records):
    return "\n".join(map(json.dumps, records)) + "\n"


def test_of_two_published_files_with_the_same_run_that_with_more_records_counts_and_a_folder_before_both(tmp_path):
    table = [make_record(seed=seed, accuracy=0.30) for seed in range(4)]
    later = [make_record(seed=seed, accuracy=0.35, finished_at="2026-03-01T00:00:00+00:00") for seed in range(1, 3)]
    (tmp_path / "a.jsonl").write_text(lines(table))
    (tmp_path / "z.jsonl").write_text(lines(later))
    found = collect(tmp_path)
    assert {record["outcome"]["test_accuracy"] for record in found.records} == {0.30}
    (problem,) = found.problems
    assert "2 duplicate records" in problem
    assert "a.jsonl" in problem
    assert "z.jsonl" in problem
    assert found.left_out == 2
    write(tmp_path, "own/seed1", make_record(seed=1, accuracy=0.33, finished_at="2025-01-01T00:00:00+00:00"))
    assert [record["outcome"]["test_accuracy"] for record in collect(tmp_path).records] == [0.30, 0.33, 0.30, 0.30]


@pytest.mark.slow
def test_published_pathfinder_agrees_with_the_short_table():
    found = collect(PUBLISHED)
    mine = [
        record["outcome"]["test_accuracy"]
        for record in found.records
        if (record["identity"]["task"], record["identity"]["attention"]) == ("pathfinder", "nystrom")
        and record["identity"]["run_group"] != "pretraining"  # it has more seeds of these settings
        and record["provenance"]["config_hash"]
        == by_cell("short_table")["pathfinder", "nystrom", 0]["provenance"]["config_hash"]
    ]
    assert f"{100 * np.mean(mine):.2f}" == "92.83"


def test_correctness_goes_into_a_record_and_back():
    correct = np.random.default_rng(0).random(2001) < 0.4
    text = pack_correct(correct)
    assert len(text) < 350
    assert (unpack_correct(text, 2001) == correct).all()
    with pytest.raises(ValueError, match="cannot hold"):
        unpack_correct(text, 1000)
