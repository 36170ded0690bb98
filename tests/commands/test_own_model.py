"""An encoder of one's own: a YAML file in a conf folder that names it; trained, evaluated, shown, a row of its own."""

import json

import pytest

from lra.cli import main

WORDS = ("size=tiny", "recipe.steps=2", "recipe.eval_every=2", "logger=csv")
CHOSEN = {"gru": ["model=gru"], "thin": ["model=thin", "attention=nystrom"], "thin_s4d": ["model=thin", "mixer=s4d"]}
TARGETS = {"gru": "GruClassifier", "thin": "OneLayer"}


@pytest.fixture
def conf(tmp_path):
    """A folder with model/gru.yaml and model/thin.yaml."""
    (tmp_path / "conf/model").mkdir(parents=True)
    for name, target in TARGETS.items():
        text = f"name: {name}\n_target_: tests.model.own_models.{target}\n_partial_: true\nwidth: 16\n"
        (tmp_path / f"conf/model/{name}.yaml").write_text(text)
    return str(tmp_path / "conf")


@pytest.mark.slow
@pytest.mark.parametrize("case", CHOSEN)
def test_it_trains_and_is_evaluated_and_recorded_under_its_own_name(case, conf, home, capsys, result_of):
    trained = result_of("train", "--config-dir", conf, *CHOSEN[case], *WORDS)
    name = case.split("_")[0]
    out = capsys.readouterr().out
    assert f"listops/{name}" in out
    assert f"The full run: lra train task=listops model={name}" in out
    (path,) = home.glob(f"default/listops/{name}/*/seed0/result.json")
    record = json.loads(path.read_text())
    assert (trained.record, trained.run.folder) == (record, path.parent)
    assert record["identity"]["attention"] == name
    assert record["settings"]["model"]["name"] == name
    assert ("approximation" in record) == (case == "thin"), "of Nyström layers, wherever they are"
    assert result_of("evaluate", "--config-dir", conf, f"run={path.parent}").is_as_recorded
    capsys.readouterr()
    assert main(["compare", "show", "run_group=default", "size=tiny", "format=csv"]) == 0
    assert f"\n{name}," in capsys.readouterr().out


@pytest.mark.slow
def test_without_its_conf_folder_a_run_of_it_is_refused_in_a_line(conf, home, capsys):
    assert main(["train", "--config-dir", conf, "model=gru", *WORDS]) == 0
    (path,) = home.rglob("result.json")
    capsys.readouterr()
    assert main(["evaluate", f"run={path.parent}"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "model._target_=tests.model.own_models.GruClassifier is not named in this conf tree" in line
    assert "--config-dir" in line


@pytest.mark.slow
@pytest.mark.parametrize("case", CHOSEN)
def test_it_is_shown_layer_by_layer(case, conf, home, result_of):
    shown = result_of("show", "model", "--config-dir", conf, *CHOSEN[case], "size=tiny")
    assert shown.table.title.startswith(f"listops / {case.split('_')[0]}")
    layers = {"gru": ("token", "gru", "head"), "thin": ("mixer.qkv", "head"), "thin_s4d": ("S4D", "head")}[case]
    cells = [cell for row in shown.table.rows for cell in row]
    assert all(any(layer in cell for cell in cells) for layer in layers)
    assert shown.parameters > 0


@pytest.mark.slow
def test_a_step_of_it_is_measured(conf, home, capsys):
    words = ["steps=1", "dev_batches=1", "size=tiny"]
    assert main(["bench", "step", "--config-dir", conf, "model=gru", *words]) == 0
    assert "listops/gru" in capsys.readouterr().out


@pytest.mark.slow
def test_a_class_that_is_typed_alone_is_called_by_its_name(home, capsys):
    assert main(["train", "model._target_=tests.model.own_models.AnyGru", *WORDS]) == 0
    (path,) = home.glob("default/listops/AnyGru/*/seed0/result.json")
    assert json.loads(path.read_text())["identity"]["attention"] == "AnyGru"
    capsys.readouterr()
    assert main(["compare", "show", "run_group=default", "size=tiny", "format=csv"]) == 0
    assert "\nAnyGru," in capsys.readouterr().out


@pytest.mark.slow
def test_a_class_that_does_not_take_the_encoders_settings_is_refused_in_a_line(home, capsys):
    assert main(["show", "model", "model._target_=tests.model.own_models.GruClassifier"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "unknown option model.num_layers; tests.model.own_models.GruClassifier takes" in line
    assert "docs/your_attention.md" in line
