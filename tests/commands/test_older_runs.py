"""A run of another version is evaluated by that one: its config.yaml is refused in a line that names the setting."""

import copy
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from lra import from_config
from lra.from_config import machine_and_loggers
from lra.runs.schema import NYSTROM
from lra.runs.settings_hash import REMOVED, VALUE_BEFORE
from lra.settings import stored_config
from lra.settings.compose import load_config
from lra.settings.run_config import RunConfig
from lra.settings.stored_config import read_stored_config
from lra.settings.which_run import config_hash, store_dir
from lra.terminal.errors import NOT_FORESEEN, explain
from lra.types import UserError
from tests.tables.records import make_record

CHOSEN = {
    attention: [f"attention={attention}", "size=tiny"]
    for attention in ("full", "nystrom", "performer", "reformer", "linformer")
} | {mixer: [f"mixer={mixer}", "size=tiny"] for mixer in ("s4d", "gated")}
WRONG = ("x", -1, [], {}, None, True, 1.5)


@pytest.fixture(scope="module")
def stored():
    """From words to what config.yaml holds for them."""
    return {name: load_config("train", words).all_plain() for name, words in CHOSEN.items()}


def keys_of(node: dict, key: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    for name, value in node.items():
        yield (*key, name)
        if isinstance(value, dict):
            yield from keys_of(value, (*key, name))


def changed(stored: dict, key: tuple[str, ...], value: object = ...) -> dict:
    """The configuration with another value at a key; without the key if none is given."""
    stored = copy.deepcopy(stored)
    node = stored
    for name in key[:-1]:
        node = node[name]
    if value is ...:
        del node[key[-1]]
    else:
        node[key[-1]] = value
    return stored


def read(folder: Path, settings: dict) -> str:
    """What is said about a run with this configuration when the parts are built; "" if they are."""
    folder.mkdir(exist_ok=True)
    (folder / "config.yaml").write_text(yaml.safe_dump(settings))
    try:
        cfg = read_stored_config(folder)
        from_config.build_module(cfg).configure_optimizers()
        machine_and_loggers.build_machine(cfg)
        cfg = cfg.with_group("paths", {"data": "data"})  # the evaluating command's own
        store_dir(cfg)
        assert cfg.task.mask_zero is not None
        assert cfg.protocol.test_last_batch
    except Exception as error:
        return explain(error)
    return ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "name, key",
    [
        ("nystrom", "model.tied_layers"),
        ("nystrom", "model.batch_constant_sides"),
        ("nystrom", "model.batch_constant_examples"),
        ("nystrom", "attention.pinv_rtol"),
        ("performer", "attention.maximum_gradient"),
        ("nystrom", "protocol.test_last_batch"),
        ("nystrom", "task.dev_split"),
        ("nystrom", "seed"),
    ],
)
def test_a_setting_that_a_run_has_not_is_named_with_what_to_do(name, key, stored, tmp_path, refused):
    lacking = changed(stored[name], tuple(key.split(".")))
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(lacking))
    (tmp_path / "best.ckpt").write_bytes(b"not read")
    record = make_record(seed=0)
    record["provenance"]["git_commit"] = "0123456789abcdef"
    (tmp_path / "result.json").write_text(json.dumps(record))
    error = refused("evaluate", f"run={tmp_path}")
    assert (error.kind, error.key) == ("missing_option", key)
    assert str(tmp_path / "config.yaml") in str(error)
    assert "(git checkout 0123456789abcdef)" in str(error)


@pytest.mark.slow
def test_without_a_record_the_line_still_says_what_to_do(stored, tmp_path):
    said = read(tmp_path, changed(stored["full"], ("model", "tied_layers")))
    assert said.endswith(" lra train")


@pytest.mark.slow
def test_a_setting_that_this_version_has_not_is_named(stored, tmp_path):
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(changed(stored["nystrom"], ("attention", "sharpness"), 2)))
    with pytest.raises(UserError) as refused:
        read_stored_config(tmp_path)
    assert (refused.value.kind, refused.value.key) == ("unknown_option", "attention.sharpness")


