"""Rows are made of every setting: what differs stands in a row's name, what was not recorded is said."""

import re

import pytest

from lra.runs.flat_settings import flatten
from lra.runs.record import validated
from lra.runs.schema import ALWAYS_RECORDED, NYSTROM
from lra.runs.settings_hash import VALUE_BEFORE
from lra.settings.compose import load_config
from lra.settings.which_run import SETTINGS, hashed_settings
from lra.tables.accuracy_table import accuracy_table
from lra.tables.attention_sweep import LANDMARKS, sweep_points
from lra.tables.variants import RowKey, row_names
from tests.tables.records import from_version_1, make_record, rows_by_name, with_setting

BASE = [make_record(seed=seed) for seed in range(3)]


def leaves(node, prefix=""):
    for key, value in node.items():
        if isinstance(value, dict) and value:
            yield from leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def another(value):
    """Another value of the same kind."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, list):
        return [*value[:-1], another(value[-1])]
    if isinstance(value, dict):
        return {"other": 1}
    return f"{value}_other" if isinstance(value, str) else value + 1


def test_four_deliberately_different_runs_are_four_rows():
    changes = {"model.num_layers": 1, "model.dropout": 0.3, "trainer.precision": "bf16-mixed"}
    records = [*BASE, *(with_setting(BASE[0], key, value) for key, value in changes.items())]
    rows = {row[0]: row[1] for row in accuracy_table(records, reference="skyformer").rows if not row[0].startswith(" ")}
    assert set(rows) == {
        "nystrom",
        "nystrom (model.num_layers=1)",
        "nystrom (model.dropout=0.3)",
        "nystrom (trainer.precision=bf16-mixed)",
    }
    assert rows["nystrom"] == "37.00 ± 0.00 (3)‡"


@pytest.mark.parametrize("key, value", [leaf for leaf in leaves(BASE[0]["settings"]) if leaf[0] != "task.name"])
@pytest.mark.parametrize("usual", [3, 1])
def test_a_change_of_any_one_setting_changes_the_row(key, value, usual):
    """Of every leaf of the settings; of one against three, and of one against one."""
    changed = with_setting(make_record(seed=7), key, another(value))
    groups = rows_by_name([*BASE[:usual], changed])
    assert sorted(map(len, groups.values())) == [1, usual]


def test_that_test_walks_all_that_a_run_hashes():
    """Every group, the trainer's settings and empty ones too; a leaf is all that is left out."""
    walked = {key for key, _ in leaves(BASE[0]["settings"])}
    assert {key.split(".")[0] for key in walked} == {*SETTINGS, "attention", "trainer"}
    assert {f"trainer.{key}" for key in ALWAYS_RECORDED} <= walked
    assert "recipe.parameter_groups" in walked
    assert walked == flatten(BASE[0]["settings"]).keys()


@pytest.mark.parametrize("words", [["trainer.devices=2"], ["trainer.num_nodes=2"], ["compile=true"]])
def test_what_only_some_runs_record_is_a_row_too(words):
    record = make_record(seed=7)
    record["settings"] = hashed_settings(
        load_config("train", ["task=listops", "attention=nystrom", "protocol=paper", "size=full", *words])
    )
    assert sorted(map(len, rows_by_name([*BASE, record]).values())) == [1, 3]


def test_of_as_many_the_papers_goes_without_saying():
    """Two runs with two layers, two with one: the row without words is not the one with one layer."""
    for layers in (1, 3):
        names = rows_by_name([BASE[0], with_setting(BASE[1], "model.num_layers", layers)])
        assert list(names) == ["nystrom", f"nystrom (model.num_layers={layers})"]


@pytest.mark.parametrize("key, value", [("task.mask_zero", 1), ("model.num_layers", "2"), ("model.dropout", "0.1")])
def test_values_that_only_look_alike_are_different(key, value):
    assert len(rows_by_name([*BASE, with_setting(BASE[0], key, value)])) == 2


def test_a_setting_that_a_record_does_not_hold_is_said():
    record = with_setting(make_record(seed=7), "attention.new_knob", 3)
    groups = rows_by_name([*BASE, record])
    assert {name: len(group) for name, group in groups.items()} == {
        "nystrom": 1,
        "nystrom (attention.new_knob not recorded)": 3,
    }


def test_a_record_of_version_1_never_shares_a_row_with_one_that_holds_its_model():
    old = validated(from_version_1(make_record(seed=9)), "x")
    groups = rows_by_name([*BASE, old])
    (name,) = set(groups) - {"nystrom"}
    assert re.fullmatch(r"nystrom \(\d+ settings not recorded\)", name)
    assert len(groups["nystrom"]) == 3


