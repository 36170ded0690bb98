"""The paper's number stands beside runs of the paper's own settings, and beside no other."""

import copy
import re
from pathlib import Path

import pytest

from lra import from_config
from lra.base.option_types import kinds_of
from lra.base.paths import conf_dir
from lra.base.protocol import Protocol
from lra.runs.published_numbers import (
    ACTING_ALONE,
    PAPER,
    TASKS,
    deviations_from_paper,
    paper_settings,
    published_accuracy_for,
    settings_file,
)
from lra.runs.record import validated
from lra.settings import wandb_arguments
from lra.settings.compose import load_config
from lra.settings.which_run import hashed_settings
from lra.tables.accuracy_table import accuracy_table
from lra.verbs.train_summary import verdict
from tests.runs.make_paper_settings import make, settings
from tests.tables.records import from_version_1, make_record, with_setting
from tests.tables.test_variants import another, leaves


@pytest.mark.slow
def test_the_papers_settings_are_those_that_conf_composes():
    hint = "conf/ has changed. Should the paper's runs be these? Then: make renew ONLY=settings"
    assert settings_file("paper") == make(), hint


@pytest.mark.parametrize("task, attention", [("listops", "nystrom"), ("pathfinder", "performer"), ("text", "full")])
def test_they_are_what_a_run_records(task, attention):
    assert paper_settings(task, attention) == settings(task, attention)


@pytest.mark.parametrize("attention", sorted(PAPER))
@pytest.mark.parametrize("task", TASKS)
def test_a_run_of_the_papers_settings_has_its_number(task, attention):
    assert published_accuracy_for(make_record(task, attention), "paper") == PAPER[attention][task]


NOT_COMPARED = {"trainer.accelerator": "gpu", "trainer.precision": "16-mixed", "task.listops_brackets": "dropped"}
SWITCHES = {f"protocol.{switch}" for switch in kinds_of(Protocol)} - {f"protocol.{key}" for key in ACTING_ALONE}
DECIDING = [leaf for leaf in leaves(make_record()["settings"]) if leaf[0] not in {*NOT_COMPARED, *SWITCHES}]


@pytest.mark.parametrize("key, value", DECIDING)
def test_any_other_setting_has_none(key, value):
    assert published_accuracy_for(with_setting(make_record(), key, another(value)), "paper") is None


@pytest.mark.parametrize("key, value", NOT_COMPARED.items())
def test_the_machine_the_released_precision_and_the_brackets_are_free(key, value):
    assert published_accuracy_for(with_setting(make_record(), key, value), "paper") == 37.15


OF_EVERY_RUN = {"pooling", "batch_constant_sides", "batch_constant_examples", "test_last_batch"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "task, attention, own",
    [
        ("listops", "nystrom", {"pinv_start", "nystrom_landmarks"}),
        ("image", "full", {"pixel_zero_is_padding"}),
        ("text", "linformer", {"linformer_sharing", "text_dev", "text_length"}),
        ("listops", "reformer", {"reformer_biases", "reformer_look_back", "reformer_rotations"}),
    ],
)
def test_only_switches_that_act_on_a_run_decide_whether_it_is_the_papers(task, attention, own):
    """As one types them: `lra train protocol.SWITCH=VALUE`."""
    deciding = set()
    for key in SWITCHES | {"protocol.test_last_batch"}:
        words = [f"task={task}", f"attention={attention}", "protocol=paper", "size=full"]
        value = load_config("train", words).value(key)
        record = make_record(task, attention)
        record["settings"] = hashed_settings(load_config("train", [*words, f"{key}={another(value)}"]))
        if published_accuracy_for(record, "paper") is None:
            deciding.add(key.removeprefix("protocol."))
    assert deciding == own | OF_EVERY_RUN


def test_every_switch_acts_through_a_setting_that_is_compared_or_alone():
    """No code reads a switch past the attention, the model and the task, but those that act alone."""
    conf = "".join(
        path.read_text() for group in ("attention", "model", "task") for path in conf_dir().glob(f"{group}/*.yaml")
    )
    assert set(re.findall(r"\$\{(protocol\.\w+)\}", conf)) == SWITCHES
    files = [*Path(from_config.__file__).parent.rglob("*.py"), Path(wandb_arguments.__file__)]
    code = "".join(path.read_text() for path in files)
    assert set(re.findall(r"cfg\.protocol\.(\w+)", code)) == set(ACTING_ALONE)


def test_another_model_has_no_paper_number_and_one_note_says_why():
    record = with_setting(make_record(), "model._target_", "my.models.GRU")
    table = accuracy_table([record], reference="paper")
    assert len(table.rows) == 1
    why = "model._target_=my.models.GRU for lra.model.classifier.SequenceClassifier"
    assert f"Not the paper's settings, so without its numbers: {why}." in table.notes
    with_papers = accuracy_table([record, make_record(), make_record(seed=1)], reference="paper")
    (note,) = [note for note in with_papers.notes if "without its number:" in note]
    assert "nystrom (model._target_=my.models.GRU) on listops: model._target_=" in note
    assert published_accuracy_for(record, "skyformer") is None
    assert "Against the paper" not in verdict(record)
    assert "model._target_=my.models.GRU" in verdict(record)


def test_fewer_test_examples_and_other_data_have_none():
    record = make_record()
    record["outcome"]["test_examples"] = 1000
    assert deviations_from_paper(record) == ["1,000 test examples for 2,000"]
    assert deviations_from_paper(make_record(origin="stand-in")) == ["stand-in data"]
    assert deviations_from_paper(make_record(size="demo")) == ["size=demo"]


def test_what_was_not_recorded_is_not_taken_for_the_papers():
    record = validated(from_version_1(make_record()), "x")
    said = deviations_from_paper(record)
    assert said[0] == "model not recorded"
    assert all(reason.endswith(" not recorded") for reason in said)
    assert published_accuracy_for(record, "paper") is None
    table = accuracy_table([record], reference="paper")
    assert len(table.rows) == 1
    start = "Not the paper's settings, so without its numbers: not recorded: model, "
    (note,) = [note for note in table.notes if note.startswith(start)]
    assert note.endswith(f" and {len(said) - 3} more.")
    assert table.csv_rows[0]["departures"] == "; ".join(said)
    assert any("1 of 1 records lack model" in note for note in table.notes)


def test_another_source_stands_beside_for_information():
    table = accuracy_table([make_record(num_landmarks=128, steps=300)], reference="skyformer")
    assert table.rows[1][:2] == ["  skyformer", "38.51"]
    assert any("shown for information only" in note for note in table.notes)


def test_a_shortened_run_says_so_once():
    (said,) = deviations_from_paper(make_record(steps=300))
    assert said == "recipe.steps=300 for 5000"


def test_titles_are_of_the_records():
    records = [make_record(steps=300, size="demo"), make_record(protocol="clean", seed=1)]
    assert accuracy_table(records, reference="paper").title == (
        "Test accuracy (%), protocol clean and paper, 300 and 5,000 steps, size=demo and full: NOT the benchmark"
    )
    assert accuracy_table([], reference="paper").title == "Test accuracy (%)"


def test_settings_hold_whether_the_model_was_compiled():
    words = ["task=listops", "attention=nystrom"]
    compiled = hashed_settings(load_config("train", [*words, "compile=true"]))
    assert compiled["trainer"]["compile"] is True
    record = copy.deepcopy(make_record())
    record["settings"] = compiled
    assert published_accuracy_for(record, "paper") == 37.15
