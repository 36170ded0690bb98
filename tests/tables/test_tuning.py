"""The expected best of n trials against its truth, and its figure."""

import itertools

import numpy as np
import pytest
from scipy import stats

from lra.tables.statistics.estimators import CONFIDENCE
from lra.tables.tuning import Search, Trial, expected_best, expected_best_lower_bounds, tuning_table
from lra.tables.verbs.tune import plot_tuning


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


QUANTILES = {  # of distributions of accuracies: the value below which a part of them is
    "normal": lambda part: stats.norm.ppf(part, 0.3, 0.05),
    "uniform": lambda part: 0.1 + 0.4 * part,
    "few good ones": lambda part: stats.beta.ppf(part, 1, 6),
    "few bad ones": lambda part: stats.beta.ppf(part, 6, 1),
    "30 % at chance": lambda part: np.where(part < 0.3, 0.1, 0.25 + 0.1 * (part - 0.3) / 0.7),
    "five values": lambda part: np.choose(np.minimum(5 * part, 4).astype(int), (0.1, 0.15, 0.3, 0.31, 0.33)),
    "one in twenty": lambda part: np.where(part < 0.95, 0.2, 0.9),
    "one in two": lambda part: np.where(part < 0.5, 0.16, 0.33),
    "nearly all": lambda part: np.where(part < 0.05, 0.0, 0.9),
}


@pytest.mark.slow
@pytest.mark.some_in_ci(1)
@pytest.mark.parametrize("trials", [20, 10, 40, 100])
def test_the_lower_bound_is_below_the_truth_as_often_as_it_says_for_any_distribution(trials):
    numbers, searches = sorted({1, 2, 5, trials // 2, trials}), 2000
    parts, generator = (np.arange(100_000) + 0.5) / 100_000, np.random.default_rng(0)
    for name, quantile in QUANTILES.items():
        truth = [quantile(parts ** (1 / number)).mean() for number in numbers]
        bounds = expected_best_lower_bounds(quantile(generator.random((searches, trials))), numbers)
        covered = (bounds <= np.array(truth) + 1e-9).mean(0)
        assert covered.min() >= 0.93, (name, dict(zip(numbers, covered, strict=True)))


def test_the_lower_bound_of_trials_at_two_accuracies_is_that_of_clopper_and_pearson():
    """At most so many trials are good with n draws: the expected best is the worse one and the gain times 1 − pⁿ."""
    good, trials, number = 6, 20, 3
    (bound,) = expected_best_lower_bounds([0.2] * (trials - good) + [0.6] * good, [number])
    least = stats.beta.ppf(1 - CONFIDENCE, good, trials - good + 1)
    assert bound == pytest.approx(0.2 + 0.4 * (1 - (1 - least) ** number), abs=0.01)


def test_the_lower_bound_grows_with_n_and_is_below_the_estimate_and_close_to_it_of_many_trials():
    few, many = ([0.1, 0.2, 0.5, 0.3] * times for times in (1, 100))
    for accuracies in (few, many):
        bounds = expected_best_lower_bounds(accuracies)
        assert (np.diff(bounds) >= 0).all()
        assert (bounds <= expected_best(accuracies) + 1e-9).all()
    assert expected_best_lower_bounds(many, [2])[0] > 0.95 * expected_best(many)[1]
    (of_one_trial,) = expected_best_lower_bounds([0.4])
    assert of_one_trial == pytest.approx((1 - CONFIDENCE) * 0.4, rel=0.1)


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
    assert any("95 % lower bound" in note for note in table.notes)


@pytest.mark.some_fast(1)
@pytest.mark.parametrize("trials", [(0.2, None, 0.3, 0.3), (0.2,), (None, None)])
def test_the_figure_is_drawn_of_any_number_of_trials(trials, tmp_path):
    searches = [search("full", *trials), search("mine (width=3)", 0.1, 0.2)]
    path = plot_tuning(searches, tmp_path / "tune.png", title="x").path
    assert path.stat().st_size > 1000
    assert "expected best dev accuracy" in path.with_suffix(".svg").read_text()


def test_a_point_that_was_drawn_twice_is_one_configuration():
    twice = [Trial(number=number, configuration="same", point={}, accuracy=0.2) for number in range(2)]
    again = Search(method="full", task="listops", budget=2, trials=twice)
    table = tuning_table([again], title="", head="attention", seed=1000, space="1a2b3c4d")
    assert (again.tried, table.rows[0][-2], table.csv_rows[0]["tried"]) == (1, "2 of 2 (1 different)", 1)
