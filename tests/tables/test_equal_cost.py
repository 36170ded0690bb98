"""What each row had reached at the cost of the cheapest one."""

import pytest

from lra.tables.comparison import contenders
from lra.tables.comparison_table import comparison_table
from lra.tables.dev_curves import EQUAL_FLOPS, EQUAL_TIME, at_equal_cost
from tests.tables.records import make_record

CURVES = {
    "fast": {0: {"step": [10, 20, 30], "accuracy": [0.1, 0.4, 0.3]}, 1: {"step": [10, 20, 30], "accuracy": [0.2] * 3}},
    "slow": {0: {"step": [10, 20, 30], "accuracy": [0.3, 0.2, 0.9]}, 1: {"step": [10, 20, 30], "accuracy": [0.1] * 3}},
    "none": {0: {"step": [10, 20, 30], "accuracy": [0.5] * 3}},
}


def test_each_row_has_its_best_until_the_cheapest_is_done():
    found = at_equal_cost(CURVES, {"fast": 2.0, "slow": 3.0, "none": 2.5})
    assert (found.budget, found.cheapest) == (60.0, "fast")
    assert found.accuracies == {
        "fast": [pytest.approx(40), pytest.approx(20)],
        "slow": [pytest.approx(30), pytest.approx(10)],
        "none": [pytest.approx(50)],
    }
    assert (found.cell("slow"), found.cell("none"), found.cell("other")) == ("20.00 ± 14.14", "50.00", "–")


def test_the_cost_of_a_pretraining_comes_before_the_first_step():
    found = at_equal_cost(CURVES, {"fast": 2.0, "slow": 2.0, "none": 1.0}, before={"none": 31.0, "slow": 45.0})
    assert (found.budget, found.cheapest) == (60.0, "fast")
    assert found.accuracies == {"fast": [pytest.approx(40), pytest.approx(20)], "none": [pytest.approx(50)]}
    assert at_equal_cost(CURVES, {"fast": 2.0, "none": 1.0}, before={"none": 31.0}).budget == 60.0
    assert at_equal_cost(CURVES, {"fast": 2.0, "none": 1.0}, before={"none": 29.0}).budget == 59.0


def test_a_row_without_a_pass_by_then_has_nothing_and_two_rows_are_needed():
    found = at_equal_cost(CURVES, {"fast": 1.0, "slow": 3.01})
    assert set(found.accuracies) == {"fast"}
    assert at_equal_cost(CURVES, {"fast": 1.0}) is None
    assert (
        at_equal_cost({"fast": {0: {"step": [], "accuracy": []}}, "slow": CURVES["slow"]}, {"fast": 1, "slow": 1})
        is None
    )


def records(device="cpu (1 threads)"):
    made = []
    for attention, rate in (("full", 1.0), ("nystrom", 2.0)):
        record = make_record(attention=attention, steps=30)
        record["outcome"]["dev_curve"] = {"step": [10, 20, 30], "accuracy": [0.2, 0.3, 0.4]}
        record["cost"] |= {"steps_per_second": rate, "device": device if attention == "full" else "cpu (1 threads)"}
        made.append(record)
    return made


def test_a_comparison_has_the_columns_that_can_be_computed():
    made = records()
    table = comparison_table(made, contenders(made), title="")
    column = table.columns.index(EQUAL_TIME)
    assert [row[column] for row in table.rows] == ["20.00", "40.00"], "15 s are 15 steps of full"
    assert EQUAL_FLOPS not in table.columns
    counted = comparison_table(made, contenders(made), title="", step_flops={"full": 1e9, "nystrom": 1.5e9})
    column = counted.columns.index(EQUAL_FLOPS)
    assert [row[column] for row in counted.rows] == ["40.00", "30.00"]
    assert [line["dev_at_equal_flops"] for line in counted.csv_rows] == [pytest.approx(40), pytest.approx(30)]
    assert any("15 s of training, all of nystrom" in note for note in counted.notes)


def test_seconds_of_different_devices_are_not_equal():
    made = records("NVIDIA H100")
    assert EQUAL_TIME not in comparison_table(made, contenders(made), title="").columns