@pytest.mark.some_fast(4)
@pytest.mark.parametrize(
    "key",
    [
        ("compile",),
        ("check",),
        ("verify",),
        ("mixer",),
        ("recipe", "parameter_groups"),
        ("trainer", "fused_optimizer"),
        ("trainer", "dev_batch_size"),
    ],
)
def test_what_runs_of_before_may_lack_is_not_asked_for(key, stored, tmp_path, monkeypatch):
    lacking = changed(stored["nystrom"], key)
    if len(key) > 1:  # an option of a group, as if it had come after 0.1.0
        assert ".".join(key) in read(tmp_path, lacking), "another version may have behaved otherwise"
        monkeypatch.setattr(stored_config, "MISSING_IN_OLDER", (".".join(key),))
    assert read(tmp_path, lacking) == ""


def test_a_setting_that_came_later_has_the_value_of_before_and_moves_no_hash(stored, tmp_path, monkeypatch):
    monkeypatch.setitem(VALUE_BEFORE, NYSTROM, {"masking": "all"})
    assert stored["nystrom"]["attention"]["masking"] == "all"
    today = config_hash(RunConfig.from_text(yaml.safe_dump(stored["nystrom"])))
    assert read(tmp_path, changed(stored["nystrom"], ("attention", "masking"))) == ""
    assert config_hash(read_stored_config(tmp_path)) == today
    other = changed(stored["nystrom"], ("attention", "masking"), "kernel_3")
    assert config_hash(RunConfig.from_text(yaml.safe_dump(other))) != today


@pytest.mark.parametrize("name", ["nystrom", "s4d"])  # beside another mixer a stored attention has no effect
def test_a_setting_that_was_removed_is_passed_over_at_the_value_that_acts_as_today(name, stored, tmp_path, monkeypatch):
    monkeypatch.setitem(REMOVED, NYSTROM, {"causal": False})
    assert read(tmp_path, changed(stored[name], ("attention", "causal"), False)) == ""
    today = config_hash(RunConfig.from_text(yaml.safe_dump(stored[name])))
    assert config_hash(read_stored_config(tmp_path)) == today


def test_a_setting_that_was_removed_is_refused_at_another_value(stored, tmp_path, monkeypatch):
    monkeypatch.setitem(REMOVED, NYSTROM, {"causal": False})
    settings = changed(stored["nystrom"], ("attention", "causal"), True)
    assert read(tmp_path, settings).startswith(f"{tmp_path / 'config.yaml'}: attention.causal=true ")
    with pytest.raises(UserError) as refused:
        read_stored_config(tmp_path)
    error = refused.value
    assert (error.kind, error.key, error.value) == ("removed_option", "attention.causal", True)
    assert "\n" not in str(error)


@pytest.mark.parametrize("target", ["lra.training.reference_place.ReferencePlace", "lra.training.gone.Gone"])
def test_a_callback_that_is_no_more_keeps_no_run_from_being_evaluated(target, stored, tmp_path):
    """An evaluation makes no callbacks; training such a run on is refused, see `callbacks=` in errors.yaml."""
    of_callback = {"_target_": target, "slack": 2.0}
    assert read(tmp_path, changed(stored["full"], ("callbacks", "stop_if_stuck"), of_callback)) == ""


@pytest.mark.slow
@pytest.mark.some_in_ci(1)
@pytest.mark.parametrize("name", CHOSEN)
def test_whatever_is_missing_is_foreseen(name, stored, tmp_path):
    for key in keys_of(stored[name]):
        said = read(tmp_path, changed(stored[name], key))
        assert NOT_FORESEEN not in said, (key, said)
        where = "" if "parameter_groups" in key else f"{tmp_path / 'config.yaml'}: "  # an evaluation does not read them
        assert said == "" or f"{where}{key[0]}" in said, (key, said)


@pytest.mark.slow
@pytest.mark.some_in_ci(1)  # a configuration takes minutes: thousands of wrong ones are made of it
@pytest.mark.parametrize("name", CHOSEN)
@pytest.mark.exhaustive
def test_whatever_is_of_another_kind_is_foreseen(name, stored, tmp_path):
    for key in keys_of(stored[name]):
        for value in WRONG:
            said = read(tmp_path, changed(stored[name], key, value))
            assert NOT_FORESEEN not in said, (key, value, said)
            assert "\n" not in said, (key, value, said)


def test_a_spec_that_no_model_fits_is_said_by_its_own_line(stored, tmp_path):
    said = read(tmp_path, changed(stored["full"], ("task", "spec", "vocab_size"), 1))
    assert "vocab_size=1" in said
