"""reference=s4: published numbers beside runs with the settings of protocol=s4 alone, with their spreads."""

import json

import pytest

from lra.runs.published_numbers import REFERENCES, TASKS, published_accuracy_for, published_in_family
from lra.runs.schema import Record
from lra.tables.accuracy_table import accuracy_table
from tests.runs.make_s4_settings import S4, s4_settings, settings_of
from tests.tables.records import make_record, rows_by_name

MEANS = {"s4d": 83.472, "s4d (init=inv)": 84.044, "s4d (init=lin)": 84.068}  # of the five tasks


def record_of(task: str, init: str, seed: int = 0, **changes):
    record = make_record(task, seed=seed, protocol="s4", accuracy=0.6)
    settings = settings_of(task, init)
    for key, value in changes.items():
        group, _, option = key.partition("__")
        settings[group][option] = value
    identity = {**record["identity"], "attention": "s4d"}
    return Record({**record, "identity": identity, "settings": settings})


def test_the_file_has_the_settings_of_the_configuration():
    assert json.loads(S4.read_text()) == s4_settings()


@pytest.mark.parametrize("method", MEANS)
def test_averages_are_those_of_the_publication(method):
    """It counts Path-X too: 84.89, 85.50, and 78.39 with 50 for S4D-Lin's Path-X, which failed."""
    row = REFERENCES["s4"][method]
    assert sum(row[task] for task in TASKS) / 5 == pytest.approx(MEANS[method], abs=0.006)
    average = (sum(row[task] for task in TASKS) + row.get("pathx", 50)) / 6
    assert average == pytest.approx({"s4d": 84.89, "s4d (init=inv)": 85.50, "s4d (init=lin)": 78.39}[method], abs=0.011)


@pytest.mark.parametrize("init, accuracy, std", [("legs", 60.47, 0.34), ("inv", 60.18, 0.35), ("lin", 60.52, 0.51)])
def test_exactly_these_settings_have_a_number(init, accuracy, std):
    record = record_of("listops", init)
    assert published_in_family(record, "s4") == (accuracy, std)
    assert published_accuracy_for(record, "paper") is None
    gpu = record_of("listops", init, trainer__accelerator="gpu")
    assert published_accuracy_for(gpu, "s4") == accuracy


@pytest.mark.parametrize(
    "changes", [{"recipe__steps": 7}, {"model__dropout": 0.1}, {"trainer__precision": "16-mixed"}, {"mixer__states": 8}]
)
def test_other_settings_have_none(changes):
    assert published_accuracy_for(record_of("listops", "legs", **changes), "s4") is None
    assert published_accuracy_for(make_record("listops"), "s4") is None


def test_the_table_shows_the_spread_below_the_row():
    table = accuracy_table([record_of("listops", "legs", seed) for seed in range(3)], reference="s4")
    assert any("60.47 ± 0.34" in cell for row in table.rows for cell in row)


def test_a_row_spans_the_tasks_though_the_protocol_sets_options_for_each():
    records = [record_of(task, init) for task in TASKS for init in ("legs", "inv")]
    rows = rows_by_name(records)
    assert {name: len(members) for name, members in rows.items()} == {"s4d": 5, "s4d (init=inv)": 5}
    named = rows_by_name([*records, record_of("listops", "legs", mixer__states=8)])
    assert {"s4d", "s4d (init=inv)", "s4d (states=8)"} == named.keys()
    assert rows_by_name([record_of("listops", "legs", mixer__states=8)]).keys() == {"s4d (states=8)"}
