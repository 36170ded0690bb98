"""The expected best of n trials against its truth, and its figure."""

import itertools

import numpy as np
import pytest

from lra.results.tuning import Search, Trial, expected_best, expected_best_intervals, tuning_table
from lra.verbs.tune import plot_tuning


def test_the_expected_best_is_that_of_all_ways_to_draw_n_of_the_trials():
    accuracies = [0.3, 0.1, 0.4, 0.4]
    truth = [np.mean([max(drawn) for drawn in itertools.product(accuracies, repeat=n)]) for n in range(1, 5)]
    assert expected_best(accuracies) == pytest.approx(truth)


def test_the_estimate_meets_the_truth_of_a_known_distribution():
    """The maximum of n uniform numbers is n / (n + 1) in expectation; of 60 trials the bias is far below the spread."""
    generator, trials, searches = np.random.default_rng(0), 60, 400
    estimates = np.array([expected_best(generator.random(trials)) for _ in range(searches)])
    numbers = np.arange(1, 11)
    truth = numbers / (numbers + 1)
    errors = estimates.std(0)[:10] / np.sqrt(searches)
    assert np.abs(estimates.mean(0)[:10] - truth).max() < 0.01
    assert abs(estimates.mean(0)[0] - 0.5) < 3 * errors[0], "the mean has no bias"
    assert (estimates.mean(0) <= np.arange(1, trials + 1) / np.arange(2, trials + 2) + 0.005).all(), (
        "too low, if at all"
    )


@pytest.mark.slow
def test_the_interval_has_the_truth_in_it_as_often_as_it_says_where_n_is_far_below_the_trials():
    generator, searches = np.random.default_rng(0), 200
    inside = np.zeros(10)
    for _ in range(searches):
        intervals = expected_best_intervals(generator.random(50))[:10]
        inside += [interval.low <= n / (n + 1) <= interval.high for n, interval in enumerate(intervals, start=1)]
    assert (inside[:5] / searches > 0.89).all()
    assert (inside / searches > 0.8).all()


def test_the_interval_is_around_the_estimate_and_a_trial_alone_has_none():
    intervals = expected_best_intervals([0.1, 0.2, 0.5, 0.3])
    assert all(interval.low <= interval.difference <= interval.high for interval in intervals)
    (alone,) = expected_best_intervals([0.4])
    assert (alone.low, alone.difference, alone.high) == (0.4, 0.4, 0.4)


def search(method: str, *accuracies: float | None, budget: int = 4) -> Search:
    trials = [
        Trial(
            number=number, configuration=str(number), point={"recipe.lr": f"0.{number}"}, accuracy=accuracy, error="oom"
        )
        for number, accuracy in enumerate(accuracies)
    ]
    return Search(method=method, task="listops", budget=budget, trials=trials)


def test_the_table_has_the_best_point_of_each_method_and_marks_the_best_method():
    searches = [search("full", 0.2, None, 0.3, 0.3), search("none", 0.1), search("average")]
    table = tuning_table(searches, title="listops", head="attention", seed=1000, space="1a2b3c4d")
    assert table.columns == ("attention", "best dev (%)", "lr", "configurations tried", "failed")
    assert table.rows == [
        ["full", "30.00", "0.2", "4 of 4", "1"],
        ["none", "10.00", "0.0", "1 of 4", "0"],
        ["average", "–", "–", "0 of 4", "0"],
    ]
    assert table.best == {(0, "best dev (%)")}
    assert any("full trial 1" in note and "oom" in note for note in table.notes)


@pytest.mark.some_fast(1)
@pytest.mark.parametrize("trials", [(0.2, None, 0.3, 0.3), (0.2,), (None, None)])
def test_the_figure_is_drawn_of_any_number_of_trials(trials, tmp_path):
    path = plot_tuning([search("full", *trials), search("mine (width=3)", 0.1, 0.2)], tmp_path / "tune.png", title="x")
    assert path.stat().st_size > 1000
    assert "expected best dev accuracy" in path.with_suffix(".svg").read_text()


def test_a_point_that_was_drawn_twice_is_one_configuration():
    twice = [Trial(number=number, configuration="same", point={}, accuracy=0.2) for number in range(2)]
    again = Search(method="full", task="listops", budget=2, trials=twice)
    table = tuning_table([again], title="", head="attention", seed=1000, space="1a2b3c4d")
    assert (again.tried, table.rows[0][-2], table.numbers[0]["tried"]) == (1, "2 of 2 (1 different)", 1)