def test_numbers_of_settings_that_were_not_recorded_never_make_two_rows_one():
    """Each of two records lacks four settings, but not the same four."""
    records = [make_record(seed=seed) for seed in range(2)]
    for number, letter in enumerate("abcdefgh"):
        records[number % 2] = with_setting(records[number % 2], f"attention.{letter}", 1)
    names = list(rows_by_name(records))
    assert len(names) == 2
    assert all(name.count("not recorded") == 4 for name in names)


def test_records_of_version_1_whose_hash_tells_them_apart_are_not_averaged():
    """Their layers were not recorded, but the hash of their settings knew of them."""
    two, one = make_record(seed=0), with_setting(make_record(seed=1), "model.num_layers", 1)
    groups = rows_by_name([validated(from_version_1(record), "x") for record in (two, one)])
    assert len(groups) == 2
    assert all("unrecorded settings" in name for name in groups)
    alike = [validated(from_version_1(make_record(seed=seed)), "x") for seed in range(2)]
    assert list(rows_by_name(alike)) == ["nystrom"]


def test_data_of_another_origin_or_content_is_another_row():
    official, other = make_record(seed=7, origin="official"), make_record(seed=8)
    other["provenance"]["data_sha256"] = {"tokens": "1" * 64}
    names = set(rows_by_name([*BASE, official, other]))
    assert "nystrom (data.origin=official)" in names
    assert len(names) == 3


def test_a_setting_of_the_data_is_one_difference_though_the_data_have_another_hash():
    noisy = with_setting(make_record(seed=7), "task.data.noise", 0.1)
    noisy["provenance"]["data_sha256"] = {"tokens": "1" * 64}
    assert set(rows_by_name([*[with_setting(record, "task.data.noise", 0.0) for record in BASE], noisy])) == {
        "nystrom",
        "nystrom (task.data.noise=0.1)",
    }


def test_a_protocols_switch_is_one_difference_though_the_attention_repeats_it():
    record = with_setting(make_record(seed=7), "protocol.pinv_start", "per_matrix")
    record = with_setting(record, "attention.pinv_start", "per_matrix")
    assert "nystrom (protocol.pinv_start=per_matrix)" in rows_by_name([*BASE, record])


def test_a_name_says_nothing_that_a_record_made_up():
    names = rows_by_name([*BASE, with_setting(make_record(seed=7), "model.pooling", "x, dropout=0.3")])
    assert 'nystrom (model.pooling="x, dropout=0.3")' in names
    (name,) = rows_by_name([with_setting(make_record(), "attention.name", "  paper")])
    assert name == '"  paper"'


def test_points_of_a_landmark_sweep_with_other_layers_are_points_of_their_own():
    records = [make_record(seed=seed, num_landmarks=count) for seed in range(2) for count in (16, 64)]
    records.append(with_setting(make_record(seed=0, num_landmarks=64, accuracy=0.9), "model.num_layers", 1))
    points = sweep_points([*records, make_record(attention="full")], LANDMARKS)
    assert [point.name for point in points] == ["16", "64", "64 (model.num_layers=1)", "exact"]
    assert [point.cell.count for point in points] == [2, 2, 1, 1]
    old = [validated(from_version_1(record), "x") for record in records[:4]]
    assert [point.cell.count for point in sweep_points(old, LANDMARKS)] == [2, 2], (
        "other landmarks are no unrecorded setting"
    )


def test_what_was_added_names_the_row_and_not_its_neighbours():
    clipped = with_setting(make_record(seed=7), "trainer.gradient_clip_val", 1)
    stopped = make_record(seed=8)
    stopped["settings"]["callbacks"] = {
        "early": {"_target_": "a.EarlyStopping", "monitor": "dev/accuracy", "patience": 5}
    }
    for plain in (BASE, BASE[:1]):
        assert {name: len(group) for name, group in rows_by_name([*plain, clipped, stopped]).items()} == {
            "nystrom": len(plain),
            "nystrom (trainer.gradient_clip_val=1)": 1,
            "nystrom (early=EarlyStopping(monitor=dev/accuracy, patience=5))": 1,
        }
    assert len(rows_by_name([clipped, stopped])) == 2


def test_a_setting_that_was_added_later_is_compared_with_what_earlier_runs_had(monkeypatch):
    monkeypatch.setitem(VALUE_BEFORE, NYSTROM, {"causal": False})
    earlier, later = make_record(), with_setting(make_record(seed=1), "attention.causal", True)
    assert list(rows_by_name([earlier, later])) == ["nystrom (causal=false)", "nystrom (causal=true)"]
    assert list(rows_by_name([earlier, make_record(seed=1)])) == ["nystrom"]


def test_keys_that_would_be_named_alike_are_not_one_row():
    keys = [RowKey("mine", ((option, "1"),)) for option in ("attention.depth", "mixer.depth")]
    names = row_names(keys)
    assert names.keys() == set(keys)
    assert len(set(names.values())) == 2
    assert all(name.startswith("mine (depth=1)") for name in names.values())
