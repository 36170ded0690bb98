"""The one rule by which runs count as converged: its thresholds, its step, and what rows on both sides show."""

import json
from itertools import pairwise

import matplotlib.pyplot as plt
import pytest

from docs.blocks.published import PUBLISHED
from lra.base.spread import binomial_error
from lra.runs.collection import collect
from lra.runs.convergence import (
    CONVERGED_FROM,
    converged,
    convergence_rule,
    convergence_step,
    is_converged,
    least_accuracy,
    step_of_curve,
)
from lra.runs.record import parse_record
from lra.tables.attention_sweep import LANDMARKS, WINDOW, sweep_points, sweep_ranges, sweep_table
from lra.tables.cells import make_rows
from lra.tables.dev_curves import at_equal_cost, convergence_notes, dev_curves
from lra.tables.figures.dev_curves import plot_curves
from lra.types import UserError
from tests.tables.records import make_record


def with_curve(accuracies, seed=0, every=50, **more):
    record = make_record(seed=seed, **more)
    record["outcome"] |= {
        "dev_examples": 2000,
        "dev_curve": {"step": [every * (number + 1) for number in range(len(accuracies))], "accuracy": accuracies},
    }
    return record


def test_converged_is_three_standard_errors_above_the_majority_and_at_least_the_threshold():
    error = binomial_error(0.17, 2000)
    assert is_converged(0.17 + 3.01 * error, 0.17, 2000)
    assert not is_converged(0.17 + 2.99 * error, 0.17, 2000)
    assert (is_converged(0.5, 0.0, 10), is_converged(1.0, 1.0, 10)) == (True, False)
    assert not is_converged(0.20, 0.17, 2000, least=0.25)
    assert is_converged(0.25, 0.17, 2000, least=0.25)
    assert not is_converged(0.30, 0.40, 2000, least=0.25)


def test_a_size_without_a_threshold_of_its_own_has_that_of_the_full_one():
    assert least_accuracy("listops", "short") == least_accuracy("listops", "mine") == CONVERGED_FROM["listops"]["full"]
    assert least_accuracy("pathfinder", "short") > least_accuracy("pathfinder", "full") > 0.5
    assert least_accuracy("image", "short") == 0


def test_each_threshold_lies_in_the_widest_gap_of_the_published_accuracies():
    """Short ListOps has no gap: it has the threshold of the full one."""
    records = collect(PUBLISHED).records
    for task, size in (("listops", "full"), ("pathfinder", "short")):
        of_kind = [each for each in records if (each["identity"]["task"], each["identity"]["size"]) == (task, size)]
        accuracies = sorted({each["outcome"]["test_accuracy"] for each in of_kind})
        low, high = max(pairwise(accuracies), key=lambda gap: gap[1] - gap[0])
        assert high - low > 0.1
        assert low < least_accuracy(task, size) < high


def test_a_run_is_judged_by_its_test_accuracy_and_the_rule_names_the_thresholds_of_its_records():
    assert converged(make_record(accuracy=0.26))
    assert not converged(make_record(accuracy=0.24))
    assert not converged(make_record("pathfinder", accuracy=0.59, size="short"))
    assert converged(make_record("pathfinder", accuracy=0.70))
    words = convergence_rule([make_record("pathfinder", size="short"), make_record("image", size="short")])
    assert "pathfinder at least 77 %" in words
    assert "image" not in words


def test_its_step_is_the_first_pass_from_which_on_all_are_converged_up_to_the_best():
    """Three standard errors above 17 % of 2,000 examples are 19.52 %."""
    other = with_curve([0.17, 0.195, 0.196, 0.35], task="image")
    other["outcome"]["majority_rate"] = 0.17
    assert convergence_step(other) == 150
    assert convergence_step(with_curve([0.30, 0.17, 0.30, 0.31])) == 150, "a pass back on it does not count"
    assert convergence_step(with_curve([0.17, 0.30, 0.31, 0.18])) == 100, "the weights of the third are kept and tested"
    assert convergence_step(with_curve([0.17, 0.20, 0.249, 0.25, 0.35])) == 200, "ListOps"
    assert convergence_step(make_record()) is None, "an older record has no curve"


def test_a_run_has_a_step_if_and_only_if_it_converged():
    assert convergence_step(with_curve([0.17, 0.30, 0.31], accuracy=0.24)) is None
    assert convergence_step(with_curve([0.17, 0.24, 0.23], accuracy=0.26)) == 100, "its best pass"
    for record in collect(PUBLISHED).records:
        if record["outcome"].get("dev_curve", {}).get("step") and "dev_examples" in record["outcome"]:
            assert converged(record) == (convergence_step(record) is not None)


def test_a_run_that_still_trains_is_judged_by_its_best_pass_so_far():
    assert step_of_curve({"step": [50, 100], "accuracy": [0.17, 0.30]}, with_curve([])) == 100
    assert step_of_curve({"step": [50, 100], "accuracy": [0.17, 0.20]}, with_curve([])) is None
    assert step_of_curve({"step": [], "accuracy": []}, with_curve([])) is None


