"""Trials of searches are found among records, and are no rows."""

import pytest

from lra.tables.report.searches import without_searches
from tests.tables.records import make_record, with_setting

RATES = (1e-4, 2e-4, 3e-4)


def trials(key="recipe.optimizer.lr", values=RATES, *, seed=1000, **identity):
    made = []
    for place, value in enumerate(values):
        record = with_setting(make_record(seed=seed, accuracy=0.3 + place / 100), key, value)
        record["identity"] |= {"run_group": "tune", **identity}
        made.append(record)
    return made


def test_trials_are_one_search_and_the_rest_stays_in_its_order():
    table = [make_record(seed=seed) for seed in range(3)]
    records = trials()
    rest, (search,) = without_searches([table[0], *records, *table[1:]])
    assert rest == table
    assert search.trials == records[::-1], "the best by dev accuracy first"
    assert search.words(0) == "lr=0.0003"
    assert [line.split()[0] for line in search.lines()] == ["32.00", "31.00", "30.00"]


def test_each_method_and_each_run_group_has_a_search_of_its_own():
    others = [make_record("listops", "full", seed=1000, accuracy=0.3) for _ in RATES]
    full = [with_setting(record, "recipe.optimizer.lr", rate) for record, rate in zip(others, RATES, strict=True)]
    rest, searches = without_searches([*trials(), *trials(run_group="other"), *full])
    assert not rest
    assert [search.method for search in searches] == ["nystrom", "nystrom", "full"]


@pytest.mark.parametrize(
    "records",
    [
        trials(values=RATES[:2]),
        trials("attention.num_landmarks", (16, 32, 64)),
        trials("model.num_layers", (1, 2, 3)),
        [*trials(), *trials(seed=1001)],
    ],
    ids=["two", "landmarks", "layers", "two seeds each"],
)
def test_what_is_no_search_stays(records):
    assert without_searches(records) == (records, [])


def test_trials_of_different_seeds_are_no_search():
    records = [record for seed, rate in enumerate(RATES) for record in trials(values=(rate,), seed=seed)]
    assert without_searches(records) == (records, [])


def test_an_option_that_a_tuned_run_names_as_searched_is_one():
    tuned = make_record()
    options = {"attention.num_landmarks": "choice(16, 32, 64)"}
    tuned["settings"]["tuned"] = {"space": "x", "options": options, "seed": 1000, "budget": 3, "tried": 3}
    records = trials("attention.num_landmarks", (16, 32, 64))
    rest, (search,) = without_searches([tuned, *records])
    assert rest == [tuned]
    assert len(search.trials) == 3
