"""Rows in the order in which a reader counts."""

from tests.tables.records import make_record, rows_by_name, with_setting


def test_landmarks_are_in_numeric_order():
    records = [make_record(num_landmarks=count) for count in (128, 16, 256, 64, 512, 32)]
    names = list(rows_by_name([*records, make_record(attention="full")]))
    assert names == ["full", *(f"nystrom (num_landmarks={count})" for count in (16, 32, 64, 128, 256, 512))]


def test_rates_are_in_numeric_order():
    rates = (0.01, 1e-05, 0.0003, 0.1)
    records = [with_setting(make_record(), "recipe.optimizer.lr", rate) for rate in rates]
    said = [name.partition("lr=")[2].rstrip(")") for name in rows_by_name(records) if "lr=" in name]
    assert said == [text for text in ("1e-05", "0.0003", "0.01", "0.1") if text in said]
    assert len(said) == 3, "the usual one is not named"
