"""The row that others are compared with."""

from lra.runs.published_numbers import paper_attention
from lra.tables.cells import make_rows
from lra.tables.comparison import baseline_row, rows_of
from tests.tables.records import make_record, with_setting

DEFAULT = {"attention": paper_attention("nystrom")}


def baseline(records, wanted):
    row = baseline_row(rows_of("nystrom", make_rows(records)), wanted)
    return None if row is None else row.name


def test_it_has_the_default_options_even_if_another_row_sorts_first_or_has_more_seeds():
    few = [make_record(seed=seed, num_landmarks=2) for seed in range(3)]
    assert baseline([*few, make_record()], DEFAULT) == "nystrom (num_landmarks=64)"
    nearer = [*few, make_record(num_landmarks=8, pinv_iterations=8)]
    assert baseline(nearer, DEFAULT) == "nystrom (num_landmarks=2, pinv_iterations=6)", (
        "one option differs, there two do"
    )


def test_of_several_with_the_default_options_it_has_most_seeds():
    longer = [with_setting(make_record(seed=seed), "recipe.batch_size", 8) for seed in range(2)]
    usual = [make_record(attention=name) for name in ("full", "linformer", "nystrom")]
    assert baseline([*longer, *usual], DEFAULT) == "nystrom (recipe.batch_size=8)"
    asked = make_record()["settings"]
    assert baseline([*longer, *usual], asked) == "nystrom", "the batch size that was asked for"


def test_without_a_row_of_the_method_there_is_none():
    assert baseline([make_record(attention="full")], DEFAULT) is None
