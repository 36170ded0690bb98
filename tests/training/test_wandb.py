"""What an offline W&B run holds, read back from its file."""

import json

import pytest

from lra.base.paths import conf_dir
from lra.cli import main
from lra.settings.compose import load_config
from tests.tables.records import make_record
from tests.training.offline_run import offline_runs


@pytest.mark.slow
def test_the_offline_run_holds_identity_settings_curves_and_the_result(home, capsys):
    assert main(["train", "size=tiny", "recipe.steps=4", "recipe.eval_every=2", "callbacks.log_every_steps=1"]) == 0
    assert "wandb" not in capsys.readouterr().err
    (offline,) = offline_runs(home)
    run = offline.run
    assert (run.display_name, run.run_group, run.job_type) == ("listops/nystrom/0", "default", "listops")
    assert set(run.tags) == {"listops", "nystrom", "paper", "tiny"}
    assert run.run_id == next(home.rglob("wandb_id")).read_text()
    words = offline.config
    settings = words.pop("config")
    assert words == {
        "task": "listops",
        "attention": "nystrom",
        "protocol": "paper",
        "size": "tiny",
        "seed": 0,
        "run_group": "default",
    }
    assert settings["attention"]["num_landmarks"] == 64
    assert settings["recipe"]["schedule"]["steps"] == 4, "interpolations are resolved"
    assert {"learning_curve", "test/confusion_table", "outcome/test_accuracy"} <= offline.summary.keys()
    files = [
        path.relative_to(home).name for path in home.rglob("wandb/offline-run-*/files/media/**/*") if path.is_file()
    ]
    assert any(name.startswith("learning_curve") for name in files)
    (table,) = [path for path in home.rglob("wandb/offline-run-*/files/media/table/**/*.json")]
    counts = json.loads(table.read_text())
    assert counts["columns"] == ["Actual", "Predicted", "nPredictions"]
    assert sum(row[2] for row in counts["data"]) == 64


@pytest.mark.slow
def test_a_table_and_its_figure_go_into_a_run_of_the_groups_own(home, capsys):
    folder = home / "compare"
    folder.mkdir(parents=True)
    lines = [json.dumps(make_record(attention=name, seed=0)) for name in ("nystrom", "full")]
    (folder / "records.jsonl").write_text("\n".join(lines) + "\n")
    assert main(["compare", "show", "format=wandb"]) == 0
    assert "wandb sync" in capsys.readouterr().out
    (offline,) = offline_runs(home)
    run = offline.run
    assert (run.display_name, run.run_group, run.job_type) == ("compare-listops", "compare", "compare")
    (table,) = home.rglob("wandb/offline-run-*/files/media/table/*.json")
    assert [row[0] for row in json.loads(table.read_text())["data"]] == ["nystrom", "full"]
    assert list(home.rglob("wandb/offline-run-*/files/media/images/figures/compare-listops*.png"))


@pytest.mark.slow
@pytest.mark.parametrize("word", ["logger=csv", "logger.wandb.mode=disabled"])
def test_a_table_needs_a_run_to_go_into(word, home, capsys):
    folder = home / "compare"
    folder.mkdir(parents=True)
    (folder / "records.jsonl").write_text(json.dumps(make_record(attention="full", seed=0)) + "\n")
    assert main(["compare", "show", "format=wandb", word]) == 2
    assert "logger.wandb.mode=offline" in capsys.readouterr().err


def test_the_sweep_for_wandbs_agents_names_what_there_is():
    import yaml

    sweep = yaml.safe_load((conf_dir() / "wandb_sweep.yaml").read_text())
    for group in ("task", "attention"):
        for value in sweep["parameters"][group]["values"]:
            assert (conf_dir() / group / f"{value}.yaml").exists()
    settings = [word for word in sweep["command"] if "=" in word]
    load_config("train", [*settings, "task=text", "attention=full", "seed=1"])
