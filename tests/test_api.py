"""`import lra` gives what a notebook needs, and imports no more than what is used."""

import ast
import doctest
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import torch

import lra
import lra.api
import lra.from_config
from lra.runs.files import BEST, RESULT
from tests.conftest import ROOT, lra_here

SETTINGS = ("task=listops", "attention=nystrom", "size=tiny", "recipe.steps=4", "recipe.eval_every=2", "logger=csv")


@pytest.fixture(scope="module")
def trained(data_dir, tmp_path_factory):
    """A folder of runs with two seeds of one run."""
    folder = tmp_path_factory.mktemp("trained")
    for seed in range(2):
        done = lra_here("train", *SETTINGS, f"seed={seed}", data=data_dir, runs=folder / "runs")
        assert done.returncode == 0, done.stderr
    return folder / "runs"


@pytest.fixture
def run_folder(trained, home):
    """The folder of the finished run of seed 0, beside that of seed 1."""
    shutil.copytree(trained, home)
    (record,) = home.rglob(f"seed0/{RESULT}")
    return record.parent


def test_importing_lra_and_its_version_import_nothing_heavy():
    code = (
        "import sys\n"
        "for name in ('torch', 'hydra', 'omegaconf', 'pytorch_lightning', 'pandas', 'wandb'):\n"
        "    sys.modules[name] = None\n"
        "import lra\nassert set(lra.__all__) <= set(dir(lra))\n"
        "from lra.cli import main\nsys.exit(main(['--version']))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == f"lra {lra.__version__}"


def test_dir_shows_the_interface_alone():
    lra.compose  # noqa: B018  (what is imported on the way must not show)
    assert dir(lra) == sorted([*lra.__all__, "__version__"])


def test_every_name_is_there_and_documented():
    for name in lra.__all__:
        assert getattr(lra, name).__doc__, name
    with pytest.raises(AttributeError, match="has no attribute 'compse'"):
        lra.compse  # noqa: B018


@pytest.mark.slow
def test_compose_is_what_lra_train_would_use(run_folder):
    cfg = lra.compose(*SETTINGS)
    assert lra.run_dir(cfg) == run_folder
    assert lra.compose("run_group=2024").run_group == "2024"


@pytest.mark.parametrize(
    ("words", "kind", "key"),
    [
        (("task=listop",), "unknown_choice", "task"),
        (("recipe.step=4",), "unknown_option", "recipe.step"),
        (("seed=0,1",), "several_values", "seed"),
        (("--cfg", "job"), "unknown_option", "--cfg"),
        ((["task=listops"],), "unknown_option", "['task=listops']"),
        (("mixer=s4d", "attention.num_landmarks=32"), "no_effect", "attention.num_landmarks"),
        (("attention.num_landmarks=0",), "wrong_value", "attention.num_landmarks"),
        (("task=pathx", "size=short"), None, None),
    ],
)
def test_compose_refuses_what_the_command_line_refuses(words, kind, key):
    with pytest.raises(lra.UserError) as refused:
        lra.compose(*words)
    assert (refused.value.kind, refused.value.key) == (kind, key)
    assert "\n" not in str(refused.value)


@pytest.mark.slow
def test_data_is_prepared_where_it_is_missing(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path))
    cfg = lra.compose("task=listops", "size=tiny")
    with pytest.raises(lra.UserError, match="lra prepare task=listops size=tiny"):
        lra.build_datamodule(cfg)
    assert lra.prepare_data(cfg) == tmp_path / "stores/listops/tiny"
    assert "preparing listops" in capsys.readouterr().out
    tokens, valid, label = next(iter(lra.build_datamodule(cfg).test_dataloader()))
    assert lra.build_model(cfg)(tokens, valid).shape == (len(label), 10)
    lra.prepare_data(cfg)
    assert capsys.readouterr().out == ""


def test_a_loaded_run_has_its_config_record_curves_and_tested_weights(run_folder):
    run = lra.load_run(run_folder)
    assert (run.folder, run.config.recipe.steps) == (run_folder, 4)
    assert run.record == json.loads((run_folder / RESULT).read_text())
    assert isinstance(run.curves, pd.DataFrame)
    assert run.curves["dev/accuracy"].dropna().max() == run.record["outcome"]["best_dev_accuracy"]
    assert run.curves["step"].max() == 4
    data, right = lra.build_datamodule(run.config), 0
    with torch.inference_mode():
        for batch in data.test_dataloader():
            right += int((run.module(batch).argmax(1) == batch.label).sum())
    assert not run.module.training
    assert right / data.num_examples("test") == pytest.approx(run.record["outcome"]["test_accuracy"])


