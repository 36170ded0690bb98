"""Where a table is written: `out=` is a file, or one line says so and nothing is left behind."""

from __future__ import annotations

import pytest

from lra.cli import main
from lra.files import replace_text


@pytest.mark.parametrize("words", [("table", "show"), ("compare", "show"), ("sweep", "landmarks", "show")])
@pytest.mark.parametrize("out", ["folder", ""])
def test_a_folder_is_no_file(home, tmp_path, capsys, words, out):
    (tmp_path / "folder").mkdir()
    capsys.readouterr()
    code = main([*words, f"out={out}"])
    _, err = capsys.readouterr()
    assert code == 2
    assert err.startswith("lra: out=")
    assert "type a file, for example out=" in err
    assert err.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_the_report_too(home, tmp_path, capsys):
    (tmp_path / "folder").mkdir()
    assert main(["report", f"out={tmp_path}/folder"]) == 2
    assert "type a file, for example out=" in capsys.readouterr().err
    assert not list(tmp_path.glob("*.unfinished"))


def test_a_file_that_cannot_be_replaced_leaves_nothing(tmp_path):
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        replace_text(tmp_path / "folder", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["folder"]


def test_the_name_of_the_file_is_no_markup(home, tmp_path, capsys):
    out = tmp_path / "[red]x.md"
    assert main(["table", "show", f"out='{out}'"]) == 0
    assert f"written: {out}" in capsys.readouterr().out
