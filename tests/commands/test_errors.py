"""Each mistake gets the one line and the exit code that stand in `errors.yaml`, and nothing is written."""

import shutil
from pathlib import Path

import pytest

from tests.commands.errors import read_errors, said, train_one
from tests.renew import stale


def rows(need: str) -> list:
    marks = {True: [pytest.mark.slow], False: []}
    return [pytest.param(row, id=row["type"], marks=marks["slow" in row]) for row in read_errors()[need]]


@pytest.fixture(scope="module")
def listops(data_dir, tmp_path_factory):
    """A data folder with ListOps alone, whatever other tests have made in theirs."""
    folder = tmp_path_factory.mktemp("listops")
    shutil.copytree(data_dir / "stores/listops", folder / "stores/listops")
    return folder


@pytest.fixture(scope="module")
def run(data_dir, tmp_path_factory):
    return train_one(data_dir, tmp_path_factory.mktemp("trained") / "runs")


def expected(row: dict) -> tuple[int, str]:
    return row.get("code", 2), row["says"]


def check_that_its_line_is_said_and_nothing_written(row: dict, folder: Path) -> None:
    home = folder / "home"
    assert said(row["type"], home, data=home / "data", run=folder / "none") == expected(row), stale("errors")
    assert not list(home.iterdir())


@pytest.mark.some_fast(68)
@pytest.mark.parametrize("row", rows("nothing"))
def test_a_mistake_gets_its_line_and_nothing_is_written(row, tmp_path):
    check_that_its_line_is_said_and_nothing_written(row, tmp_path)


@pytest.mark.some_fast(30)
@pytest.mark.some_in_ci(120)
@pytest.mark.parametrize("row", rows("other words"))
def test_a_word_that_others_have_for_ours_gets_its_line(row, tmp_path):
    check_that_its_line_is_said_and_nothing_written(row, tmp_path)


@pytest.mark.parametrize("row", rows("prepared data"))
def test_a_mistake_that_only_data_shows_gets_its_line(row, listops, tmp_path):
    assert said(row["type"], tmp_path / "home", data=listops, run=tmp_path / "none") == expected(row)


@pytest.mark.parametrize("row", rows("a trained run"))
def test_a_mistake_beside_a_trained_run_gets_its_line(row, run, data_dir, tmp_path):
    assert said(row["type"], tmp_path / "home", data=data_dir, run=run) == expected(row)
    assert not list(run.glob("diagnosis.*"))


def test_each_line_is_one_and_foreseen_and_each_command_stands_once():
    all_rows = [row for group in read_errors().values() for row in group]
    assert [row for row in all_rows if "\n" in row["says"] or "not foreseen" in row["says"]] == []
    assert len({row["type"] for row in all_rows}) == len(all_rows)
