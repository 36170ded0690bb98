"""The command line as a user drives it."""

import json
import sys

import pytest
import torch

from lra.base.option_types import as_typed
from lra.cli import VERBS, main
from lra.data.manifest import MANIFEST, read_manifest
from lra.runs.published_numbers import published_accuracy_for
from lra.runs.record import parse_record
from lra.settings.compose import load_config
from lra.training.checkpoints import saved_step
from lra.training.module import ClassifierModule
from tests.conftest import ROOT, lra_here

TRAIN = ("train", "size=tiny", "recipe.steps=4", "recipe.eval_every=2")


def run(capsys, *words: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = main(words)
    out, err = capsys.readouterr()
    return code, out, err


def results(home):
    return sorted(home.rglob("result.json"))


@pytest.fixture(scope="module")
def trained(data_dir, tmp_path_factory):
    """A finished run's folder of runs."""
    runs = tmp_path_factory.mktemp("trained") / "runs"
    done = lra_here(*TRAIN, data=data_dir, runs=runs)
    assert done.returncode == 0, done.stderr
    return runs


@pytest.fixture
def shown(trained, data_dir, monkeypatch, result_of):
    """That run, looked at again."""
    monkeypatch.setenv("LRA_DATA_DIR", str(data_dir))
    monkeypatch.setenv("LRA_RUNS_DIR", str(trained))
    return result_of(*TRAIN, "finished=show")


def test_train_writes_a_record_and_hands_it_back(trained, shown):
    (path,) = results(trained)
    record = json.loads(path.read_text())
    assert (shown.record, shown.run.folder) == (record, path.parent)
    assert shown.objective == record["outcome"]["best_dev_accuracy"]
    assert published_accuracy_for(shown.record, "paper") is None, "that is for runs of the paper's own settings alone"
    assert record["identity"]["size"] == "tiny"
    assert record["outcome"]["test_examples"] == 64
    assert record["settings"]["attention"]["num_landmarks"] == 64
    assert record["settings"]["protocol"]["pinv_start"] == "batch"
    assert record["settings"]["model"]["num_layers"] == 2
    assert parse_record(path.read_text(), path) == record
    assert record["provenance"]["data_origin"] == "generated"
    assert record["cost"]["parameters"] == 95_254
    assert path.parent.name == "seed0"
    for name in ("curve.png", "metrics.csv", "best.ckpt", "last.ckpt", "config.yaml", "wandb"):
        assert (path.parent / name).exists(), name


@pytest.mark.slow
def test_a_finished_run_is_never_overwritten_unless_forced(trained, shown, refused, result_of):
    (path,) = results(trained)
    before = path.read_text()
    error = refused(*TRAIN)
    assert (error.kind, error.key, error.value) == ("finished", str(path.parent), shown.record.test_accuracy)
    assert error.right.split()[-1] == "force=true"
    assert path.read_text() == before
    forced = result_of(*TRAIN, "force=true", "logger=csv")
    assert forced.run.folder == path.parent
    old, new = (json.loads(p.read_text())["outcome"]["test_accuracy"] for p in results(trained))
    assert old == new, "the old record is kept beside, and the same seed gives the same accuracy"


@pytest.mark.slow
def test_a_sweep_gives_a_result_for_every_cell_and_trains_none_again(home, monkeypatch):
    words = (*TRAIN, "-m", "attention=full,none", "logger=csv")
    assert main(words) == 0
    assert len(results(home)) == 2
    monkeypatch.setattr("lra.verbs.train_attempt.train_run", lambda *_, **__: pytest.fail("trained again"))
    assert main(words) == 0


@pytest.mark.slow
def test_max_steps_stops_early_without_a_result_and_the_run_goes_on_later(home, monkeypatch, result_of):
    assert result_of(*TRAIN, "logger=csv", "trainer.max_steps=3") is None
    (checkpoint,) = home.rglob("last.ckpt")
    assert saved_step(checkpoint) == 3
    assert not results(home)
    made, training_step = [], ClassifierModule.training_step
    monkeypatch.setattr(
        ClassifierModule, "training_step", lambda *given, **named: made.append(1) or training_step(*given, **named)
    )
    trained = result_of(*TRAIN, "logger=csv")
    assert len(made) == 1, "of the four steps three were made before"
    assert results(home) == [trained.run.folder / "result.json"]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_training_and_evaluating_need_neither_tfds_nor_wandb_and_another_process_evaluates_the_same(home, result_of):
    code = (
        "import sys\n"
        "for name in ('wandb', 'tensorflow_datasets', 'array_record'):\n    sys.modules[name] = None\n"
        "from pathlib import Path\nfrom lra.cli import main\n"
        "runs, *words = sys.argv[1:]\n"
        "assert main(words) == 0\n"
        "(result,) = Path(runs).rglob('result.json')\n"
        "sys.exit(main(['evaluate', f'run={result.parent}']))\n"
    )
    import subprocess

    words = [str(home), *TRAIN, "logger=csv"]
    done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr  # another accuracy than the recorded one would be an error
    assert result_of("evaluate", f"run={results(home)[0].parent}").is_as_recorded


@pytest.mark.slow
def test_prepare_says_at_once_that_it_is_done_and_checks(home, result_of):
    prepared = result_of("prepare", "task=listops", "size=tiny")
    assert not prepared.made
    assert read_manifest(prepared.folder)["splits"]["train"]["count"] == 256
    assert result_of("prepare", "task=listops", "size=tiny", "check=true").checked


@pytest.mark.slow
def test_prepare_from_the_benchmarks_own_files(tmp_path, monkeypatch, result_of, refused):
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    for name, count in (("train", 10), ("val", 3), ("test", 2)):
        rows = [f"( ( ( [MAX {i} ) {i} ) ] )\t{i}" for i in range(count)]
        (tmp_path / f"basic_{name}.tsv").write_text("\n".join(["Source\tTarget", *rows]) + "\n")
    prepared = result_of("prepare", "task=listops", "size=tiny", f"source={tmp_path}", "verify=false")
    assert (prepared.made, prepared.folder) == (True, tmp_path / "data/stores/listops/tiny")
    manifest = json.loads((prepared.folder / MANIFEST).read_text())
    assert [split["count"] for split in manifest["splits"].values()] == [10, 3, 2]
    assert manifest["origin"] == "stand-in", "not the benchmark's 96,000 rows"
    error = refused("prepare", "task=listops", "size=tiny", "source=generate")
    assert (error.kind, error.key, error.value) == ("other_data", "source", "generate")


@pytest.mark.slow
def test_show_model_ends_with_the_parameters(capsys, result_of):
    shown = result_of("show", "model", "task=text", "attention=nystrom")
    assert shown.parameters == 370_702
    assert capsys.readouterr().out.split()[-1] == "370702"
    own = [row[-1].replace(",", "") for row in shown.table.rows]
    assert sum(int(number) for number in own if number) == 370_702, "the layers add up"


@pytest.mark.slow
def test_show_model_marks_what_is_over_the_benchmarks_ten_percent(result_of):
    shown = result_of("show", "model", "task=listops", "attention=linformer")
    assert (shown.parameters, shown.full_parameters, shown.is_over_limit) == (1_258_378, 209_802, True)
    assert not result_of("show", "model", "task=listops", "attention=nystrom").is_over_limit


@pytest.mark.slow
def test_show_protocol_lists_every_switch_with_its_values(result_of):
    rows = dict(result_of("show", "protocol").parts)["Switches"]
    protocols = {name: load_config("train", [f"protocol={name}"]).plain("protocol") for name in ("paper", "clean")}
    assert protocols["paper"].keys() == protocols["clean"].keys()
    values, switch = {}, ""
    for first, having, _ in rows[1:]:
        switch = switch if first.startswith(" ") else first
        values.setdefault(switch, {}).update({name: first.strip() for name in having.split(", ") if name})
    for switch in set(protocols["paper"]) - {"name"}:
        for name, protocol in protocols.items():
            assert values[switch][name] == as_typed(protocol[switch]), switch


@pytest.mark.slow
def test_show_data_draws_trees(home, result_of):
    shown = result_of("show", "data", "task=listops", "size=tiny", "examples=2")
    assert (shown.split, len(shown.examples)) == ("train", 2)
    assert all(" = " in " ".join(example.lines) for example in shown.examples), "each tree has its value"


def test_doctor_names_folders_and_data(home, data_dir, result_of):
    facts = {fact.what: fact for fact in result_of("doctor").facts}
    assert facts["torch"].text == torch.__version__
    assert str(home) in facts["runs (LRA_RUNS_DIR)"].text
    assert str(data_dir) in facts["data (LRA_DATA_DIR)"].text
    assert facts["prepared listops"].state == "ok"
    assert "size=tiny" in facts["prepared listops"].text
    assert facts["W&B"].text.split(";")[0] == "offline"


def test_help_lists_the_verbs_and_shows_examples(capsys):
    code, out, _ = run(capsys)
    assert code == 0
    for verb in VERBS:
        assert verb in out
        code, text, _ = run(capsys, verb, "--help")
        assert code == 0
        assert f"lra {verb}" in text


def test_the_source_tree_is_what_is_tested():
    import lra as package

    assert ROOT in __import__("pathlib").Path(package.__file__).parents
