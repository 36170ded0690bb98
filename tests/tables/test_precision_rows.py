"""A row of another precision than float32 says so, also where every row of the table has that precision."""

import pytest

from lra.runs.published_numbers import deviations_from_paper
from lra.tables.accuracy_table import accuracy_table
from tests.tables.records import make_record, rows_by_name, with_setting

PRECISIONS = ("tf32", "bf16-mixed", "16-mixed", "64-true")


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_table_of_one_precision_names_it_in_each_row(precision):
    records = [with_setting(make_record(seed=seed), "trainer.precision", precision) for seed in range(3)]
    assert list(rows_by_name(records)) == [f"nystrom (trainer.precision={precision})"]
    rows = [row[0] for row in accuracy_table(records, reference="skyformer").rows]
    assert f"nystrom (trainer.precision={precision})" in rows


def test_float32_needs_no_words_even_if_it_is_rare():
    few, many = make_record(seed=0), [make_record(seed=seed) for seed in range(1, 4)]
    many = [with_setting(record, "trainer.precision", "tf32") for record in many]
    names = {name: len(members) for name, members in rows_by_name([few, *many]).items()}
    assert names == {"nystrom": 1, "nystrom (trainer.precision=tf32)": 3}


@pytest.mark.parametrize("precision, differs", [("tf32", True), ("bf16-mixed", True), ("16-mixed", False)])
def test_only_the_paper_s_and_the_released_precision_are_compared_with_the_paper(precision, differs):
    said = deviations_from_paper(with_setting(make_record(), "trainer.precision", precision))
    assert (f"trainer.precision={precision} for 32-true" in said) == differs


def test_a_fused_optimizer_that_every_row_has_goes_without_saying():
    fused = [with_setting(make_record(seed=seed), "trainer.fused_optimizer", True) for seed in range(3)]
    assert list(rows_by_name(fused)) == ["nystrom"]
    assert len(rows_by_name([*fused, make_record(seed=3)])) == 2
