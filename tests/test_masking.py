"""User name and password of an address are in nothing that is printed or stored."""

import json

import pytest
import wandb

from lra.base.text import without_credentials
from lra.cli import main
from lra.run import Run
from lra.runs.files import CONFIG, FAILED
from lra.terminal.errors import explain
from lra.types import UserError
from tests.training.test_wandb_online import closed_port as closed_port

SECRET = "s3cr3t"
ADDRESS = f"https://me:{SECRET}@wandb.example:8080/path?x=1"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (ADDRESS, "https://***@wandb.example:8080/path?x=1"),
        (f"ProxyError({ADDRESS!r}), again {ADDRESS}", None),
        (f"http://{SECRET}@host", "http://***@host"),
        (f"socks5h://me:{SECRET}@{SECRET}@host/x", "socks5h://***@host/x"),
        (f"http://me:{SECRET}/{SECRET}#{SECRET}?@host", "http://***@host"),
        (f"http://:{SECRET}@host", "http://***@host"),
        ("https://host/@user, mail me@host", "https://host/@user, mail me@host"),
        ("https://host:8080/x and me@host", "https://host:8080/x and me@host"),
        ("no address, a@b and c:d@e", "no address, a@b and c:d@e"),
    ],
)
def test_what_is_hidden_and_what_is_not(text, masked):
    assert SECRET not in without_credentials(text)
    assert masked is None or without_credentials(text) == masked


@pytest.mark.parametrize(
    "error",
    [
        UserError(f"{ADDRESS} is not there"),
        OSError(f"no route to {ADDRESS}"),
        ValueError(ADDRESS),
        OSError(28, "", ADDRESS),
    ],
    ids=lambda error: type(error).__name__,
)
def test_no_error_line_says_it(error):
    assert SECRET not in explain(error)
    assert "wandb.example" in explain(error)


def test_nor_does_the_mark_of_a_failure(tmp_path):
    """Also that of a child that has printed something else than an error line."""
    Run(tmp_path).fail(f"cannot reach {ADDRESS}")
    assert SECRET not in (tmp_path / FAILED).read_text()
    (tmp_path / FAILED).write_text(json.dumps({"error": f"cannot reach {ADDRESS}", "id": "of an earlier version"}))
    failure = Run(tmp_path).failure
    assert failure is not None
    assert SECRET not in failure.error


@pytest.mark.parametrize(
    "words",
    [
        ["prepare", "size=tiny", f"source={ADDRESS}"],
        [ADDRESS],
        ["train", f"run={ADDRESS}"],
        ["show", "runs", f"file={ADDRESS}"],
    ],
)
def test_nor_a_line_about_what_was_typed(home, capsys, words):
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert SECRET not in out + err


@pytest.mark.slow
def test_nor_do_the_commands_that_talk_to_wandb(home, capsys, monkeypatch, request, closed_port):
    wandb.teardown()  # W&B reads its environment once in a process, and an earlier test may have made it read
    request.addfinalizer(wandb.teardown)
    address = closed_port.replace("://", f"://me:{SECRET}@")
    monkeypatch.setenv("WANDB_BASE_URL", address)
    monkeypatch.setenv("WANDB_API_KEY", "f" * 40)
    monkeypatch.setenv("NO_PROXY", "*")
    train = ["train", "size=tiny", "recipe.steps=2", "recipe.eval_every=2", "attention=none"]
    assert main([*train, "logger.wandb.mode=online"]) == 2
    assert main([*train, "logger.wandb.mode=online", "logger.wandb.when_unreachable=offline"]) == 0
    monkeypatch.setenv("WANDB_MODE", "online")
    main(["doctor"])
    out, err = capsys.readouterr()
    assert (out + err).count("***@127.0.0.1") == 3
    assert SECRET not in out + err
    assert not [path for path in home.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


@pytest.mark.slow
def test_nor_does_the_stored_configuration(home):
    """A logger of the user's own may be told an address; what trains is told it as it is."""
    words = ["train", "size=tiny", "recipe.steps=2", "recipe.eval_every=2", "attention=none"]
    added = ["+logger.own._target_=tests.test_masking.Own", f"+logger.own.address='{ADDRESS}'"]
    assert main([*words, *added]) == 0
    assert Own.told == ADDRESS
    (path,) = home.rglob(CONFIG)
    assert "***@wandb.example" in path.read_text()
    assert not [path for path in home.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


def Own(address: str):
    from pytorch_lightning.loggers.logger import DummyLogger

    Own.told = address
    return DummyLogger()
