"""An encoder of one's own: a YAML file in a conf folder that names it; trained, evaluated, shown, a row of its own."""

import json

import pytest

from lra.base.printed_commands import command
from lra.cli import main
from lra.verbs.train_summary import verdict

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


def compared(result_of) -> list[str]:
    """The names of the rows of a comparison of what was trained."""
    (made,) = result_of("compare", "show", "run_group=default", "size=tiny", "format=csv").tables
    return [row["method"] for row in made.table.csv_rows]


@pytest.mark.slow
@pytest.mark.parametrize("case", CHOSEN)
def test_it_trains_and_is_evaluated_and_recorded_under_its_own_name(case, conf, home, result_of):
    trained = result_of("train", "--config-dir", conf, *CHOSEN[case], *WORDS)
    name = case.split("_")[0]
    assert command("train", "task=listops", f"model={name}") in verdict(trained.record), "the full run"
    (path,) = home.glob(f"default/listops/{name}/*/seed0/result.json")
    record = json.loads(path.read_text())
    assert (trained.record, trained.run.folder) == (record, path.parent)
    assert record["identity"]["attention"] == name
    assert record["settings"]["model"]["name"] == name
    assert ("approximation" in record) == (case == "thin"), "of Nyström layers, wherever they are"
    assert result_of("evaluate", "--config-dir", conf, f"run={path.parent}").is_as_recorded
    assert compared(result_of) == [name]


@pytest.mark.slow
def test_without_its_conf_folder_a_run_of_it_is_refused_in_a_line(conf, home, refused):
    assert main(["train", "--config-dir", conf, "model=gru", *WORDS]) == 0
    (path,) = home.rglob("result.json")
    error = refused("evaluate", f"run={path.parent}")
    assert (error.kind, error.key) == ("unnamed_class", "model._target_")
    assert error.value == "tests.model.own_models.GruClassifier"
    assert "--config-dir" in str(error)


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
def test_a_class_that_is_typed_alone_is_called_by_its_name(home, result_of):
    assert main(["train", "model._target_=tests.model.own_models.AnyGru", *WORDS]) == 0
    (path,) = home.glob("default/listops/AnyGru/*/seed0/result.json")
    assert json.loads(path.read_text())["identity"]["attention"] == "AnyGru"
    assert compared(result_of) == ["AnyGru"]


@pytest.mark.slow
def test_a_class_that_does_not_take_the_encoders_settings_is_refused_in_a_line(home, refused):
    error = refused("show", "model", "model._target_=tests.model.own_models.GruClassifier")
    assert (error.kind, error.key) == ("unknown_option", "model.num_layers")
    assert "tests.model.own_models.GruClassifier" in str(error)
    assert "docs/your_attention.md" in str(error)
