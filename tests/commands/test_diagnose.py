"""lra diagnose: the page, the JSON, what is printed, and mistakes."""

import json
import re
import shutil

import pytest
import torch
from rich.console import Console

from lra.cli import main
from lra.tools.diagnosis.schema import read_diagnosis
from lra.tools.diagnosis.sentences import VERDICTS, swap_name
from lra.training.checkpoints import read_checkpoint
from lra.training.wandb_server import sync_command
from lra.types import UserError
from tests.commands.test_report import Page
from tests.conftest import lra_here
from tests.training.offline_run import offline_runs

TRAIN = ("train", "size=tiny", "recipe.steps=2", "recipe.eval_every=2", "recipe.batch_size=16", "logger=csv")
FEW = ("examples=20", "sequences=2")


@pytest.fixture(scope="module")
def trained(data_dir, tmp_path_factory):
    """A folder of runs with one, of Nyström attention."""
    runs = tmp_path_factory.mktemp("diagnosed") / "runs"
    assert lra_here(*TRAIN, data=data_dir, runs=runs).returncode == 0
    return runs


@pytest.fixture(scope="module")
def diagnosed(trained, data_dir, tmp_path_factory):
    """The folder of the Nyström run after its diagnosis."""
    runs = tmp_path_factory.mktemp("once") / "runs"
    shutil.copytree(trained / "default", runs / "default")
    folder = next(runs.glob("default/*/*/*/seed0"))
    done = lra_here("diagnose", f"run={folder}", *FEW, data=data_dir, runs=runs)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def again(diagnosed, data_dir, tmp_path, monkeypatch, result_of):
    """The same diagnosis once more, in this process, into another folder."""
    monkeypatch.setenv("LRA_DATA_DIR", str(data_dir))
    monkeypatch.setenv("LRA_RUNS_DIR", str(diagnosed.parents[4]))
    return result_of("diagnose", f"run={diagnosed}", *FEW, f"to={tmp_path}/a/b")


def run_of(runs):
    return next(runs.glob("default/*/*/*/seed0"))


@pytest.mark.slow
def test_the_page_holds_each_figure_and_needs_no_other_file(diagnosed):
    text = (diagnosed / "diagnosis.html").read_text()
    page = Page(text)
    assert page.open == []
    assert page.tags & {"script", "link"} == set()
    assert all(link.startswith(("#", "data:image/png")) for link in page.links)
    shown = re.findall(r'<figure role="img" aria-label="([^"]*)"', text)
    assert shown == [
        "accuracy",
        "matrix error against landmarks",
        "output error against landmarks",
        "matrices",
        "convergence",
    ]
    assert text.count("<svg") == len(shown)
    assert text.count("data:image/png;base64") >= 2 * 2 * 3, "three images for each head"
    assert re.findall(r"<h2[^>]*>([^<]*)", text) == [
        *("Answer", "Heads", "Swaps", "Landmarks", "Heat maps", "Pseudo-inverse")
    ]
    assert "layer 2, head 2" in text
    assert "light-dark(" in text


@pytest.mark.slow
def test_the_json_reads_back_and_has_each_head_and_swap(diagnosed):
    diagnosis = read_diagnosis(diagnosed / "diagnosis.json")
    assert [len(heads) for heads in diagnosis["layers"]] == [2, 2]
    subject = diagnosis["subject"]
    assert (subject["task"], subject["attention"]) == ("listops", "nystrom")
    assert subject["run"] == diagnosed.relative_to(diagnosed.parents[4]).as_posix()
    assert (subject["examples"], subject["sequences"], subject["num_landmarks"]) == (20, 2, 64)
    assert [swap["name"] for swap in diagnosis["swaps"]].count("nystrom") == 5
    text = " ".join((diagnosed / "diagnosis.html").read_text().split())
    assert diagnosis["answer"][-1] == VERDICTS["majority"], "a model of a few steps"
    for sentence in diagnosis["answer"]:
        assert sentence in text
    for swap in diagnosis["swaps"]:
        assert swap["accuracy"] * 20 == pytest.approx(round(swap["accuracy"] * 20))


