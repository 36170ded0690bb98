"""The command line as a user drives it."""

import json
import sys

import pytest

from lra.base.option_types import as_typed
from lra.cli import VERBS, main
from lra.data.manifest import MANIFEST
from lra.runs.record import parse_record
from lra.settings.compose import load_config
from tests.conftest import ROOT, cells_of, lra_here

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
    return runs, done.stdout


def test_train_prints_what_its_accuracy_is_worth_and_writes_a_record(trained):
    runs, out = trained
    (path,) = results(runs)
    record = json.loads(path.read_text())
    accuracy = record["outcome"]["test_accuracy"]
    assert f"{100 * accuracy:.2f} %" in out
    assert "37.15 %" not in out, "the paper's number stands beside runs of its own settings alone"
    assert "NOT the benchmark" in out
    assert "majority class" in out
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
def test_a_finished_run_is_never_overwritten_unless_forced(trained, data_dir, monkeypatch, result_of):
    runs, _ = trained
    monkeypatch.setenv("LRA_DATA_DIR", str(data_dir))
    monkeypatch.setenv("LRA_RUNS_DIR", str(runs))
    (path,) = results(runs)
    before = path.read_text()
    refused = lra_here(*TRAIN, data=data_dir, runs=runs)
    assert refused.returncode == 2
    assert refused.stderr.startswith("lra: this run has a result already")
    assert "force=true" in refused.stderr
    assert path.read_text() == before
    shown = result_of(*TRAIN, "finished=show")
    assert (shown.record, shown.run.folder) == (json.loads(before), path.parent)
    assert shown.objective == shown.record.best_dev_accuracy
    forced = lra_here(*TRAIN, "force=true", "logger=csv", data=data_dir, runs=runs)
    assert forced.returncode == 0
    old, new = (json.loads(p.read_text())["outcome"]["test_accuracy"] for p in results(runs))
    assert old == new, "the old record is kept beside, and the same seed gives the same accuracy"


@pytest.mark.slow
def test_a_sweep_gives_a_result_for_every_cell(home, capsys):
    words = (*TRAIN, "-m", "attention=full,none", "logger=csv")
    code, _, _ = run(capsys, *words)
    assert code == 0
    assert len(results(home)) == 2
    code, out, _ = run(capsys, *words)
    assert code == 0
    assert out.count("Finished before") == 2


@pytest.mark.slow
def test_max_steps_stops_early_without_a_result_and_the_run_goes_on_later(home, capsys):
    code, out, _ = run(capsys, *TRAIN, "logger=csv", "trainer.max_steps=3")
    assert code == 0
    assert "Stopped at step 3 of 4" in out
    assert not results(home)
    code, out, _ = run(capsys, *TRAIN, "logger=csv")
    assert code == 0
    assert "Going on from step 3" in out
    assert len(results(home)) == 1


@pytest.mark.slow
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
    assert done.returncode == 0, done.stderr
    assert "the same as recorded" in done.stdout
    assert result_of("evaluate", f"run={results(home)[0].parent}").is_as_recorded


@pytest.mark.slow
def test_prepare_says_at_once_that_it_is_done_and_checks(home, result_of, capsys):
    assert not result_of("prepare", "task=listops", "size=tiny").made
    assert "256 examples" in capsys.readouterr().out
    assert result_of("prepare", "task=listops", "size=tiny", "check=true").checked


@pytest.mark.slow
def test_prepare_from_the_benchmarks_own_files(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    for name, count in (("train", 10), ("val", 3), ("test", 2)):
        rows = [f"( ( ( [MAX {i} ) {i} ) ] )\t{i}" for i in range(count)]
        (tmp_path / f"basic_{name}.tsv").write_text("\n".join(["Source\tTarget", *rows]) + "\n")
    code, _, err = run(capsys, "prepare", "task=listops", "size=tiny", f"source={tmp_path}", "verify=false")
    assert code == 0, err
    manifest = json.loads((tmp_path / "data/stores/listops/tiny" / MANIFEST).read_text())
    assert [split["count"] for split in manifest["splits"].values()] == [10, 3, 2]
    assert manifest["origin"] == "stand-in", "not the benchmark's 96,000 rows"
    code, _, err = run(capsys, "prepare", "task=listops", "size=tiny", "source=generate")
    assert code == 2
    assert "force=true" in err


@pytest.mark.slow
def test_show_model_ends_with_the_parameters(capsys):
    code, out, _ = run(capsys, "show", "model", "task=text", "attention=nystrom")
    assert code == 0
    assert out.splitlines()[-1] == "parameters: 370702"
    own = [cells_of(line)[-1].replace(",", "") for line in out.splitlines()[:-1]]
    assert sum(int(number) for number in own if number.isdecimal()) == 370_702, "the layers add up"


@pytest.mark.slow
def test_show_model_marks_what_is_over_the_benchmarks_ten_percent(capsys):
    _, out, _ = run(capsys, "show", "model", "task=listops", "attention=linformer")
    assert "+500% parameters against attention=full (209,802)" in out
    assert out.splitlines()[-1] == "parameters: 1258378"
    _, out, _ = run(capsys, "show", "model", "task=listops", "attention=nystrom")
    assert "10 %" not in out


@pytest.mark.slow
def test_show_protocol_lists_every_switch_with_its_values(capsys):
    code, out, _ = run(capsys, "show", "protocol")
    assert code == 0
    protocols = {name: load_config("train", [f"protocol={name}"]).protocol for name in ("paper", "clean")}
    assert protocols["paper"].keys() == protocols["clean"].keys()
    rows = [line.split() for line in out.splitlines() if line.startswith("  ")]
    for switch in set(protocols["paper"]) - {"name"}:
        assert any(line.startswith(f"{switch} ") for line in out.splitlines()), switch
        for name, protocol in protocols.items():
            value = as_typed(protocol[switch])
            assert any(row[0] == value and name in [each.strip(",") for each in row[1:3]] for row in rows), switch


@pytest.mark.slow
def test_show_data_draws_trees(home, capsys):
    code, out, _ = run(capsys, "show", "data", "task=listops", "size=tiny", "examples=2")
    assert code == 0
    assert "train 0" in out
    assert "train 1" in out
    assert " = " in out


def test_doctor_names_folders_and_data(home, capsys):
    code, out, _ = run(capsys, "doctor")
    assert code == 0
    for word in ("torch", "LRA_DATA_DIR", str(home), "prepared listops", "offline", "size=tiny"):
        assert word in out


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
