"""Attentions side by side: what a difference is worth."""

import re

import numpy as np
import pytest

from lra.tables.accuracy_table import accuracy_table
from lra.tables.comparison import contenders
from lra.tables.comparison_table import EFFECT, comparison_table, paper_noise
from lra.tables.figures.comparison import pareto_front
from lra.tables.task_statistics import above_no_attention
from lra.tables.variants import RowKey
from tests.tables.records import make_record


def right_ones(accuracy, seed):
    """Which of 2,000 examples were right; two models share most of them."""
    order = np.random.default_rng(0).permutation(2000)
    correct = np.zeros(2000, bool)
    correct[order[: round(accuracy * 2000) + seed]] = True
    return correct


def make(attention, accuracies, **more):
    return [
        make_record(attention=attention, seed=seed, correct=right_ones(accuracy, seed), **more)
        for seed, accuracy in enumerate(accuracies)
    ]


def test_three_seeds_have_an_interval_over_seeds_and_fewer_say_so():
    records = make("full", (0.36, 0.37, 0.38)) + make("nystrom", (0.39, 0.40, 0.405))
    base, other = contenders(records)
    assert (base.name, other.name) == ("full", "nystrom")
    assert other.over_seeds is not None
    assert other.over_seeds.difference == pytest.approx(2.833, abs=0.001)
    assert other.verdict == "significant"
    two = contenders([record for record in records if record["identity"]["seed"] < 2])[1]
    assert two.over_seeds is None
    assert two.verdict == "significant on the test set (2 seeds)"


def test_pairs_are_of_the_same_seed():
    records = make("full", (0.36, 0.37, 0.38)) + [
        make_record(attention="nystrom", seed=seed, correct=right_ones(0.4, 0)) for seed in (1, 2, 5)
    ]
    other = contenders(records)[1]
    assert other.pairs == 2
    assert other.cell.count == 3
    assert other.over_examples is not None
    assert other.over_examples.difference == pytest.approx(100 * (0.4 - (0.3705 + 0.381) / 2), abs=0.001)


def test_a_difference_that_is_not_significant_is_called_so():
    near = contenders(make("full", (0.36, 0.37, 0.38)) + make("nystrom", (0.365, 0.362, 0.384)))[1]
    assert (near.significant, near.verdict) == (False, "3 seeds cannot tell; more than 1,000 would")
    wide = contenders(make("full", (0.36, 0.37, 0.38)) + make("nystrom", (0.365, 0.392, 0.414)))[1]
    assert re.fullmatch(r"3 seeds cannot tell; \d+ would", wide.verdict)
    few = contenders(make("full", (0.36, 0.37, 0.38)) + make("nystrom", (0.365, 0.362, 0.384, 0.36)))[1]
    assert few.verdict.startswith("4 and 3 seeds cannot tell; ")


def test_several_differences_are_judged_together():
    first, near = make("full", (0.36, 0.37, 0.38)), make("linformer", (0.365, 0.362, 0.384))
    other = make("nystrom", (0.39, 0.395, 0.405))
    alone = contenders(first + other)
    assert alone[1].verdict == "significant"
    several = first + near + make("performer", (0.365, 0.38, 0.37)) + make("reformer", (0.38, 0.362, 0.384)) + other
    together = {one.name: one for one in contenders(several, RowKey("full"))}
    assert not together["nystrom"].significant
    assert together["nystrom"].p > 0.05 > alone[1].p
    assert together["nystrom"].over_seeds.low > 0, "the interval is for this row alone"


def test_the_verdicts_are_those_of_the_table():
    rows = {
        "none": (0.30, 0.31, 0.315),
        "full": (0.36, 0.37, 0.38),
        "nystrom": (0.32, 0.31, 0.33),
        "linear": (0.2,) * 3,
    }
    records = [record for name, accuracies in rows.items() for record in make("full", accuracies, name=name)]
    for record in records:
        record["identity"]["attention"] = record["settings"]["attention"]["name"]
    compared = contenders(records, RowKey("none"))
    above = above_no_attention(records)["listops"].above
    assert above == ("full",)
    assert tuple(one.name for one in compared if one.significant and one.over_seeds.difference > 0) == above
    assert {one.name for one in compared if one.significant} == {"full", "linear"}


def test_an_effect_is_in_standard_deviations_of_both_rows():
    near, far = make("full", (0.36, 0.37, 0.38)), make("nystrom", (0.39, 0.40, 0.405))
    assert contenders(near + far)[1].effect == pytest.approx(0.8 * 2.8333 / 0.9391, abs=0.002), "2.83 points, no bias"
    table = comparison_table(near + far, contenders(near + far), title="")
    assert EFFECT in table.columns
    few = near + far[:2]
    assert contenders(few)[1].effect is None
    assert EFFECT not in comparison_table(few, contenders(few), title="").columns


