"""W&B's environment variables mean what W&B says, where no option is typed."""

import pytest

from lra.cli import main
from lra.settings.compose import load_config
from lra.settings.wandb_arguments import wandb_arguments

NAMED = {
    "WANDB_PROJECT": ("project", "theirs"),
    "WANDB_ENTITY": ("entity", "team"),
    "WANDB_NAME": ("name", "called"),
    "WANDB_RUN_GROUP": ("group", "night"),
    "WANDB_JOB_TYPE": ("job_type", "trial"),
}


def arguments(*words: str) -> dict[str, object]:
    return wandb_arguments(load_config("train", words), name="ours", job_type="listops", tags=["nystrom"], config={})


def test_they_name_the_run(monkeypatch):
    ours = arguments()
    assert (ours["project"], ours["entity"], ours["name"], ours["group"]) == ("lra", None, "ours", "default")
    for variable, (_, value) in NAMED.items():
        monkeypatch.setenv(variable, value)
    monkeypatch.setenv("WANDB_TAGS", "first,second")
    theirs = arguments()
    assert {key: theirs[key] for key, _ in NAMED.values()} == dict(NAMED.values())
    assert theirs["tags"] == ["nystrom", "first", "second"]


def test_an_option_wins(monkeypatch):
    for variable in NAMED:
        monkeypatch.setenv(variable, "theirs")
    words = [f"{'' if key in ('project', 'entity') else '+'}logger.wandb.{key}=typed" for key, _ in NAMED.values()]
    assert {arguments(*words)[key] for key, _ in NAMED.values()} == {"typed"}


@pytest.mark.parametrize(
    ("variables", "mode"),
    [
        ({}, "offline"),
        ({"WANDB_MODE": ""}, "offline"),
        ({"WANDB_MODE": "dryrun"}, "offline"),
        ({"WANDB_MODE": "run"}, "online"),
        ({"WANDB_MODE": "online", "WANDB_DISABLED": "true"}, "disabled"),
        ({"WANDB_DISABLED": "false"}, "offline"),
    ],
)
def test_they_say_where_to(variables, mode, monkeypatch):
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value)
    cfg = load_config("train")
    assert cfg.logger.wandb.mode == mode
    assert cfg.logs_to_wandb == (mode != "disabled")
    assert load_config("train", ("logger.wandb.mode=online",)).logger.wandb.mode == "online"


def test_a_wrong_one_is_named(monkeypatch, refused, capsys):
    monkeypatch.setenv("WANDB_MODE", "sometimes")
    error = refused("train", "size=tiny")
    assert (error.kind, error.key, error.value) == ("unknown_choice", "logger.wandb.mode", "sometimes")
    assert str(error).startswith("WANDB_MODE: ")


@pytest.mark.slow
def test_wandb_disabled_is_said_to_have_no_effect(home, monkeypatch, capsys):
    """As `wandb disabled` writes it."""
    wandb = pytest.importorskip("wandb")
    (home.parent / "wandb").mkdir()
    (home.parent / "wandb/settings").write_text("[default]\nmode = disabled\n")
    wandb.teardown()  # it reads the file once in a process
    assert main(["train", "size=tiny", "recipe.steps=2", "recipe.eval_every=2", "trainer.max_steps=1"]) == 0
    wandb.teardown()
    assert "logger=csv" in capsys.readouterr().err


@pytest.mark.slow
def test_what_lra_sets_itself_is_said_to_have_no_effect(home, monkeypatch, capsys):
    monkeypatch.setenv("WANDB_RUN_ID", "theirs01")
    assert main(["train", "size=tiny", "recipe.steps=2", "recipe.eval_every=2", "trainer.max_steps=1"]) == 0
    assert capsys.readouterr().err.startswith("WANDB_RUN_ID has no effect")
    assert next(home.rglob("wandb_id")).read_text() != "theirs01"
