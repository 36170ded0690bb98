"""The project's published records, and any path of records, are shown from everywhere; they are never written to."""

import json
from pathlib import Path

import pytest

import lra
from lra.base.printed_commands import override
from lra.cli import main
from lra.runs.groups import find_group, shipped_records
from lra.tables.verbs.report import Report
from lra.tables.verbs.show_runs import ShownRuns
from tests.commands.test_show_partly import lay
from tests.tables.records import make_record

SHIPPED = sorted(path.name for path in shipped_records().glob("*.jsonl"))
VERBS = (("table",), ("compare",), ("tune",), ("sweep", "landmarks"), ("sweep", "window"))


def methods(made) -> set[str]:
    """The methods of the rows of tables, or of the lines of runs, that a verb hands back."""
    if isinstance(made, ShownRuns):
        return {line.record.method for line in made.lines}
    return {row[method_head(row)] for shown in made.tables for row in shown.table.csv_rows}


def method_head(row) -> str:
    return next(head for head in ("attention", "method") if head in row)


@pytest.mark.parametrize(
    "words", [("table", "show"), ("show", "runs"), ("compare", "show"), ("report", "samples=0")], ids=" ".join
)
def test_they_are_found_from_another_folder_and_nothing_is_written_beside_them(home, result_of, words):
    before = sorted(shipped_records().iterdir())
    made = result_of(*words, "run_group=published/listops.jsonl")
    if words[0] == "report":
        assert made.path == home / "published/listops-report.html"
        assert made.path.is_file()
    else:
        assert "linformer" in methods(made)
    assert sorted(shipped_records().iterdir()) == before


def test_in_python_and_without_the_ending(home):
    whole = lra.records("published/listops.jsonl")
    assert len(whole) == len(lra.records("published/listops")) > 5
    with pytest.raises(lra.UserError) as refused:
        lra.records("published/listop.jsonl")
    assert "published/listops.jsonl" in str(refused.value)


def test_a_group_of_the_users_own_comes_first_but_figures_alone_are_none(home, result_of):
    (home / "published").mkdir(parents=True)
    (home / "published/listops-curves-listops.png").touch()
    assert find_group(home, "published").path == shipped_records()
    record = make_record(attention="full", accuracy=0.5)
    (home / "published/made.jsonl").write_text(json.dumps(record) + "\n")
    assert find_group(home, "published").path == home / "published"
    (shown,) = result_of("table", "show", "run_group=published/made.jsonl").tables
    assert [(row["count"], row["mean"]) for row in shown.table.csv_rows if row["count"]] == [(1, 50)]
    assert find_group(home, "published/listops.jsonl").path == shipped_records() / "listops.jsonl"


@pytest.mark.some_fast(1)
@pytest.mark.parametrize("of", ["its file", "its folder"])
@pytest.mark.parametrize("name", ["elsewhere", "it's (new), 1"])
def test_a_path_is_a_group_to_show(home, result_of, tmp_path, monkeypatch, name, of):
    lay(tmp_path / "other", name, [make_record(attention=one) for one in ("full", "nystrom")])
    place = tmp_path / "other" / name / ("made.jsonl" if of == "its file" else "")
    monkeypatch.chdir(tmp_path / "other")
    for path in (place, Path("..") / place.relative_to(tmp_path), f"./{place.relative_to(tmp_path / 'other')}"):
        typed = override("run_group", path)
        for words in (("compare", "show", "format=csv"), ("table", "show"), ("show", "runs")):
            assert methods(result_of(*words, typed)) == {"full", "nystrom"}
    page = result_of("report", "samples=0", typed).path
    assert list((tmp_path / "other").rglob("*report.html")) == [page], "beside its records"
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


def has_rows(made) -> bool:
    return any(shown.table.rows for shown in made.tables)


@pytest.mark.some_fast(1)
@pytest.mark.some_in_ci(5)
@pytest.mark.parametrize("name", [name for name in SHIPPED if name.startswith(("short", "listops"))])
@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
def test_what_a_file_has_is_said_with_commands_that_show_it(home, result_of, verb, name):
    """Whatever is asked for, the end of the way is a table with rows."""
    made = result_of(*verb, "show", f"run_group=published/{name}")
    assert made.there or has_rows(made)
    for other in made.there:
        further = result_of(*other.command.split()[1:])
        if isinstance(further, Report):
            assert further.path.is_file()
        else:
            assert not further.there, other.command
            assert has_rows(further)


def test_what_is_there_is_said_first(home, capsys, result_of):
    made = result_of("compare", "show", "run_group=published/short_table.jsonl")
    (other,) = made.there
    assert (other.count, other.kind) == (204, "size=short protocol=paper")
    assert {"listops", "pathfinder"} <= other.methods.keys()
    assert "skyformer" in other.methods["listops"]
    assert other.command.split()[:3] == ["lra", "compare", "show"]
    assert not made.tables
    first, *rest = capsys.readouterr().out.splitlines()
    assert "size=full" in first
    assert [line.strip() for line in rest] == [other.contents, other.command]


def test_methods_and_seeds_that_are_not_there_are_taken_out_of_the_command(home, result_of):
    words = ("attention=full", "seed=77", "size=short", "notes=all")
    (other,) = result_of("compare", "show", "run_group=published/short_table.jsonl", *words).there
    assert other.command == "lra compare show run_group=published/short_table.jsonl size=short notes=all"


def test_in_a_file_stands_the_table_alone_and_beside_it_what_is_there(home, capsys, tmp_path, result_of):
    made = result_of("compare", "show", "run_group=published/short_table.jsonl", f"out={tmp_path}/table.md")
    assert made.there
    beside = capsys.readouterr().err.splitlines()
    assert all(f"    {other.command}" in beside for other in made.there)
    assert "lra " not in (tmp_path / "table.md").read_text()


@pytest.mark.slow
def test_a_file_of_a_search_that_is_none_leads_to_another_verb(home, result_of):
    lay(home, "mine", [make_record(attention="linformer", seed=0)])
    for verb in (("tune",), ("sweep", "window")):
        (other,) = result_of(*verb, "show", "run_group=mine").there
        assert other.command.startswith("lra compare show run_group=mine ")
        assert methods(result_of(*other.command.split()[1:])) == {"linformer"}


def test_a_folder_of_records_at_the_wrong_place_is_named_with_what_to_type(home, refused, tmp_path):
    lay(tmp_path, "it's", [make_record()])
    error = refused("show", "runs", str(tmp_path / "it's"))
    assert error.right.startswith("lra show runs ")
    assert json.dumps(str(tmp_path / "it's"))[1:-1] in error.right.replace("\\'", "'")
