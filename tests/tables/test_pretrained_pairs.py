"""A pretrained row is beside the row from scratch of as many steps in all, and named by what sets it apart."""

from lra.tables.cells import make_rows
from lra.tables.comparison import contenders
from lra.tables.comparison_table import comparison_table
from lra.tables.dev_curves import EQUAL_FLOPS
from lra.tables.pretrained_pairs import equal_steps_sentences
from tests.tables.records import make_record

MASKED = {"name": "masked", "steps": 200, "eval_every": 100, "lr": 1e-3, "warmup_fraction": 0.2, "fraction": 0.1}


def made(attention="full", *, steps, accuracies, pretrain=None):
    records = []
    for seed, accuracy in enumerate(accuracies):
        record = make_record(attention=attention, seed=seed, accuracy=accuracy, steps=steps)
        if pretrain is not None:
            record["settings"]["pretrain"] = {**MASKED, **pretrain}
            record["pretraining"] = {
                **{"steps": record["settings"]["pretrain"]["steps"], "best_step": 100, "dev_accuracy": 0.5},
                **{"train_seconds": 40.0, "flops": 2_000, "flops_after": 1_000},
            }
            record["provenance"]["config_hash"] = "0000000" + str(len(pretrain))
        records.append(record)
    return records


def names(records):
    return [row.name for row in make_rows(records)]


def test_the_name_says_that_it_is_pretrained_and_what_differs_between_pretrained_rows():
    scratch = made(steps=100, accuracies=[0.3, 0.31, 0.32])
    first = made(steps=100, accuracies=[0.4, 0.41, 0.42], pretrain={})
    assert names(scratch + first) == ["full", "full (pretrain=masked)"]
    longer = made(steps=100, accuracies=[0.5, 0.51], pretrain={"steps": 500})
    assert set(names(scratch + first + longer)) == {
        *("full", "full (pretrain=masked)", "full (pretrain=masked, pretrain.steps=500)")
    }
    assert names(first) == ["full (pretrain=masked)"], "alone it must not look like one from scratch"


def test_only_rows_of_as_many_steps_in_all_and_the_same_settings_are_a_pair():
    pretrained = made(steps=100, accuracies=[0.40, 0.41, 0.42], pretrain={})
    equal = made(steps=300, accuracies=[0.30, 0.31, 0.32])
    other_steps = made(steps=100, accuracies=[0.20, 0.21, 0.22])
    other_method = made("linformer", steps=300, accuracies=[0.20, 0.21, 0.22])
    assert equal_steps_sentences(pretrained + other_steps + other_method) == []
    (sentence,) = equal_steps_sentences(pretrained + equal + other_steps + other_method)
    assert sentence.startswith("With 300 steps in all, full (pretrain=masked) is better than full")
    assert "by 10.00 points" in sentence


def test_the_seconds_and_flops_of_both_stages_count():
    pretrained = made(steps=100, accuracies=[0.40, 0.41, 0.42], pretrain={})
    (record,) = pretrained[:1]
    assert record.train_seconds == record.cost["train_seconds"] + 40.0
    records = pretrained + made(steps=100, accuracies=[0.3, 0.31, 0.32])
    for each in records:
        each["outcome"]["dev_curve"] = {"step": [30, 100], "accuracy": [0.2, 0.3]}
    compared = contenders(records)
    table = comparison_table(records, compared, title="", step_flops={each.name: 30.0 for each in compared})
    shown = {row[0]: row[table.columns.index(EQUAL_FLOPS)] for row in table.rows}
    assert shown["full (pretrain=masked)"] == "20.00 ± 0.00", "3,000 FLOPs: 2,000 before the first step"
    assert shown["full"] == "30.00 ± 0.00"
