"""The sentences of a report say what the verdicts of a comparison say, and no more."""

import re

import pytest

from lra.tables.comparison import contenders
from lra.tables.notes_on_runs import by_protocol_and_size
from lra.tables.report.searches import without_searches
from lra.tables.report.sentences import report_sentences, sentences_of_task
from lra.tables.report.summary import summary_table
from lra.tables.report.task_results import task_results, tasks_in_order
from lra.tables.variants import RowKey
from tests.tables.records import make_record
from tests.tables.report.test_searches import trials

NEAR, FAR = (0.370, 0.371, 0.372), (0.380, 0.381, 0.382)


def seeds(attention, accuracies, **more):
    return [make_record(more.pop("task", "listops"), attention, seed=seed, accuracy=accuracy, **more)
            for seed, accuracy in enumerate(accuracies)]  # fmt: skip


def results_of(records):
    groups = by_protocol_and_size(records)
    return [task_results(group, task, groups[group]) for group, task in tasks_in_order(groups)]


def sentences(records):
    rest, searches = without_searches(records)
    summary = summary_table(by_protocol_and_size(rest), reference="paper", links={})
    return report_sentences(results_of(rest), summary, searches)


def test_a_gain_has_its_points_and_its_interval():
    records = [*seeds("nystrom", NEAR), *seeds("linformer", FAR)]
    _, compared = contenders(records, RowKey("nystrom"))
    interval = compared.over_seeds
    assert compared.significant
    (text,) = sentences_of_task(results_of(records)[0])
    assert re.match(r"Linformer is better than Nyströmformer by 1.0 points \[", text)
    assert f"[{interval.low:.1f}, {interval.high:.1f}]" in text


def test_a_loss_is_worse_by_as_much():
    (text,) = sentences_of_task(results_of([*seeds("nystrom", FAR), *seeds("linformer", NEAR)])[0])
    assert re.match(r"Linformer is worse than Nyströmformer by 1.0 points \[0", text)


def test_what_seeds_cannot_tell_has_the_number_that_would():
    records = [*seeds("nystrom", (0.36, 0.37, 0.38)), *seeds("full", (0.365, 0.375, 0.384))]
    _, compared = contenders(records, RowKey("nystrom"))
    would = re.fullmatch(r"3 seeds cannot tell; (.*) would", compared.verdict)[1]
    (text,) = sentences_of_task(results_of(records)[0])
    assert text.startswith("Softmax attention cannot be told from Nyströmformer")
    assert f"3 seeds, {would} would" in text
    assert not re.search("better|worse", text)


def test_a_difference_of_one_seed_is_one_on_the_test_set_alone():
    (text,) = sentences_of_task(results_of([*seeds("nystrom", NEAR[:1]), *seeds("linformer", (0.5,))])[0])
    assert "on the test set with one seed" in text
    assert "other seeds" in text


def test_where_only_some_seeds_converged_no_difference_is_claimed():
    """Also where the test examples alone would show one."""
    records = [*seeds("nystrom", (0.18, 0.37, 0.37)), *seeds("full", FAR)]
    (text,) = sentences_of_task(results_of(records)[0])
    assert "cannot be told" in text
    assert not re.search("better|worse|would", text)


def test_rows_without_a_test_are_not_among_those_that_seeds_cannot_tell():
    """Only some seeds of linformer and performer converged."""
    partly = (0.18, 0.37, 0.37)
    near = [*seeds("nystrom", NEAR), *seeds("full", NEAR), *seeds("reformer", NEAR)]
    records = [*near, *seeds("linformer", partly), *seeds("performer", partly)]
    (text,) = sentences_of_task(results_of(records)[0])
    assert "nor can one other row" in text
    assert "2 rows" in text
    (text,) = sentences_of_task(results_of(near)[0])
    assert "nor can one other row" in text
    assert "no test" not in text


@pytest.mark.parametrize("far", [0.0, 0.002, 0.01, 0.1])
def test_better_is_said_of_significant_rows_alone(far):
    records = [*seeds("nystrom", NEAR), *seeds("full", [accuracy + far for accuracy in NEAR])]
    _, compared = contenders(records, RowKey("nystrom"))
    (text,) = sentences_of_task(results_of(records)[0])
    assert ("better" in text) is compared.significant
    assert ("cannot be told" in text) is not compared.significant


def test_at_the_top_are_the_verdicts_then_the_papers_tolerance():
    first, second, third = sentences([*seeds("nystrom", NEAR), *seeds("linformer", FAR), *seeds("full", NEAR)])
    assert "on ListOps" in first
    assert second.startswith("Softmax attention")
    assert third.startswith("Of 3 accuracies with the paper's settings, ")


def test_runs_that_are_not_the_benchmark_are_said_to_be_none_and_once():
    texts = sentences([*seeds("nystrom", NEAR, size="short"), *seeds("linformer", FAR, size="short")])
    assert [("not the benchmark" in text) for text in texts] == [True, False][: len(texts)]


def test_the_benchmark_comes_before_other_sizes():
    full = [*seeds("nystrom", NEAR), *seeds("linformer", FAR)]
    short = [*seeds("nystrom", NEAR, size="short"), *seeds("full", (0.5, 0.51, 0.52), size="short")]
    first, second, _ = sentences([*short, *full])
    assert first.startswith("Linformer")
    assert "not the benchmark" in second


def test_without_a_comparison_they_say_what_is_there():
    (text, *_) = sentences(seeds("full", NEAR[:1], size="short"))
    assert "37.00 %" in text
    assert not re.search("better|worse|told", text)


def test_of_trials_alone_they_name_the_best():
    first, second = sentences(trials())
    assert first.startswith("3 runs are trials of one search")
    assert "32.00 %, with lr=0.0003" in second
