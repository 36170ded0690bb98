"""Rank correlation of a shortened benchmark with the paper's columns."""

import itertools

import numpy as np
import pytest

from lra.runs.published_numbers import PAPER, REFERENCES
from lra.tables.accuracy_table import accuracy_table
from lra.tables.task_statistics import agreement_by_task, rank_agreement
from tests.tables.records import make_record


def test_tau_and_p_are_those_of_all_pairs_and_all_orders():
    measured, published = [[0.2], [0.5], [0.3], [0.4]], [1.0, 2.0, 3.0, 4.0]

    def tau(values):
        pairs = list(itertools.combinations(range(4), 2))
        return sum(1 if (values[i] < values[j]) else -1 for i, j in pairs) / len(pairs)

    found = rank_agreement(measured, published)
    values = [seeds[0] for seeds in measured]
    assert found.tau == pytest.approx(tau(values))
    orders = [tau(order) for order in itertools.permutations(values)]
    assert found.p_value == pytest.approx(sum(abs(t) >= abs(found.tau) - 1e-9 for t in orders) / len(orders))
    assert (found.low, found.high) == (None, None), "one seed each: nothing to resample"
    assert str(found).startswith(f"τ {found.tau:+.2f}, 4 attentions")


def test_seeds_that_overlap_widen_the_interval():
    apart = rank_agreement([[0.1, 0.1], [0.2, 0.2], [0.3, 0.3]], [1, 2, 3])
    overlap = rank_agreement([[0.1, 0.35], [0.2, 0.2], [0.3, 0.05]], [1, 2, 3])
    assert (apart.low, apart.high) == (1, 1)
    assert overlap.low is not None
    assert overlap.high is not None
    assert overlap.low < overlap.tau < overlap.high or overlap.low < 0 < overlap.high


def records(size):
    return [
        make_record(attention=attention, seed=seed, size=size, accuracy=PAPER[attention]["listops"] / 100 + seed / 1000)
        for attention in ("full", "nystrom", "linformer", "performer")
        for seed in range(2)
    ]


@pytest.mark.slow
def test_a_table_of_a_shorter_size_says_how_it_orders_attentions():
    (found,) = agreement_by_task(records("short"), reference="paper").values()
    assert (found.tau, found.attentions) == (1, 4)
    assert any("Kendall's rank correlation" in note and "4 attentions" in note for note in notes("short"))
    assert not any("Kendall" in note for note in notes("full"))
    assert agreement_by_task(records("short")[:4], reference="paper") == {}, "two attentions have no order worth a word"


def test_the_order_is_that_of_the_asked_reference():
    made = [
        make_record(attention=attention, size="short", accuracy=accuracies["listops"] / 100)
        for attention, accuracies in REFERENCES["google"].items()
        if attention in PAPER
    ]
    (google,) = agreement_by_task(made, reference="google").values()
    assert (google.tau, google.attentions) == (1, 4)
    (paper,) = agreement_by_task(made, reference="paper").values()
    assert paper.tau < 1
    assert any("against google's" in note for note in accuracy_table(made, reference="google").notes)


def test_tasks_come_in_the_order_of_the_table():
    made = [
        make_record(task, attention, size="short", accuracy=PAPER[attention][task] / 100)
        for task in ("pathfinder", "listops", "text")
        for attention in PAPER
    ]
    assert list(agreement_by_task(made, reference="paper")) == ["listops", "text", "pathfinder"]


def notes(size):
    return accuracy_table(records(size), reference="paper").notes


def test_a_sweep_elsewhere_does_not_take_an_attention_out_of_the_order():
    made = [
        make_record(task, attention, size="short", accuracy=PAPER[attention][task] / 100)
        for task in ("listops", "image")
        for attention in ("full", "nystrom", "linformer")
    ]
    swept = make_record("image", "nystrom", seed=1, size="short", num_landmarks=8)
    assert [found.attentions for found in agreement_by_task([*made, swept], reference="paper").values()] == [3, 3]
    others = [record for record in made if record["identity"]["attention"] != "nystrom"]
    assert agreement_by_task([*others, swept], reference="paper") == {}, "not the paper's number of landmarks"


def test_rounding_does_not_order_accuracies_that_are_equal():
    counts = [(1040, 1001, 1000), (1014, 1014, 1013), (1100, 1100, 1100)]
    measured = [[float(np.float32(right / 4000)) for right in seeds] for seeds in counts]
    assert len({np.mean(seeds) for seeds in measured}) == 3, "a tie that rounding hides"
    orders = [rank_agreement(measured, published).tau for published in ([1, 2, 3], [2, 1, 3])]
    assert orders[0] == orders[1] == pytest.approx(2 / 6**0.5)