def test_a_run_that_is_not_finished_has_no_record(run_folder):
    (run_folder / RESULT).unlink()
    assert lra.load_run(str(run_folder)).record is None


def test_what_is_no_run_is_refused_as_lra_evaluate_does(run_folder, tmp_path):
    def kind_and_key() -> tuple:
        with pytest.raises(lra.UserError) as refused:
            lra.load_run(run_folder)
        return refused.value.kind, refused.value.key

    with pytest.raises(lra.UserError, match=r"config\.yaml"):
        lra.load_run(tmp_path)
    torch.save({"global_step": 2, "state_dict": {"model.other": torch.zeros(1)}}, run_folder / BEST)
    assert kind_and_key() == ("other_model", "best.ckpt")
    (run_folder / "config.yaml").write_text("task: {_target_: os.system}")
    assert kind_and_key() == ("unnamed_class", "task._target_")


def test_records_are_a_frame_with_a_row_each(run_folder, home, tmp_path):
    frame = lra.records("default")
    assert list(frame["identity.seed"]) == [0, 1]
    assert list(frame["settings.attention.num_landmarks"]) == [64, 64]
    first = json.loads((run_folder / RESULT).read_text())
    assert frame.loc[0, "outcome.test_accuracy"] == first["outcome"]["test_accuracy"]
    assert frame.loc[0, "source"] == str(run_folder / RESULT)
    (tmp_path / "some.jsonl").write_text(json.dumps(first) + "\n")
    assert len(lra.records(tmp_path / "some.jsonl")) == 1
    assert len(lra.records(home / "default/listops")) == 2


def test_short_columns_are_task_method_seed_accuracy_and_seconds(run_folder):
    record = json.loads((run_folder / RESULT).read_text())
    short = lra.records("default", columns="short")
    assert list(short.columns) == ["task", "method", "seed", "accuracy", "seconds"]
    expected = ["listops", "nystrom", 0, record["outcome"]["test_accuracy"], record["cost"]["train_seconds"]]
    assert list(short.iloc[0]) == expected
    with pytest.raises(lra.UserError) as refused:
        lra.records("default", columns="brief")
    assert (refused.value.kind, refused.value.key, refused.value.value) == ("unknown_choice", "columns", "brief")


def test_runs_that_short_columns_do_not_tell_apart_are_warned_of():
    source = ROOT / "runs/published/short_landmarks_listops.jsonl"
    with pytest.warns(UserWarning, match='columns="all"'):
        lra.records(source, columns="short")


def test_published_records_are_read_by_their_path():
    frame = lra.records(ROOT / "runs/published/short_table.jsonl")
    by_attention = frame.groupby("identity.attention")["outcome.test_accuracy"].agg(["mean", "count"])
    assert set(by_attention.index) >= {"nystrom", "full", "linformer"}
    assert by_attention["mean"].between(0.1, 0.8).all()


def test_a_broken_record_is_left_out_with_a_warning(run_folder, home):
    broken = home / "default/other" / RESULT
    broken.parent.mkdir()
    broken.write_text("{")
    with pytest.warns(UserWarning, match=str(broken)):
        assert len(lra.records("default")) == 2


@pytest.mark.parametrize("place", ["nowhere", "default"])
def test_no_records_are_said(home, place):
    (home / "default").mkdir(parents=True)
    with pytest.raises(lra.UserError, match="no record"):
        lra.records(place)


@pytest.mark.slow
@pytest.mark.parametrize("module", [lra.api, lra.from_config], ids=["api", "build"])
def test_the_examples_in_docstrings_run(run_folder, module):
    results = doctest.testmod(module, optionflags=doctest.ELLIPSIS)
    assert results.attempted >= 3
    assert results.failed == 0


def test_the_stub_has_the_types_of_what_the_package_gives_and_of_nothing_else():
    stub = ast.parse(Path(lra.__file__).with_suffix(".pyi").read_text())
    imported = [alias.name for node in stub.body if isinstance(node, ast.ImportFrom) for alias in node.names]
    assert sorted(imported) == sorted(lra.__all__)