def on_both_sides(**more):
    """Three seeds of the short Pathfinder, one of which stays far below the others."""
    return [
        make_record("pathfinder", seed=seed, accuracy=accuracy, size="short", **more)
        for seed, accuracy in enumerate((0.93, 0.94, 0.59))
    ]


def test_seeds_on_both_sides_are_a_median_and_a_range_in_tables_sweeps_and_averages():
    (row,) = make_rows(on_both_sides(), reference="paper")
    assert str(row.cells["pathfinder"]) == "93.00 [59.00, 94.00] (3)"
    table = sweep_table(sweep_points(on_both_sides(), LANDMARKS), LANDMARKS, title="")
    assert table.rows[0][1] == "93.00 [59.00, 94.00] (3)"
    (numbers,) = table.csv_rows
    assert [numbers[key] for key in ("converged", "median", "lowest", "highest")] == [2, 93.0, 59.0, 94.0]
    others = [make_record(task, accuracy=0.60, size="short") for task in ("listops", "text", "retrieval", "image")]
    (row,) = make_rows([*others, *on_both_sides()], reference="paper")
    assert row.average == pytest.approx((4 * 60 + 93) / 5, abs=0.01)


def test_seeds_on_both_sides_are_a_median_and_a_range_at_equal_cost():
    curves = {
        "fast": {seed: {"step": [10], "accuracy": [each]} for seed, each in enumerate((0.93, 0.94, 0.59))},
        "slow": {seed: {"step": [10], "accuracy": [each]} for seed, each in enumerate((0.93, 0.94, 0.95))},
    }
    like = with_curve([0.5], task="pathfinder", size="short")
    found = at_equal_cost(curves, {"fast": 1.0, "slow": 1.0}, like=like)
    assert (found.cell("fast"), found.cell("slow")) == ("93.00 [59.00, 94.00]", "94.00 ± 1.00")
    assert found.value("fast") == pytest.approx(93)
    assert found.has_rows_on_both_sides


def test_a_gain_of_seeds_on_both_sides_has_no_range():
    records = []
    for method in ("none", "local", "full"):
        for record in on_both_sides() if method == "full" else on_both_sides()[:2]:
            made = make_record("pathfinder", "full", seed=record["identity"]["seed"], size="short", accuracy=0.5)
            made["outcome"] |= {"test_accuracy": record["outcome"]["test_accuracy"]}
            made["identity"]["attention"] = made["settings"]["attention"]["name"] = method
            made["settings"]["attention"] |= {"block_length": 4} if method == "local" else {}
            records.append(made)
    (found,) = sweep_ranges(sweep_points(records, WINDOW), WINDOW).values()
    assert (found.width, found.gain) == (None, None)
    assert "exact attention" in found.why


def test_the_note_counts_seeds_and_names_the_steps_of_each_variant():
    records = [with_curve([0.17, 0.3, 0.3]), with_curve([0.17] * 3, seed=1, accuracy=0.17), make_record(seed=2)]
    records += [with_curve([0.3, 0.3, 0.3], attention="full")]
    (note,) = convergence_notes(records)
    assert "full 1 of 1 (step 50); nystrom 1 of 2 (step 100)." in note
    assert convergence_notes([make_record()]) == []


@pytest.mark.parametrize(
    "curve",
    [
        {"step": [10, 10], "accuracy": [0.1, 0.2]},
        {"step": [10], "accuracy": [0.1, 0.2]},
        {"step": [10, 6000], "accuracy": [0.1, 0.2]},
        {"step": [10], "accuracy": [1.2]},
    ],
)
def test_a_record_whose_curve_cannot_be_is_refused(curve, tmp_path):
    record = with_curve([0.2, 0.3])
    parse_record(json.dumps(record), tmp_path)
    record["outcome"]["dev_curve"] = curve
    with pytest.raises(UserError, match="dev_curve"):
        parse_record(json.dumps(record), tmp_path)


def test_the_figure_has_a_panel_for_each_variant_and_a_line_for_each_seed(tmp_path, monkeypatch):
    records = [with_curve([0.17, 0.3]), with_curve([0.17, 0.2], seed=1), with_curve([0.2, 0.3], attention="full")]
    monkeypatch.setattr(plt, "close", lambda figure: None)
    path = plot_curves(dev_curves(records), tmp_path / "curves.png", title="listops", majority_rate=0.17).path
    drawn = {axis.get_title(): [list(line.get_ydata()) for line in axis.lines[:-1]] for axis in plt.gcf().axes}
    assert drawn == {"Softmax attention": [[20, 30]], "Nyströmformer": [[17, 30], [17, 20]]}
    names = [text.get_text() for text in plt.gcf().legends[0].get_texts()]
    assert names == ["seed 0", "seed 1", "majority class"]
    assert path.read_bytes().startswith(b"\x89PNG")


def test_what_is_not_known_is_not_counted_as_never_left():
    unknown = with_curve([0.17, 0.3], attention="full")
    del unknown["outcome"]["dev_examples"]
    (note,) = convergence_notes([unknown, with_curve([0.17, 0.3])])
    assert "full" not in note
    assert "nystrom 1 of 1" in note
    assert convergence_notes([unknown]) == []
