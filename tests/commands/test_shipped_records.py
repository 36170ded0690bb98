"""The project's published records, and any path of records, are shown from everywhere; they are never written to."""

import json
from pathlib import Path

import pytest

import lra
from lra.base.printed_commands import override
from lra.cli import main
from lra.runs.groups import find_group, shipped_records
from tests.commands.test_show_partly import lay
from tests.tables.records import make_record

SHIPPED = sorted(path.name for path in shipped_records().glob("*.jsonl"))
VERBS = (("table",), ("compare",), ("tune",), ("sweep", "landmarks"), ("sweep", "window"))


def shown(capsys, *words: str) -> str:
    capsys.readouterr()
    assert main(list(words)) == 0, capsys.readouterr().err
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "words", [("table", "show"), ("show", "runs"), ("compare", "show"), ("report", "samples=0")], ids=" ".join
)
def test_they_are_found_from_another_folder_and_nothing_is_written_beside_them(home, capsys, words):
    before = sorted(shipped_records().iterdir())
    out = shown(capsys, *words, "run_group=published/listops.jsonl")
    assert "linformer" in out or (home / "published/listops-report.html").is_file()
    assert sorted(shipped_records().iterdir()) == before


def test_in_python_and_without_the_ending(home):
    whole = lra.records("published/listops.jsonl")
    assert len(whole) == len(lra.records("published/listops")) > 5
    with pytest.raises(lra.UserError) as refused:
        lra.records("published/listop.jsonl")
    assert "published/listops.jsonl" in str(refused.value)


def test_a_group_of_the_users_own_comes_first_but_figures_alone_are_none(home, capsys):
    (home / "published").mkdir(parents=True)
    (home / "published/listops-curves-listops.png").touch()
    assert find_group(home, "published").path == shipped_records()
    record = make_record(attention="full", accuracy=0.5)
    (home / "published/made.jsonl").write_text(json.dumps(record) + "\n")
    assert find_group(home, "published").path == home / "published"
    assert "50.00 (1)" in shown(capsys, "table", "show", "run_group=published/made.jsonl")
    assert find_group(home, "published/listops.jsonl").path == shipped_records() / "listops.jsonl"


@pytest.mark.some_fast(1)
@pytest.mark.parametrize("of", ["its file", "its folder"])
@pytest.mark.parametrize("name", ["elsewhere", "it's (new), 1"])
def test_a_path_is_a_group_to_show(home, capsys, tmp_path, monkeypatch, name, of):
    lay(tmp_path / "other", name, [make_record(attention=one) for one in ("full", "nystrom")])
    place = tmp_path / "other" / name / ("made.jsonl" if of == "its file" else "")
    monkeypatch.chdir(tmp_path / "other")
    for path in (place, Path("..") / place.relative_to(tmp_path), f"./{place.relative_to(tmp_path / 'other')}"):
        typed = override("run_group", path)
        for words in (("compare", "show", "format=csv"), ("table", "show"), ("show", "runs")):
            assert "nystrom" in shown(capsys, *words, typed)
    shown(capsys, "report", "samples=0", typed)
    assert list((tmp_path / "other").rglob("*report.html")), "beside its records"
    assert not home.exists()
    assert main(["publish", typed, "name=mine", "dirty=true"]) == 0
    assert len((home / "published/mine.jsonl").read_text().splitlines()) == 2


def test_a_path_is_no_group_to_write_runs_to(home, refused, tmp_path):
    lay(tmp_path, "other", [make_record()])
    for words in (["table", "run"], ["compare", "plan"], ["train"]):
        error = refused(*words, "size=tiny", "task=listops", f"run_group={tmp_path}/other")
        assert (error.kind, error.key) == ("bad_name", "run_group")


@pytest.mark.parametrize("words", [("compare", "show"), ("report",), ("show", "runs"), ("publish", "name=x")])
def test_a_path_of_nothing_is_one_line(home, refused, words):
    error = refused(*words, "run_group=/nowhere/x.jsonl")
    assert (error.kind, error.key, error.value) == ("missing_file", "run_group", "/nowhere/x.jsonl")


def commands_in(out: str) -> list[str]:
    return [line.strip() for line in out.splitlines() if line.startswith("    lra ")]


@pytest.mark.some_fast(1)
@pytest.mark.some_in_ci(5)
@pytest.mark.parametrize("name", [name for name in SHIPPED if name.startswith(("short", "listops"))])
@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_what_a_file_has_is_said_with_commands_that_show_it(home, capsys, verb, name):
    """Whatever is asked for, the end of the way is a table with rows."""
    out = shown(capsys, *verb, "show", f"run_group=published/{name}")
    commands = commands_in(out)
    assert commands or "─" in out
    for command in commands:
        further = shown(capsys, *command.split()[1:])
        assert not commands_in(further), command
        assert "report.html" in further or "─" in further


def test_what_is_there_is_said_first(home, capsys):
    out = shown(capsys, "compare", "show", "run_group=published/short_table.jsonl")
    first, records, command, *rest = out.splitlines()
    assert "size=full" in first
    assert all(word in records for word in ("204 ", "size=short", "listops", "pathfinder", "skyformer"))
    assert command.split()[:3] == ["lra", "compare", "show"]
    assert rest == []


def test_methods_and_seeds_that_are_not_there_are_taken_out_of_the_command(home, capsys):
    words = ("attention=full", "seed=77", "size=short", "notes=all")
    out = shown(capsys, "compare", "show", "run_group=published/short_table.jsonl", *words)
    (command,) = commands_in(out)
    assert command == "lra compare show run_group=published/short_table.jsonl size=short notes=all"


def test_in_a_file_stands_the_table_alone_and_beside_it_what_is_there(home, capsys, tmp_path):
    words = ("compare", "show", "run_group=published/short_table.jsonl", f"out={tmp_path}/table.md")
    assert main(list(words)) == 0
    assert commands_in(capsys.readouterr().err)
    assert "lra " not in (tmp_path / "table.md").read_text()


@pytest.mark.slow
def test_a_file_of_a_search_that_is_none_leads_to_another_verb(home, capsys):
    lay(home, "mine", [make_record(attention="linformer", seed=0)])
    for verb in (("tune",), ("sweep", "window")):
        (command,) = commands_in(shown(capsys, *verb, "show", "run_group=mine"))
        assert command.startswith("lra compare show run_group=mine ")
        assert "linformer" in shown(capsys, *command.split()[1:])


def test_a_folder_of_records_at_the_wrong_place_is_named_with_what_to_type(home, refused, tmp_path):
    lay(tmp_path, "it's", [make_record()])
    error = refused("show", "runs", str(tmp_path / "it's"))
    assert error.right.startswith("lra show runs ")
    assert json.dumps(str(tmp_path / "it's"))[1:-1] in error.right.replace("\\'", "'")
