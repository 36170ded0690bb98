"""Spread between attentions over noise between seeds."""

import numpy as np
import pytest

from lra.tables.accuracy_table import accuracy_table
from lra.tables.task_statistics import separation, separation_by_task
from tests.tables.records import make_record


def test_spreads_are_those_of_the_analysis_of_variance():
    accuracies = {"full": [0.36, 0.37, 0.38], "nystrom": [0.40, 0.41], "none": [0.20, 0.24, 0.22]}
    found = separation(accuracies, {name: accuracies[name] for name in ("full", "none")})
    assert found.between == pytest.approx(100 * np.std([0.37, 0.405, 0.22], ddof=1))
    pooled = (2 * 0.01**2 + 0.005**2 * 2 + 2 * 0.02**2) / (2 + 1 + 2)
    assert found.within == pytest.approx(100 * pooled**0.5)
    assert (found.pairs, found.compared) == (1, 1)
    assert (found.best, found.worst) == ("nystrom", "none")


def test_seeds_that_all_agree_leave_no_noise():
    rows = {"full": [0.3, 0.3, 0.3], "none": [0.1, 0.1, 0.1]}
    found = str(separation(rows, rows))
    assert found.startswith("14.14 / 0.00 = inf, 1 of 1 pairs"), "0.1 + 0.1 + 0.1 is not 3 times 0.1"


def test_equal_means_of_seeds_that_differ_show_the_noise():
    rows = {"full": [0.25, 0.75, 0.5], "none": [0.5, 0.5, 0.5]}
    found = separation(rows, rows)
    assert str(found).startswith("0.00 / 17.68 = 0.0, 0 of 1 pairs"), found


def test_accuracies_that_are_all_equal_tell_nothing_apart():
    rows = {"full": [0.1, 0.1, 0.1], "none": [0.1, 0.1, 0.1]}
    assert str(separation(rows, rows)) == "all alike"


def test_a_row_of_which_some_seeds_converged_is_in_no_pair():
    rows = {"full": (0.36, 0.37, 0.38), "nystrom": (0.18, 0.39, 0.4), "linformer": (0.18, 0.181, 0.182)}
    found = separation_by_task(
        [make_record(attention=name, seed=seed, accuracy=each) for name in rows for seed, each in enumerate(rows[name])]
    )["listops"]
    assert (found.pairs, found.compared) == (1, 1)


def records(size):
    return [
        make_record(attention=attention, seed=seed, size=size, accuracy=accuracy + seed / 1000)
        for attention, accuracy in (("full", 0.36), ("nystrom", 0.39), ("performer", 0.2))
        for seed in range(2 if attention != "performer" else 1)
    ]


def test_one_seed_says_nothing_and_a_table_of_a_short_size_says_the_rest():
    (found,) = separation_by_task(records("short")).values()
    assert (found.best, found.worst) == ("nystrom", "full"), "performer has one seed"
    assert separation_by_task(records("short")[::2]) == {}
    assert any("best nystrom, worst full" in note for note in accuracy_table(records("short"), reference="paper").notes)
    assert not any("worst" in note for note in accuracy_table(records("full"), reference="paper").notes)
