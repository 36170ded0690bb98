"""What W&B refuses is one line before anything is trained: no folder, no password, nothing that was typed as a key."""

import json
import os
import shlex
import string
from inspect import signature

import pytest

from lra.cli import main
from lra.settings.check import check_config
from lra.settings.compose import load_config
from lra.settings.option_groups import GROUPS
from lra.settings.wandb_arguments import names_of_training, wandb_arguments
from lra.training.wandb_limits import LIMITS, SET_BY_LRA, Name, check_names
from lra.types import UserError
from tests.conftest import lra
from tests.training.test_wandb_online import KEY, TRAIN, closed_port, helpless_server, train  # noqa: F401  (fixtures)

TINY = ("train", "size=tiny", "recipe.steps=2", "recipe.eval_every=2")
LONG = "n" * 129
PASSWORD = "pass-word"


@pytest.mark.parametrize(
    "word, right",
    [
        ("logger.wandb.project=a:b", "type logger.wandb.project=a-b"),
        (f"logger.wandb.project={LONG}", f"type logger.wandb.project={LONG[:128]}"),
        ("logger.wandb.entity=a/b", "type logger.wandb.entity=a-b"),
        (f"+logger.wandb.name={LONG}", f"type logger.wandb.name={LONG[:128]}"),
        (f"+logger.wandb.group={LONG}", f"type logger.wandb.group={LONG[:128]}"),
        (f"+logger.wandb.job_type={LONG}", f"type logger.wandb.job_type={LONG[:64]}"),
        (f"+logger.wandb.tags=[a,{LONG[:65]}]", None),
        ("+logger.wandb.tags=[a,'']", None),
        (f"run_group={LONG}", None),
    ],
)
def test_an_option_that_wandb_would_refuse_is_named(home, refused, word, right):
    error = refused(*TINY, word)
    assert (error.kind, error.key) == ("wandb_limit", word.partition("=")[0].lstrip("+"))
    assert right in (None, error.right)
    assert not home.exists()


@pytest.mark.parametrize(
    "variable, value, right",
    [
        ("WANDB_TAGS", "a,,b c", "WANDB_TAGS=a,b c"),
        ("WANDB_TAGS", "", None),
        ("WANDB_TAGS", LONG[:65], f"WANDB_TAGS={LONG[:64]}"),
        ("WANDB_PROJECT", "a:b", "WANDB_PROJECT=a-b"),
        ("WANDB_RUN_GROUP", LONG, f"WANDB_RUN_GROUP={LONG[:128]}"),
        ("WANDB_NAME", LONG, f"WANDB_NAME={LONG[:128]}"),
        ("WANDB_JOB_TYPE", LONG, f"WANDB_JOB_TYPE={LONG[:64]}"),
        ("WANDB_ENTITY", "a/b", "WANDB_ENTITY=a-b"),
    ],
)
def test_a_variable_that_wandb_would_refuse_is_named_and_is_none_of_its_business_without_wandb(
    home, refused, monkeypatch, variable, value, right
):
    monkeypatch.setenv(variable, value)
    error = refused(*TINY)
    assert (error.kind, error.key) == ("wandb_limit", variable)
    words = ["export", right] if right else ["unset", variable]
    assert shlex.split(error.right.partition(": ")[2]) == words
    check_config(load_config("train", ("logger=csv",)), "train")
    check_config(load_config("train", ("logger.wandb.mode=disabled",)), "train")


def test_a_name_of_ones_own_task_that_is_too_long_for_a_tag_is_named():
    cfg = load_config("train").changed({"task.name": "t" * 70})
    with pytest.raises(UserError) as refused:
        wandb_arguments(cfg, **names_of_training(cfg), config={})
    assert (refused.value.kind, refused.value.key, refused.value.value) == ("wandb_limit", "task", "t" * 70)
    cfg = cfg.changed({"task.name": "t" * 64})
    assert wandb_arguments(cfg, **names_of_training(cfg), config={})["tags"][0] == "t" * 64


def test_a_config_of_more_than_the_server_takes_is_refused():
    with pytest.raises(UserError) as refused:
        check_names([], {"table": "x" * 15_000_000})
    assert refused.value.key == "logger.wandb.config"


def is_refused_by_wandb(field: str, value: object) -> bool:
    import wandb

    try:
        wandb.Settings(**{field: value})
    except (ValueError, wandb.errors.UsageError):
        return True
    return False


def is_refused(argument: str, value: str) -> bool:
    try:
        check_names([Name(argument, value, "it")], {})
    except UserError:
        return True
    return False


def test_the_table_is_as_strict_as_the_installed_wandb_where_that_checks():
    pytest.importorskip("wandb")
    for letter in string.printable:
        assert is_refused("project", f"a{letter}") == is_refused_by_wandb("project", f"a{letter}"), letter
    for length in (1, 64, 65, 128, 129):
        assert is_refused("project", "a" * length) == is_refused_by_wandb("project", "a" * length)
        assert is_refused("tags", "a" * length) == is_refused_by_wandb("run_tags", ["a" * length])
    assert is_refused("tags", "") == is_refused_by_wandb("run_tags", [""]) is True