@pytest.mark.parametrize("array", ["tokens", "test.sequences", "test.labels"])
def test_examples_are_paired_only_on_the_same_test_data(array):
    records = make("full", (0.36,)) + make("nystrom", (0.40,))
    assert contenders(records)[1].over_examples is not None
    records[1]["provenance"]["data_sha256"] = {**records[0]["provenance"]["data_sha256"], array: "other"}
    assert contenders(records)[1].over_examples is None
    del records[1]["outcome"]["test_correct"]
    assert contenders(records)[1].verdict == "–"


def test_the_papers_own_lead_is_not_significant():
    assert "0.18 points apart" in paper_noise()
    assert "±0.72: n.s." in paper_noise()


def test_a_row_of_which_some_seeds_converged_has_its_seeds_in_place_of_an_interval():
    records = make("full", (0.36, 0.37, 0.38)) + make("nystrom", (0.37, 0.18, 0.36)) + make("linformer", (0.36,) * 3)
    compared = contenders(records)
    table = comparison_table(records, compared, title="")
    (row,) = (row for row in table.rows if row[0] == "nystrom")
    assert row[1] == "36.10 [18.05, 37.00] (3)"
    assert row[3] == "seeds 37.0, 18.1, 36.1"
    assert row[2] == "2 of 3"
    nystrom = next(one for one in compared if one.name == "nystrom")
    assert (nystrom.over_seeds, pareto_front(compared).count(nystrom)) == (None, 0)
    against = contenders(records, RowKey("nystrom"))
    assert [(one.over_seeds, one.significant) for one in against[1:]] == [(None, None)] * 2
    assert {one.verdict for one in (nystrom, *against[1:])} == {"3 seeds cannot tell"}, "their number decides nothing"


def test_rows_come_in_the_order_of_the_methods_that_were_typed():
    records = make("full", (0.36,)) + make("nystrom", (0.4,)) + make("linformer", (0.3,)) + make("reformer", (0.3,))
    typed = ["nystrom", "reformer", "full"]
    assert [one.name for one in contenders(records, methods=typed)] == [*typed, "linformer"]
    assert [one.name for one in contenders(records, RowKey("full"), methods=typed)] == [
        "full",
        "nystrom",
        "reformer",
        "linformer",
    ]


def test_what_is_said_of_listops_and_the_paper_does_not_stand_below_a_task_of_the_users():
    records = make("full", (0.36, 0.37, 0.38)) + make("nystrom", (0.365, 0.362, 0.384))
    for record in records:
        record["identity"]["task"] = record["settings"]["task"]["name"] = "mine"
    notes = " ".join(comparison_table(records, contenders(records), title="").notes)
    notes += " ".join(accuracy_table(records, reference="paper").notes)
    assert "standard errors above the majority class" in notes
    assert not {word for word in ("ListOps", "listops", "paper", "released") if word in notes}


def test_the_table_says_how_many_seeds_converged():
    records = make("nystrom", (0.37, 0.18, 0.36))
    (row,) = comparison_table(records, contenders(records), title="").rows
    assert row[2] == "2 of 3"
    assert row[5] == "baseline"


def test_the_costs_are_those_of_the_fastest_seed_and_of_the_mean():
    records = make("nystrom", (0.37, 0.38))
    records[0]["cost"] |= {"steps_per_second": 4.0, "train_seconds": 3600.0, "peak_memory_bytes": 300 << 20}
    records[1]["cost"] |= {"steps_per_second": 2.0, "train_seconds": 7200.0, "peak_memory_bytes": 500 << 20}
    compared = contenders(records)
    assert compared[0].cell.hours == 1.0
    (row,) = comparison_table(records, compared, title="").rows
    assert row[-3:] == ["209,942", "0.250", "400"]


def test_the_baseline_is_chosen_by_name():
    found = contenders(make("full", (0.36,)) + make("nystrom", (0.40,)), RowKey("nystrom"))
    assert [one.name for one in found] == ["nystrom", "full"]
    with pytest.raises(KeyError):
        contenders(make("full", (0.36,)), RowKey("nystrom"))


def test_a_slower_one_is_on_the_pareto_front_if_it_is_significantly_more_accurate():
    slow = make("full", (0.42, 0.43, 0.44)) + make("linformer", (0.30, 0.31, 0.32))
    for record in slow:
        record["cost"]["steps_per_second"] = 1.0
    fast = make("nystrom", (0.37, 0.38, 0.39)) + make("performer", (0.36, 0.38, 0.395))
    for record in fast[:3]:
        record["cost"]["steps_per_second"] = 3.0
    names = [contender.name for contender in pareto_front(contenders(fast + slow))]
    assert names == ["nystrom", "full"], "performer is slower, and linformer too; neither is more accurate"


def test_without_three_seeds_there_is_no_pareto_front():
    two = make("full", (0.36, 0.37)) + make("nystrom", (0.40, 0.41))
    assert pareto_front(contenders(two)) == []
    assert pareto_front(contenders(two + make("performer", (0.5, 0.51, 0.52)))) == []
