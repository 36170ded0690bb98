"""Which methods are significantly better than a model that mixes no tokens."""

import pytest

from docs.blocks.published import records as published
from lra.runs.schema import Record
from lra.tables.accuracy_table import accuracy_table
from lra.tables.task_statistics import above_no_attention
from tests.tables.records import make_record, with_setting


def seeds(attention, *accuracies, task="text"):
    records = [
        make_record(attention="full", task=task, seed=seed, accuracy=each) for seed, each in enumerate(accuracies)
    ]
    for record in records:
        record["identity"]["attention"] = record["settings"]["attention"]["name"] = attention
    return records


def notes(records):
    short = [Record(record | {"identity": record["identity"] | {"size": "short"}}) for record in records]
    return [note for note in accuracy_table(short, reference="paper").notes if "attention=none" in note]


BATCH = ("recipe.batch_size", 64)
NONE = seeds("none", 0.58, 0.59, 0.60)


def test_rows_are_compared_with_none_by_the_rule():
    records = (
        NONE + seeds("full", 0.63, 0.64, 0.65) + seeds("nystrom", 0.58, 0.6, 0.61) + seeds("linear", 0.51, 0.52, 0.53)
    )
    found = above_no_attention(records)["text"]
    assert found.above == ("full",), "linear is significantly below"
    assert {name: round(points, 2) for name, points in found.points.items()} == {
        "full": 5,
        "linear": -7,
        "nystrom": 0.67,
    }
    (note,) = notes(records)
    assert "text 1 of 3 (full +5.00)" in note


def test_a_row_of_which_some_seeds_converged_is_left_out_and_hides_no_difference():
    rows = [(f"m{place}", [0.9 + place / 100 + seed / 1000 for seed in range(3)]) for place in range(4)]
    records = seeds("none", 0.80, 0.801, 0.802) + seeds("late", 0.5, 0.92, 0.93)
    for name, accuracies in rows:
        records += seeds(name, *accuracies)
    found = above_no_attention(records)["text"]
    assert set(found.above) == {"m0", "m1", "m2", "m3"}
    assert found.not_compared == ("late",)
    nowhere = above_no_attention(seeds("none", 0.5, 0.80, 0.81) + seeds("full", 0.9, 0.901, 0.902))["text"]
    assert (dict(nowhere.points), nowhere.not_compared) == ({}, ("full",))


def test_without_three_seeds_or_without_none_nothing_is_compared():
    few = NONE[:2] + seeds("full", 0.5, 0.5, 0.5)
    assert above_no_attention(few)["text"].not_compared == ("full",)
    (note,) = notes(few)
    assert note.startswith("Not compared with attention=none")
    assert note.endswith("text full.")
    assert above_no_attention(seeds("full", 0.5, 0.5, 0.5)) == {}
    elsewhere = seeds("none", 0.5, 0.5, 0.5, task="image") + seeds("full", 0.5, 0.5, 0.5)
    assert not above_no_attention(elsewhere)["image"].points


def test_a_row_has_the_tables_name_and_none_its_settings():
    longer = [with_setting(record, *BATCH) for record in seeds("none", 0.70, 0.71, 0.72)]
    late = [with_setting(record, *BATCH) for record in seeds("full", 0.68, 0.69, 0.70)]
    swept = [
        with_setting(record, "attention.num_landmarks", count)
        for task, count in (("text", 8), ("image", 64))
        for record in seeds("nystrom", 0.51, 0.52, 0.53, task=task)
    ]
    records = NONE + seeds("linear", 0.51, 0.52, 0.53) + longer + late + swept
    names = {row[next(iter(row))] for row in accuracy_table(records, reference="paper").csv_rows}
    points = above_no_attention(records)["text"].points
    assert sorted(points) == ["full (recipe.batch_size=64)", "linear", "nystrom (num_landmarks=8)"]
    assert points["full (recipe.batch_size=64)"] == pytest.approx(-2, abs=0.01)
    assert names.issuperset(points)
    assert above_no_attention(NONE + late)["text"].not_compared == ("full (recipe.batch_size=64)",)


def test_what_the_published_short_table_shows():
    found = above_no_attention(published("short_table"))
    assert {task: len(each.above) for task, each in found.items()} == {
        "listops": 7, "text": 3, "image": 5, "pathfinder": 7,
    }  # fmt: skip
    assert found["text"].above == ("bigbird", "full", "nystrom")
    mixed = ("double_softmax", "gated", "performer", "skyformer")
    assert found["listops"].not_compared == mixed, "some of their seeds converged"
    assert all(0.9 < found["text"].points[name] < 1.1 for name in found["text"].above)
