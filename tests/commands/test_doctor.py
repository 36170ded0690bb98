"""lra doctor says which data is missing, how it can be had, and what to type."""

import importlib

import pytest

from data_prep.forms import DOWNLOADED, FORMS, GENERATED
from lra import from_config
from lra.cli import main
from lra.settings.compose import load_config


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A data folder without anything."""
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("LRA_SOURCE_DIR", raising=False)
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "data"


def lines_of(capsys, *words: str) -> dict[str, str]:
    """The line of each fact about a task's data, by what it is about, such as `forms of text`."""
    capsys.readouterr()
    assert main(["doctor", *words]) == 0
    lines = [
        line for line in capsys.readouterr().out.splitlines() if line[7:].strip().startswith(("forms", "prepared"))
    ]
    return {line[7:30].strip(): line for line in lines}


def test_data_that_is_nowhere_is_missing_with_how_it_can_be_had(place, capsys):
    lines = lines_of(capsys)
    assert set(lines) == {f"forms of {task}" for task in FORMS}
    for task in FORMS:
        line = lines[f"forms of {task}"]
        assert line.split()[0] == "missing"
        assert f"lra prepare task={task}" in line
        assert ("generated" in line) == (task in GENERATED)
        assert ("download" in line) == (task in DOWNLOADED)
        is_brought = task not in GENERATED and task not in DOWNLOADED
        assert (f"lra prepare task={task} source=" in line) == is_brought
    assert DOWNLOADED["text"].name in lines["forms of text"]


@pytest.mark.parametrize("task", FORMS)
def test_what_is_said_of_a_task_is_what_its_source_does(task, monkeypatch):
    asked = {}

    def locate(*_: object, archive: object, generates: bool, **__: object) -> None:
        asked.update(archive=archive, generates=generates)
        raise LookupError

    cfg = load_config("prepare", [f"task={task}", "size=full"])
    open_source = from_config.build_source(cfg)
    monkeypatch.setattr(importlib.import_module(open_source.func.__module__), "locate", locate)
    request = type("Request", (), {"task": task, "settings": dict(cfg.task.data), "size": "full"})
    with pytest.raises(LookupError):
        open_source(request)
    assert asked == {"archive": DOWNLOADED.get(task), "generates": task in GENERATED}


def test_of_data_that_lies_here_the_command_prepares_it(place, capsys):
    (place / "sources").mkdir(parents=True)
    (place / "sources/lra_release.gz").touch()
    lines = lines_of(capsys, "task=retrieval")
    assert lines["forms of retrieval"].startswith("ok ")
    assert lines["prepared retrieval"].startswith("missing ")
    assert lines["prepared retrieval"].endswith("type: lra prepare task=retrieval")


def test_prepared_data_is_not_missing_at_its_size(home, capsys):
    lines = lines_of(capsys, "task=listops", "size=tiny")
    assert {line.split()[0] for line in lines.values()} == {"ok"}
    lines = lines_of(capsys, "task=listops")
    assert lines["forms of listops"].startswith("missing "), "of size=full nothing is there"
    assert "size=tiny" in lines["prepared listops"]


def test_the_facts_are_of_the_tasks_that_were_typed(place, capsys):
    assert set(lines_of(capsys, "task=text,image", "size=short")) == {"forms of text", "forms of image"}
    line = lines_of(capsys, "task=text", "size=short", f"paths.data={place}/it is")["forms of text"]
    assert line.endswith(f"lra prepare task=text size=short 'paths.data={place}/it is'")


@pytest.mark.parametrize(
    ("words", "kind", "key"),
    [
        (("task=texx",), "unknown_choice", "task"),
        (("task=text", "size=huge"), "unknown_choice", "size"),
        (("size=tiny,short",), "several_values", "size"),
        (("task=text", "seed=1"), "unknown_option", "seed"),
    ],
)
def test_mistakes(place, refused, words, kind, key):
    error = refused("doctor", *words)
    assert (error.kind, error.key) == (kind, key)
