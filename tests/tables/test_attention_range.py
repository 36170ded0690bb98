"""The range of a task, against known truth."""

import numpy as np
import pytest
from scipy import stats

from lra.tables.attention_sweep import WHOLE, attention_range

NONE, EXACT = [20.0, 20.2, 20.1], [40.0, 40.3, 39.9]


def test_the_range_is_the_narrowest_width_with_its_share_of_the_gain():
    found = attention_range(NONE, EXACT, {4: [30.0, 30.1], 64: [39.9, 40.2], 16: [39.3, 39.5]})
    assert (found.width, found.low, found.gain) == (16, 16, pytest.approx(19.967, abs=0.001))
    assert attention_range(NONE, EXACT, {4: [30.0, 30.1]}).width == WHOLE
    unsure = attention_range(NONE, EXACT, {4: [39.0, 40.0, 38.0], 16: [40.0]})
    assert (unsure.width, unsure.low, unsure.high) == (16, 4, WHOLE), "one seed of a width proves nothing"


@pytest.mark.parametrize("none, exact", [([20.0, 21.0, 22.0], [21.0, 22.0, 20.9]), (EXACT, NONE), ([20.0], EXACT)])
def test_without_a_clear_gain_there_is_no_range_and_it_says_why(none, exact):
    found = attention_range(none, exact, {4: [40.0, 40.1]})
    assert (found.width, found.low, found.high) == (None, None, None)
    assert found.why in str(found) != ""


def drawn_range(generator, none, exact, widths, spread, seeds=3):
    """The range of seeds that are drawn around true accuracies; each has its own spread."""

    def accuracies(truth):
        return list(generator.normal(truth, spread(truth), seeds))

    return attention_range(accuracies(none), accuracies(exact), {key: accuracies(each) for key, each in widths.items()})


@pytest.mark.slow
@pytest.mark.parametrize(
    "widths, truth",
    [
        ({4: 25, 16: 32, 64: 39.9, 256: 40}, 64),
        ({4: 25, 16: 42, 64: 40, 256: 39.5}, 16),  # narrower is better than exact
        ({4: 21, 16: 22, 64: 30}, WHOLE),
        ({4: 39.05, 16: 39.05}, 4),  # on the edge
    ],
)
@pytest.mark.parametrize("spread", [lambda truth: 0.6, lambda truth: (truth - 15) / 25])
def test_the_interval_has_the_true_range_as_often_as_it_says(widths, truth, spread):
    generator, times = np.random.default_rng(0), 2000
    made = [drawn_range(generator, 20, 40, widths, spread) for _ in range(times)]
    inside = [found.low <= truth <= found.high for found in made if found.width is not None]
    assert len(inside) == times
    assert np.mean(inside) > 0.94, "1 % are chance"
    assert all(found.low <= found.width <= found.high for found in made)
    if truth in (64, WHOLE):
        assert np.mean([found.width == truth for found in made]) > 0.75


@pytest.mark.slow
@pytest.mark.parametrize("seeds, most", [(3, 0.08), (5, 0.06), (20, 0.035)])
def test_without_a_true_gain_a_range_is_rare(seeds, most):
    """Two standard errors of few seeds are exceeded more often than in 2.3 %: Student's t says how often."""
    generator, times = np.random.default_rng(0), 3000
    made = [drawn_range(generator, 20, 20, {4: 20, 16: 20}, lambda truth: 0.6, seeds) for _ in range(times)]
    rate = np.mean([found.width is not None for found in made])
    assert rate < most
    assert rate == pytest.approx(stats.t.sf(2, 2 * (seeds - 1)), abs=0.012)