def test_every_option_is_an_argument_of_wandbs_and_those_that_lra_sets_are_none():
    wandb = pytest.importorskip("wandb")
    own = {"when_unreachable", "init_timeout_seconds", "log_model"}
    options, arguments = set(GROUPS["logger.wandb"]), set(signature(wandb.init).parameters)
    assert options - own <= arguments
    assert set(LIMITS) <= options
    assert not options & set(SET_BY_LRA)


@pytest.mark.parametrize("words", [(), ("-m", "seed=0,1"), ("hydra.run.dir=of_hydra",)], ids=str)
def test_a_key_that_is_typed_as_an_option_is_refused_and_written_nowhere(home, capsys, words):
    assert main([*TINY, *words, "+logger.wandb.api_key=the-key"]) == 2
    said = capsys.readouterr()
    assert "logger.wandb.api_key" in said.err
    assert "the-key" not in said.err + said.out
    assert list(home.parent.iterdir()) == []


@pytest.mark.parametrize("option", [f"logger.wandb.{name}" for name in ("id", "settings.api_key", "settings")])
def test_what_lra_sets_itself_is_no_option(home, capsys, option):
    assert main([*TINY, f"+{option}=the-key"]) == 2
    said = capsys.readouterr()
    assert "the-key" not in said.err
    assert "not foreseen" not in said.err
    assert not home.exists()


@pytest.mark.parametrize(
    "variable, value",
    [
        ("WANDB_BASE_URL", f"user:{PASSWORD}@host"),
        ("WANDB_BASE_URL", f"http://user:{PASSWORD}@app.wandb.ai"),
        ("WANDB_BASE_URL", f"ftp://user:{PASSWORD}@host"),
        ("WANDB_BASE_URL", "http://[::1"),
        ("WANDB_BASE_URL", ""),
        ("WANDB_HTTP_PROXY", f"user:{PASSWORD}@host"),
        ("WANDB_API_KEY", f" {PASSWORD}"),
        ("WANDB_HTTP_TIMEOUT", "soon"),
        ("WANDB_CONSOLE", "loud"),
    ],
)
def test_another_variable_that_wandb_refuses_is_named_without_what_is_secret(
    home, refused, monkeypatch, variable, value
):
    pytest.importorskip("wandb")
    monkeypatch.setenv(variable, value)
    error = refused(*TINY)
    assert (error.kind, error.key) == ("wandb_refuses", variable)
    assert PASSWORD not in str(error)
    assert "not foreseen" not in str(error)
    assert not home.exists()


@pytest.mark.slow
def test_the_address_is_the_users_own_and_not_that_of_the_current_folder(
    data_dir,
    tmp_path,
    closed_port,  # noqa: F811
    helpless_server,  # noqa: F811
):
    hostile, asked = helpless_server
    for folder, url in ((tmp_path / ".config/wandb", closed_port), (tmp_path / "wandb", hostile)):
        folder.mkdir(parents=True)
        (folder / "settings").write_text(f"[default]\nbase_url = {url}\n")
    environment = {"HOME": str(tmp_path), "WANDB_API_KEY": KEY, "NO_PROXY": "*"}
    done = lra(*TRAIN, data=data_dir, runs=tmp_path / "runs", **environment)
    assert done.returncode == 2, done.stderr
    assert asked == []
    assert f"{closed_port} cannot be reached" in done.stderr
    assert "wandb/settings in the current folder is not read" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("hydra.run.dir=hydras/below",), ("hydra.run.dir=h", "hydra.output_subdir=.x")])
def test_a_run_that_is_refused_later_leaves_no_folder_either(data_dir, tmp_path, closed_port, words):  # noqa: F811
    done = train(data_dir, tmp_path, closed_port, *words, WANDB_API_KEY=KEY)
    assert done.returncode == 2
    assert [path.name for path in tmp_path.iterdir() if path.name[0] != "."] in ([], ["runs"])
    assert list(tmp_path.glob("runs/*")) == []


@pytest.mark.slow
def test_a_refused_run_leaves_what_was_there_before(home, monkeypatch, capsys):
    assert main([*TINY, "recipe.steps=4", "trainer.max_steps=2"]) == 0
    (folder,) = (path.parent for path in home.rglob("config.yaml"))
    before = sorted(path.name for path in folder.iterdir())
    (folder / "data.json").write_text(json.dumps({"dev": "another"}))
    assert main([*TINY, "recipe.steps=4"]) == 2
    assert sorted(path.name for path in folder.iterdir()) == before
    assert os.environ.get("WANDB_BASE_URL") is None
