"""The paper's table: what is averaged, what is compared, what is said."""

import csv
import io
import math

import pytest

from lra.runs.published_numbers import PAPER, REFERENCES, TASKS, TEST_EXAMPLES
from lra.tables.accuracy_table import accuracy_table
from lra.tables.cells import make_rows
from tests.tables.records import make_record


def table(records, reference="paper"):
    return accuracy_table(records, reference=reference)


def row(made, name):
    return dict(zip(made.columns, next(line for line in made.rows if line[0].strip() == name), strict=True))


def test_a_cell_has_its_mean_spread_seeds_reference_difference_and_verdict():
    made = table([make_record(seed=seed, accuracy=accuracy) for seed, accuracy in enumerate((0.36, 0.37, 0.38))])
    assert row(made, "nystrom")["listops"] == "37.00 ± 1.00 (3)‡"
    assert row(made, "paper")["listops"] == "37.15"
    assert row(made, "difference")["listops"] == "−0.15 within"
    assert row(table([make_record(accuracy=0.20)]), "difference")["listops"] == "−17.15 outside"
    assert row(table([make_record(accuracy=0.20)]), "nystrom")["listops"] == "20.00 (1)‡"


def test_a_missing_cell_is_a_dash_and_its_row_has_no_average():
    records = [make_record(task, accuracy=0.5, origin="official") for task in TASKS[:-1]]
    made = table(records)
    assert row(made, "nystrom")["pathfinder"] == "–"
    assert row(made, "nystrom")["average"] == "–"
    whole = table([*records, make_record("pathfinder", accuracy=0.75, origin="official")])
    assert row(whole, "nystrom")["average"] == "55.00"
    assert row(whole, "paper")["average"] == "58.95"
    assert row(whole, "difference")["average"] == "−3.95"


def test_records_of_other_settings_never_share_a_cell():
    records = [make_record(seed=seed, accuracy=0.37) for seed in range(2)]
    made = table([*records, make_record(seed=0, accuracy=0.2, num_landmarks=32), make_record(accuracy=0.2, steps=300)])
    assert row(made, "nystrom (num_landmarks=64)")["listops"] == "37.00 ± 0.00 (2)‡"
    assert row(made, "nystrom (num_landmarks=32)")["listops"] == "20.00 (1)‡"
    assert row(made, "nystrom (num_landmarks=64, recipe.steps=300)")["listops"] == "20.00 (1)‡"


def test_stand_ins_are_never_in_the_benchmarks_table():
    made = table([make_record("retrieval", origin="stand-in"), make_record("listops")])
    assert row(made, "nystrom")["retrieval"] == "–"
    assert any(note.startswith("1 records on ") for note in made.notes)


def test_a_shortened_run_is_not_compared_with_the_paper():
    assert table([]).notes == []
    made = table([make_record(steps=300)])
    assert [line[0] for line in made.rows] == ["nystrom"]
    assert not any("tolerance" in note for note in made.notes)


def test_what_is_said_under_it():
    text = "\n".join(table([make_record("text"), make_record("image", origin="unverified")]).notes)
    for said in ("checkpoint", "Text's dev split is its test split", "precision 32-true", "‡ data", "† data", "Xiong"):
        assert said in text


def test_seeds_that_stayed_at_the_majority_class_are_named():
    made = table([make_record(seed=seed, accuracy=accuracy) for seed, accuracy in enumerate((0.187, 0.3745))])
    assert any(note.startswith("1 of 2 runs") for note in made.notes)
    assert any("nystrom on listops 1 of 2" in note and "25 %" in note for note in made.notes)
    assert not any("majority class" in note for note in table([make_record()]).notes)


def test_seeds_of_two_kinds_have_their_median_and_range_and_the_notes_say_what_both_forms_are():
    five = [make_record(seed=seed, accuracy=each) for seed, each in enumerate((0.182, 0.3775, 0.3685, 0.365, 0.371))]
    made = table(five)
    assert row(made, "nystrom")["listops"] == "36.85 [18.20, 37.75] (5)‡"
    assert row(made, "difference")["listops"] == "mean −3.87 outside"
    assert any("standard deviation over n seeds" in note and "median and range" in note for note in made.notes)
    (cell,) = (each for each in made.csv_rows if each["count"])
    assert [cell[key] for key in ("median", "lowest", "highest")] == pytest.approx([36.85, 18.2, 37.75])
    alike = table(five[1:])
    assert row(alike, "nystrom")["listops"] == "37.05 ± 0.53 (4)‡"
    assert not any("median" in note for note in alike.notes)


def test_another_reference_is_not_judged_by_the_papers_band():
    made = table([make_record()], reference="skyformer")
    assert row(made, "skyformer")["listops"] == "38.51"
    assert row(made, "difference")["listops"] == "−1.51"


def test_its_forms():
    made = table([make_record(seed=seed) for seed in range(2)])
    assert "| nystrom " in made.to_markdown()
    assert "37.00 $\\pm$ 0.00 (2)$\\ddagger$" in made.to_latex()
    lines = list(csv.DictReader(io.StringIO(made.to_csv())))
    cell = next(line for line in lines if line["task"] == "listops")
    assert (cell["count"], float(cell["mean"]), cell["inside"]) == ("2", pytest.approx(37.0), "True")
    assert next(line for line in lines if line["task"] == "text")["mean"] == "", "not 0.0"


@pytest.mark.parametrize("source, attention, average", [
    ("paper", "nystrom", 58.95), ("paper", "full", 58.77), ("paper", "reformer", 55.04), ("paper", "linformer", 55.59),
    ("paper", "performer", 53.63), ("xformers", "full", 57.69), ("xformers", "nystrom", 57.61),
    ("skyformer", "full", 57.37), ("skyformer", "nystrom", 58.93), ("skyformer", "reformer", 58.99),
    ("skyformer", "performer", 58.00), ("google", "full", 54.39), ("google", "performer", 51.41),
    ("google", "linformer", 51.36), ("google", "reformer", 50.67), ("xformers", "performer", 53.35),
    ("xformers", "linformer", 54.24), ("skyformer", "linformer", 54.69), ("google", "local", 46.06),
    ("google", "linear", 50.55), ("google", "longformer", 53.46), ("google", "bigbird", 55.01),
])  # fmt: skip
def test_published_rows_have_their_published_averages(source, attention, average):
    row = REFERENCES[source][attention]
    assert sum(row.values()) / 5 == pytest.approx(average, abs=0.0151)


def test_the_noise_of_the_papers_average_is_more_than_its_lead():
    import numpy as np

    records = [
        make_record(task, origin="official", correct=np.arange(count) < round(PAPER["nystrom"][task] / 100 * count))
        for task, count in TEST_EXAMPLES.items()
    ]
    (found,) = make_rows(records, reference="paper")
    noise = math.hypot(*(cell.noise for cell in found.cells.values())) / len(found.cells)
    assert noise == pytest.approx(0.26, abs=0.005)
    assert noise > 58.95 - 58.77
