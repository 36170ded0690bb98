"""lra doctor says which data is missing, how it can be had, and what to type."""

import importlib

import pytest

from data_prep.forms import DOWNLOADED, FORMS, GENERATED, names_of
from lra import from_config
from lra.settings.compose import load_config


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A data folder without anything."""
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.delenv("LRA_SOURCE_DIR", raising=False)
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "data"


@pytest.fixture
def facts_of(result_of):
    """Each fact about a task's data, by what it is about, such as `forms of text`."""

    def read(*words: str):
        facts = result_of("doctor", *words).facts
        return {fact.what: fact for fact in facts if fact.what.startswith(("forms", "prepared"))}

    return read


def test_data_that_is_nowhere_is_missing_with_how_it_can_be_had(place, facts_of):
    facts = facts_of()
    assert set(facts) == {f"forms of {task}" for task in FORMS}
    for task in FORMS:
        fact = facts[f"forms of {task}"]
        assert fact.state == "missing"
        assert f"lra prepare task={task}" in fact.text
        named = [name for name in names_of(task) if name in fact.text.split()]
        assert bool(named) == (task not in GENERATED), "what need not be had is not named"
        if task in DOWNLOADED:
            assert named == [DOWNLOADED[task].name]
        is_brought = task not in GENERATED and task not in DOWNLOADED
        assert (f"lra prepare task={task} source=" in fact.text) == is_brought


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


def test_of_data_that_lies_here_the_command_prepares_it(place, facts_of):
    (place / "sources").mkdir(parents=True)
    (place / "sources/lra_release.gz").touch()
    facts = facts_of("task=retrieval")
    assert facts["forms of retrieval"].state == "ok"
    assert facts["prepared retrieval"].state == "missing"
    assert facts["prepared retrieval"].text.endswith(" lra prepare task=retrieval")


def test_prepared_data_is_not_missing_at_its_size(home, facts_of):
    assert {fact.state for fact in facts_of("task=listops", "size=tiny").values()} == {"ok"}
    facts = facts_of("task=listops")
    assert facts["forms of listops"].state == "missing", "of size=full nothing is there"
    assert "size=tiny" in facts["prepared listops"].text


def test_the_facts_are_of_the_tasks_that_were_typed(place, facts_of):
    assert set(facts_of("task=text,image", "size=short")) == {"forms of text", "forms of image"}
    fact = facts_of("task=text", "size=short", f"paths.data={place}/it is")["forms of text"]
    assert fact.text.endswith(f"lra prepare task=text size=short 'paths.data={place}/it is'")


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
