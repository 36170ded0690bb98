"""Which methods are significantly better than a model that mixes no tokens."""

import numpy as np
import pytest
from scipy import stats

from docs.blocks.published import records as published
from lra.results.accuracy_table import accuracy_table
from lra.results.significance import POOLED, RANKS
from lra.results.statistics import bartlett, pooled_t, variances_agree
from lra.results.task_statistics import above_no_attention
from tests.results.records import make_record, with_setting


def seeds(attention, *accuracies, task="text"):
    records = [
        make_record(attention="full", task=task, seed=seed, accuracy=each) for seed, each in enumerate(accuracies)
    ]
    for record in records:
        record["identity"]["attention"] = record["settings"]["attention"]["name"] = attention
    return records


def notes(records):
    short = [record | {"identity": record["identity"] | {"size": "short"}} for record in records]
    return [note for note in accuracy_table(short, reference="paper").notes if "attention=none" in note]


BATCH = ("recipe.batch_size", 64)
NONE = seeds("none", 0.58, 0.59, 0.60)


def test_the_pooled_t_is_that_of_the_analysis_of_variance():
    groups = {"a": [0.1, 0.2, 0.4], "b": [0.5, 0.6, 0.9], "c": [0.3, 0.3, 0.5, 0.6]}
    variance = sum((len(each) - 1) * np.var(each, ddof=1) for each in groups.values()) / 7
    t = (np.mean(groups["a"]) - np.mean(groups["b"])) / (variance * (2 / 3)) ** 0.5
    assert pooled_t(groups, "a", "b").p == pytest.approx(2 * stats.t.sf(abs(t), 7))
    pair = {key: groups[key] for key in "ab"}
    found, expected = pooled_t(pair, "a", "b"), stats.ttest_ind(*pair.values())
    assert (found.p, found.low, found.high) == pytest.approx((expected.pvalue, *expected.confidence_interval(0.95)))


def test_bartletts_test_is_that_of_scipy():
    groups = [[0.1, 0.4, 0.2], [0.3, 0.35, 0.31, 0.3], [0.9, 0.2]]
    assert bartlett(groups) == pytest.approx(stats.bartlett(*groups).pvalue, rel=1e-12)


def test_variances_agree_unless_bartletts_test_says_otherwise():
    alike, apart = [[0.1, 0.2, 0.3], [0.4, 0.6, 0.7]], [[0.1, 0.2, 0.3], [0.4, 0.4001, 0.4002]]
    assert (variances_agree(alike), variances_agree(apart)) == (True, False)
    assert not variances_agree([[0.5, 0.5], [0.1, 0.2]]), "no spread beside some"
    assert variances_agree([[0.5, 0.5], [0.1, 0.1]])


def test_rows_of_equal_variance_are_compared_by_the_pooled_t():
    records = (
        NONE + seeds("full", 0.63, 0.64, 0.65) + seeds("nystrom", 0.58, 0.6, 0.61) + seeds("linear", 0.5, 0.51, 0.52)
    )
    found = above_no_attention(records)["text"]
    assert found.tests == (POOLED,)
    assert found.above == ("full",), "linear is significantly below"
    assert {name: round(points, 2) for name, points in found.points.items()} == {
        "full": 5,
        "linear": -8,
        "nystrom": 0.67,
    }
    (note,) = notes(records)
    assert "text 1 of 3 by pooled t (full +5.00)" in note


def test_a_row_with_a_seed_that_did_not_converge_leaves_the_others_apart_by_their_ranks():
    rows = [(f"m{place}", [0.9 + place / 100 + seed / 1000 for seed in range(3)]) for place in range(4)]
    records = seeds("none", 0.80, 0.801, 0.802) + seeds("late", 0.5, 0.92, 0.93)
    for name, accuracies in rows:
        records += seeds(name, *accuracies)
    found = above_no_attention(records)["text"]
    assert found.tests == (RANKS,)
    assert set(found.above) == {"m2", "m3"}


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
        for record in seeds("nystrom", 0.5, 0.51, 0.52, task=task)
    ]
    records = NONE + seeds("linear", 0.5, 0.51, 0.52) + longer + late + swept
    names = {row[next(iter(row))] for row in accuracy_table(records, reference="paper").numbers}
    points = above_no_attention(records)["text"].points
    assert sorted(points) == ["full (recipe.batch_size=64)", "linear", "nystrom (num_landmarks=8)"]
    assert points["full (recipe.batch_size=64)"] == pytest.approx(-2, abs=0.01)
    assert names.issuperset(points)
    assert above_no_attention(NONE + late)["text"].not_compared == ("full (recipe.batch_size=64)",)


def test_what_the_published_short_table_shows():
    found = above_no_attention(published("short_table"))
    assert {task: each.tests for task, each in found.items()} == {
        "listops": (RANKS,), "text": (POOLED,), "image": (POOLED,), "pathfinder": (RANKS,),
    }  # fmt: skip
    assert {task: len(each.above) for task, each in found.items()} == {
        "listops": 9, "text": 4, "image": 7, "pathfinder": 7,
    }  # fmt: skip
    assert found["text"].above == ("bigbird", "double_softmax", "full", "nystrom")
    assert all(0.9 < found["text"].points[name] < 1.1 for name in found["text"].above)