@pytest.mark.slow
def test_the_terminal_says_the_answer(again, tmp_path, capsys):
    assert list(again.tables) == ["heads", "swaps"]
    assert [row[0] for row in again.tables["heads"].rows] == [
        f"layer {layer}, head {head}" for layer in (1, 2) for head in (1, 2)
    ]
    swaps = again.diagnosis["swaps"]
    assert {row[0] for row in again.tables["swaps"].rows} == {swap_name(swap) for swap in swaps}
    assert again.files == (tmp_path / "a/b/diagnosis.html", tmp_path / "a/b/diagnosis.json")
    capsys.readouterr()
    again.show(Console(width=80))
    out = capsys.readouterr().out
    assert " ".join(again.diagnosis["answer"]) in " ".join(out.split())
    assert all(row[0] in out for table in again.tables.values() for row in table.rows)
    assert len(out.splitlines()) < 60


@pytest.mark.slow
def test_the_same_run_gives_the_same_page(diagnosed, again):
    for path in again.files:
        assert path.read_bytes() == (diagnosed / path.name).read_bytes()


@pytest.mark.slow
def test_the_report_links_to_it(diagnosed, data_dir, tmp_path):
    folder = diagnosed
    runs = folder.parents[4]
    for out in (runs / "default/report.html", tmp_path / "elsewhere/page.html"):
        words = ("report", "run_group=default", "samples=0", f"out={out}")
        assert lra_here(*words, data=data_dir, runs=runs).returncode == 0
        (link,) = re.findall(r'<a href="([^"]*)">diagnosis</a>', out.read_text())
        assert (out.parent / link).resolve() == folder / "diagnosis.html"


@pytest.mark.slow
@pytest.mark.parametrize("attention", ["full", "linformer"])
def test_any_attention_can_be_diagnosed(data_dir, home, result_of, tmp_path, attention):
    runs = tmp_path / "runs"
    assert lra_here(*TRAIN, f"attention={attention}", data=data_dir, runs=runs).returncode == 0
    diagnosis = result_of("diagnose", f"run={run_of(runs)}", *FEW, f"to={tmp_path}/out").diagnosis
    errors = [head["output_error"] for heads in diagnosis["layers"] for head in heads]
    assert max(errors) < 1e-5 if attention == "full" else min(errors) > 1e-3
    exact = next(swap for swap in diagnosis["swaps"] if swap["name"] == "exact")
    assert attention != "full" or exact["agreement"] == 1


@pytest.mark.slow
def test_a_fresh_model_has_no_accuracies(home, result_of):
    shown = result_of("diagnose", "size=tiny", "attention=performer", "sequences=1")
    folder = home / "diagnose/listops-performer-tiny"
    assert shown.files == (folder / "diagnosis.html", folder / "diagnosis.json")
    assert list(shown.tables) == ["heads"]
    diagnosis = read_diagnosis(folder / "diagnosis.json")
    assert diagnosis == shown.diagnosis
    assert diagnosis["swaps"] == []
    assert diagnosis["subject"]["run"] is None
    assert "Swaps</h2>" not in (folder / "diagnosis.html").read_text()


