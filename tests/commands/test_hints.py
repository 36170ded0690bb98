"""What an output says to type can be typed as it stands."""

import json
import shlex

import pytest

import lra
from lra.cli import main
from lra.settings.added_keys import CALLBACKS_INSTEAD, INSTEAD
from tests.tables.records import make_record


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["table", "compare", "sweep landmarks", "sweep window"])
def test_the_hint_at_other_sizes_shows_them(verb, tmp_path, monkeypatch, result_of):
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    attention = "full" if verb == "sweep window" else "nystrom"
    records = [make_record(attention=attention, size=size, steps=300, accuracy=0.25) for size in ("full", "short")]
    (tmp_path / "mine/records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    made = result_of(*verb.split(), "show", "run_group=mine", "format=markdown")
    (other,) = made.left_out
    assert (other.count, other.kind) == (1, "size=short protocol=paper")
    assert any(note.endswith(other.command) for note in made.tables[0].table.notes)
    (shown,) = result_of(*other.command.split()[1:]).tables
    assert [(row["count"], row["mean"]) for row in shown.table.csv_rows if row["count"]] == [(1, 25)]


def test_records_of_a_size_that_has_no_file_any_more_are_in_the_report(tmp_path, monkeypatch, result_of):
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    records = [make_record(size=size, steps=300, accuracy=0.25) for size in ("removed", "full")]
    (tmp_path / "mine/records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    made = result_of("table", "show", "run_group=mine", "format=markdown")
    (other,) = made.left_out
    assert (other.count, other.kind) == (1, "size=removed protocol=paper")
    assert any(note.endswith(other.command) for note in made.tables[0].table.notes)
    assert main([*other.command.split()[1:], "out=report.html"]) == 0
    assert "size removed: NOT the benchmark" in (tmp_path / "report.html").read_text()


@pytest.mark.parametrize("word", sorted({*INSTEAD.values(), *CALLBACKS_INSTEAD.values()}))
def test_what_is_named_in_the_place_of_a_setting_of_lightnings_composes(word):
    lra.compose(*(part for part in word.split() if part != "-m"))


@pytest.mark.parametrize(
    "wrong",
    [
        "recipe.steps=2,3",
        "+seed=1",
        "~seed",
        "~logger",
        "+callbacks.mine=1",
        "+logger.mine=1",
        "recipe.batchsize=4",
    ],
)
def test_what_is_right_can_be_typed(wrong):
    typed = {"seed=VALUE": "seed=1", "logger=VALUE": "logger=csv", "recipe.batch_size": "recipe.batch_size=4"}
    with pytest.raises(lra.UserError) as refused:
        lra.compose(wrong)
    right = str(refused.value.right)
    assert right in str(refused.value)
    words = right.removeprefix("lra train -m ").split(",")[0]  # of several values the first
    lra.compose(typed.get(words, words))


@pytest.mark.parametrize(
    "wrong", ["+trainer.limit_val_batches=0", "+trainer.gradient_clip_val=x", "recipe.optimizer=3"]
)
def test_the_example_of_a_value_can_be_typed(wrong):
    with pytest.raises(lra.UserError) as refused:
        lra.compose(wrong)
    lra.compose(*shlex.split(str(refused.value).partition("; type for example ")[2]))
