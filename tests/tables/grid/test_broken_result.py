"""A record that cannot be read is no result: it is named, kept aside, and the cell is run again."""

import json

import pytest
from rich.console import Console

from lra.tables.grid import runner
from tests.tables.grid.stand_in import RECORD, make_cells
from tests.tables.grid.test_runner import _stand_in, log  # noqa: F401  (the training's stand-in)

WHOLE = RECORD.read_text()


@pytest.mark.some_fast(2)
@pytest.mark.parametrize("content", [WHOLE[:-100].encode(), b"{}", b"\xff\xfe", b"", None])
def test_it_is_named_moved_aside_and_run_again(tmp_path, capsys, content):
    (cell,) = make_cells(tmp_path, "a")
    result = cell.run.folder / "result.json"
    if content is None:
        result.mkdir(parents=True)
    else:
        cell.run.folder.mkdir()
        result.write_bytes(content)
    assert not cell.run.finished
    runner.run_missing([cell], Console(width=1000))
    assert log(tmp_path) == ["begun a", "done a"]
    assert cell.run.finished
    aside = cell.run.folder / "result.json.broken-1"
    assert f"kept as {aside}" in capsys.readouterr().out
    assert aside.is_dir() if content is None else aside.read_bytes() == content


def test_a_second_broken_one_does_not_take_the_place_of_the_first(tmp_path):
    (cell,) = make_cells(tmp_path, "a")
    for number in (1, 2):
        cell.run.folder.mkdir(exist_ok=True)
        (cell.run.folder / "result.json").write_text(f"broken {number}")
        runner.run_missing([cell], Console())
    assert [(cell.run.folder / f"result.json.broken-{number}").read_text() for number in (1, 2)] == [
        "broken 1",
        "broken 2",
    ]


@pytest.mark.parametrize("version", [1, 4])
def test_a_record_of_another_version_is_a_result_and_stays(tmp_path, version):
    (cell,) = make_cells(tmp_path, "a")
    cell.run.folder.mkdir()
    (cell.run.folder / "result.json").write_text(json.dumps({"schema_version": version}))
    runner.run_missing([cell], Console())
    assert not (tmp_path / "log").exists()
    assert (cell.run.folder / "result.json").exists()