@pytest.mark.slow
def test_it_is_logged_to_wandb_when_that_is_asked_for(trained, home, result_of, capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("WANDB_DATA_DIR", str(tmp_path / "staged"))
    words = ("diagnose", f"run={run_of(trained)}", *FEW, f"to={tmp_path}/out")
    shown = result_of(*words, "logger=wandb")
    assert sync_command(tmp_path / "out/diagnosis-wandb") in capsys.readouterr().out
    (offline,) = offline_runs(tmp_path / "out")
    assert offline.run.job_type == "diagnose"
    diagnosis = shown.diagnosis
    errors = [head["matrix_error"] for heads in diagnosis["layers"] for head in heads]
    assert offline.summary["diagnosis/matrix_error"] == pytest.approx(sum(errors) / len(errors))
    assert offline.summary["accuracy/trained"] == diagnosis["swaps"][0]["accuracy"]
    assert {"diagnosis/heads", "diagnosis/swaps", "diagnosis/page"} <= {key.split(".")[0] for key in offline.history[0]}


@pytest.mark.slow
def test_what_wandb_refuses_is_said_before_anything_is_measured(trained, home, refused, tmp_path, monkeypatch):
    monkeypatch.setattr("lra.tools.verbs.diagnose_model.diagnosis_of", None)
    words = ("diagnose", f"run={run_of(trained)}", *FEW, f"to={tmp_path}/out", "logger=wandb")
    assert refused(*words, "logger.wandb.project=a:b").key == "logger.wandb.project"
    monkeypatch.setenv("WANDB_BASE_URL", "host")
    assert refused(*words).key == "WANDB_BASE_URL"
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_checkpoint_of_weights_that_are_no_numbers(trained, home, refused, tmp_path):
    """As a training that has diverged may leave one."""
    folder = tmp_path / "copy"
    shutil.copytree(run_of(trained), folder)
    checkpoint = read_checkpoint(folder / "best.ckpt")
    name = next(name for name in checkpoint["state_dict"] if name.endswith("qkv.weight"))
    checkpoint["state_dict"][name][0, 0] = float("nan")
    torch.save(checkpoint, folder / "best.ckpt")
    error = refused("diagnose", f"run={folder}", *FEW)
    assert (error.kind, error.key) == ("not_finite", "best.ckpt")
    assert not (folder / "diagnosis.json").exists()


@pytest.mark.slow
@pytest.mark.parametrize("subject", [["run=RUN"], ["size=tiny", "trainer=cpu"]])
def test_threads_and_the_check_of_the_data_are_as_typed(
    trained, data_dir, home, refused, tmp_path, monkeypatch, subject
):
    asked = []
    monkeypatch.setattr("lra.training.machine.torch.set_num_threads", asked.append)
    shutil.copytree(data_dir, tmp_path / "data")
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "data"))
    (tokens,) = (tmp_path / "data/stores/listops").rglob("tokens.npy")
    content = bytearray(tokens.read_bytes())
    content[-1] ^= 1
    tokens.write_bytes(content)
    words = [word.replace("RUN", str(run_of(trained))) for word in subject]
    error = refused("diagnose", *words, "trainer.threads=2", "check=true")
    assert (error.kind, error.key) == ("changed_file", tokens.name)
    assert asked == [2]


@pytest.mark.slow
def test_a_run_without_a_checkpoint(trained, home, refused, tmp_path):
    folder = tmp_path / "copy"
    shutil.copytree(run_of(trained), folder)
    (folder / "best.ckpt").unlink()
    error = refused("diagnose", f"run={folder}")
    assert (error.kind, error.key) == ("missing_file", "best.ckpt")


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage, kind, key",
    [
        (lambda text: text[:50], "no_json", "diagnosis.json"),
        (lambda text: "[]", "other_version", "diagnosis.json"),
        (lambda text: text.replace('"version": 1', '"version": 9'), "other_version", "diagnosis.json"),
        (lambda text: text.replace('"matrix_error": ', '"matrix_error": -', 1), "wrong_field", "matrix_error"),
    ],
)
def test_a_damaged_json_is_refused(diagnosed, tmp_path, damage, kind, key):
    (tmp_path / "diagnosis.json").write_text(damage((diagnosed / "diagnosis.json").read_text()))
    with pytest.raises(UserError) as refused:
        read_diagnosis(tmp_path / "diagnosis.json")
    assert refused.value.kind == kind
    assert refused.value.key.endswith(key)


@pytest.mark.slow
def test_no_folder_of_runs_takes_it_for_a_record(diagnosed, monkeypatch, result_of):
    monkeypatch.setenv("LRA_RUNS_DIR", str(diagnosed.parents[4]))
    shown = result_of("show", "runs", "run_group=default")
    (line,) = shown.lines
    subject = json.loads((diagnosed / "diagnosis.json").read_text())["subject"]
    assert (line.path, line.task) == (diagnosed, subject["task"])
    assert line.record is not None
    assert main(["diagnose", "--help"]) == 0
