"""lra export: a trained run as files, loaded without what trained it, to the bit; whole or not at all."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import torch

import lra as package
from lra.cli import main
from lra.runs.schema import NYSTROM
from lra.runs.settings_hash import REMOVED
from lra.tools.verbs.export import exported_config
from lra.types import UserError
from tests.commands.test_own_code import CODE, YAML
from tests.conftest import ROOT, lra_here

ABSENT = ("hydra", "omegaconf", "pytorch_lightning", "lightning_fabric", "wandb", "tensorflow_datasets", "transformers")
LOAD = """
import sys, torch
for name in {absent}:
    sys.modules[name] = None
import lra
model = lra.load_exported(sys.argv[1])
tokens = torch.load(sys.argv[2], weights_only=True)
torch.save(model(tokens, tokens != 0), sys.argv[3])
"""
TINY = ["task=listops", "size=tiny", "recipe.steps=2", "recipe.eval_every=2", "logger=csv", "trainer.threads=1"]


def trained(*settings: str) -> Path:
    """The folder of a tiny run that was trained now."""
    assert main(["train", *TINY, *settings]) == 0
    return package.run_dir(package.compose(*TINY, *settings))


@pytest.fixture(scope="module")
def run(data_dir, tmp_path_factory):
    """The folder of a finished run, which no test changes."""
    runs = tmp_path_factory.mktemp("exported") / "runs"
    assert lra_here("train", *TINY, data=data_dir, runs=runs).returncode == 0
    (result,) = runs.rglob("result.json")
    return result.parent


def tokens_of(folder: Path) -> torch.Tensor:
    spec = json.loads((folder / "config.json").read_text())["task"]
    tokens = torch.randint(1, 16, (3, spec["num_sequences"], spec["seq_len"]))
    tokens[0, :, 100:] = 0
    return tokens


def logits_of_run(run: Path, tokens: torch.Tensor) -> torch.Tensor:
    return package.load_run(run).module.model(tokens, tokens != 0)


@pytest.mark.slow
def test_another_process_loads_it_without_the_training_code_to_the_bit(run, tmp_path, capsys):
    to = tmp_path / "new" / "model"
    assert main(["export", f"run={run}", f"to={to}"]) == 0
    assert f'lra.load_exported("{to}")' in capsys.readouterr().out
    assert sorted(path.name for path in to.iterdir()) == ["README.md", "config.json", "model.safetensors"]
    assert [path.name for path in to.parent.iterdir()] == ["model"]
    tokens = tokens_of(to)
    torch.save(tokens, tmp_path / "tokens.pt")
    words = [sys.executable, "-c", LOAD.format(absent=ABSENT), to, tmp_path / "tokens.pt", tmp_path / "logits.pt"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with torch.no_grad():
        assert torch.load(tmp_path / "logits.pt", weights_only=True).equal(logits_of_run(run, tokens))


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        ["mixer=s4d"],
        ["attention=linformer", "attention.sharing=all", "model.tied_layers=true"],  # weights that layers share
        ["attention.landmark_rule=random", "protocol=clean", "trainer.precision=64-true"],  # a buffer of whole numbers
    ],
    ids=" ".join,
)
def test_every_kind_of_method_to_the_bit(home, tmp_path, settings):
    run = trained(*settings)
    assert main(["export", f"run={run}", f"to={tmp_path / 'model'}"]) == 0
    state = torch.random.get_rng_state()
    model = package.load_exported(tmp_path / "model")
    assert torch.random.get_rng_state().equal(state)
    assert not model.training
    best = torch.load(run / "best.ckpt", weights_only=True)["state_dict"]
    for name, weight in model.state_dict().items():
        assert weight.equal(best[f"model.{name}"]), name
        assert weight.dtype == best[f"model.{name}"].dtype


@pytest.mark.slow
def test_the_card_says_what_the_record_says(run, tmp_path):
    assert main(["export", f"run={run}", f"to={tmp_path / 'model'}"]) == 0
    card = (tmp_path / "model/README.md").read_text()
    record = package.load_run(run).record
    outcome = record["outcome"]
    error = (outcome["test_accuracy"] * (1 - outcome["test_accuracy"]) / outcome["test_examples"]) ** 0.5
    assert card.startswith("---\nlibrary_name: lra\n")
    for said in (
        "# nystrom on listops",
        f"{outcome['test_accuracy']:.2%} ± {100 * error:.2f} % (standard error of n = {outcome['test_examples']})",
        "| seed | 0 |",
        "num_landmarks=64",
        record["provenance"]["config_hash"],
        str(record["provenance"]["git_commit"]),
        *record["provenance"]["data_sha256"].values(),
        "not the benchmark's official ones but `generated`",
        'lra.load_exported("model")',
    ):
        assert said in card, said


@pytest.mark.slow
def test_code_of_the_users_own_is_imported_only_when_it_is_trusted(home, tmp_path, monkeypatch):
    name = f"own_{tmp_path.name}"
    (tmp_path / "code").mkdir()
    (tmp_path / "code" / f"{name}.py").write_text(CODE)
    (tmp_path / "conf/attention").mkdir(parents=True)
    (tmp_path / "conf/attention/mine.yaml").write_text(YAML.format(f"{name}.Halved"))
    monkeypatch.setenv("LRA_CONF_PATH", str(tmp_path / "conf"))
    monkeypatch.syspath_prepend(tmp_path / "code")
    run = trained("attention=mine")
    assert main(["export", f"run={run}", f"to={tmp_path / 'model'}"]) == 0
    assert f'trusted=["{name}"]' in (tmp_path / "model/README.md").read_text()
    with pytest.raises(UserError, match=rf'names {name}.Halved, .* trusted=\["{name}"\]'):
        package.load_exported(tmp_path / "model")
    model = package.load_exported(tmp_path / "model", trusted=[name])
    tokens = tokens_of(tmp_path / "model")
    assert model(tokens, tokens != 0).equal(logits_of_run(run, tokens))


@pytest.fixture
def exported(run, tmp_path):
    assert main(["export", f"run={run}", f"to={tmp_path / 'model'}"]) == 0
    return tmp_path / "model"


def change(config, *keys, value):
    *inner, last = keys
    for key in inner:
        config = config[key]
    config[last] = value


@pytest.mark.some_fast(1)
@pytest.mark.parametrize(
    "keys, value, said",
    [
        (["attention", "_target_"], "os.system", "which is not a class of lra"),
        (["attention", "_target_"], "lra.attention.nystrom.scaled_dot_product_attention", "is no AttentionBackend"),
        (["attention", "_target_"], "lra.model.classifier.ClassifierHead", "is no AttentionBackend"),
        (["attention", "_target_"], "lra.attention.nothing.Nothing", "cannot be imported"),
        (["attention", "surprise"], 1, "no model can be built from it"),
        (["attention", "num_landmarks"], 0, r"config\.json: no model can be built from it .*num_landmarks=0"),
        (["model", "dropout"], 2, r"config\.json: no model can be built from it \(dropout=2"),
        (["model", "pooling"], None, r"config\.json: no model can be built from it \(pooling=null"),
        (["model", "width"], "wide", r"config\.json: no model can be built from it"),
        (["model", "num_layers"], 10**6, r"1,000,000 layers, but model\.safetensors has \d+ weights"),
        (["task", "num_classes"], 1, r"config\.json: no model can be built from it .*num_classes=1"),
        (["model", "width"], 32, "has [(]"),
        (["task", "vocab_size"], "many", "task.vocab_size='many'"),
        (["lra_export"], 2, "lra_export=2"),
        (["mixer"], {}, "either attention or mixer"),
    ],
)
def test_a_changed_configuration_is_one_line(exported, keys, value, said):
    config = json.loads((exported / "config.json").read_text())
    change(config, *keys, value=value)
    (exported / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match=said) as caught:
        package.load_exported(exported)
    assert "\n" not in str(caught.value)


def test_a_setting_that_was_removed_is_passed_over_at_the_value_that_acts_as_today(exported, monkeypatch):
    monkeypatch.setitem(REMOVED, NYSTROM, {"causal": False})
    config = json.loads((exported / "config.json").read_text())
    change(config, "attention", "causal", value=False)
    tokens, model = tokens_of(exported), package.load_exported(exported)
    (exported / "config.json").write_text(json.dumps(config))
    assert package.load_exported(exported)(tokens, None).equal(model(tokens, None))
    change(config, "attention", "causal", value=True)
    (exported / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match=r"config\.json: attention\.causal=true .*removed"):
        package.load_exported(exported)


def test_what_a_constructor_cannot_divide_by_is_one_line_too(exported):
    config = exported_config(package.compose(*TINY, "attention=performer"))
    change(config, "model", "head_dim", value=0)
    (exported / "config.json").write_text(json.dumps(config))
    with pytest.raises(UserError, match=r"config\.json: no model can be built from it \(head_dim=0"):
        package.load_exported(exported)


def test_settings_that_only_hydra_can_build_from_are_refused():
    cfg = package.compose(*TINY).changed({"attention.part": {"_target_": "my_package.Part"}})
    with pytest.raises(UserError, match="attention has _target_ among its settings"):
        exported_config(cfg)


@pytest.mark.slow
def test_damaged_or_missing_files_are_one_line(exported):
    whole = (exported / "model.safetensors").read_bytes()
    (exported / "model.safetensors").write_bytes(whole[:-100])
    with pytest.raises(UserError, match="cannot be read as safetensors"):
        package.load_exported(exported)
    (exported / "model.safetensors").unlink()
    with pytest.raises(UserError, match=r"has no model\.safetensors"):
        package.load_exported(exported)
    (exported / "config.json").write_text("{")
    with pytest.raises(UserError, match=r"config\.json"):
        package.load_exported(exported)


@pytest.mark.slow
def test_what_cannot_be_exported_is_one_line_and_nothing_is_written(run, tmp_path, capsys):
    taken, file = tmp_path / "taken", tmp_path / "file"
    taken.mkdir()
    file.write_text("mine")
    (taken / "mine").write_text("mine")
    unfinished = tmp_path / "unfinished"
    shutil.copytree(run, unfinished)
    (unfinished / "result.json").unlink()
    before = sorted(tmp_path.rglob("*"))
    capsys.readouterr()
    for words, said in (
        ([f"run={run}", f"to={taken}"], f"to={taken} "),
        ([f"run={run}", f"to={file}"], f"to={file} "),
        ([f"run={tmp_path}", f"to={tmp_path / 'model'}"], "config.yaml"),
        ([f"run={unfinished}", f"to={tmp_path / 'model'}"], str(unfinished)),
    ):
        assert main(["export", *words]) == 2
        line = capsys.readouterr().err
        assert said in line
        assert line.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.slow
def test_an_export_that_ends_in_the_middle_leaves_nothing(run, tmp_path, capsys, monkeypatch):
    to = tmp_path / "place" / "model"

    def full(*_, **__):
        raise OSError(28, "No space left on device", str(to))

    with monkeypatch.context() as patch:
        patch.setattr("lra.base.files.to_disk", full)
        assert main(["export", f"run={run}", f"to={to}"]) == 2
    assert "no space is left" in capsys.readouterr().err
    assert list(to.parent.iterdir()) == []
    (to.parent / ".model.unfinished").mkdir()  # a killed process leaves it
    to.mkdir()  # an empty folder is no hindrance
    assert main(["export", f"run={run}", f"to={to}"]) == 0
    assert [path.name for path in to.parent.iterdir()] == ["model"]
    package.load_exported(to)
