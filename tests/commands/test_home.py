"""`~` in a setting is the home folder in every shell: bash writes it out itself, zsh, fish and dash do not."""

import pytest

from lra.cli import _as_meant, main


def test_a_source_in_the_home_folder_is_found(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "data"))
    assert main(["prepare", "task=text", "size=tiny", "source=~/none.tar.gz"]) == 2
    assert str(tmp_path / "none.tar.gz") in capsys.readouterr().err


def test_a_table_is_written_into_the_home_folder(home, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path / "me"))
    (tmp_path / "me").mkdir()
    assert main(["table", "show", "size=tiny", "format=markdown", "out=~/table.md"]) == 0
    assert (tmp_path / "me/table.md").exists()


@pytest.mark.parametrize(
    "word, meant",
    [
        ("source=~/x", "source=/home/me/x"),
        ("out=~", "out=/home/me"),
        ("paths.runs=~/runs", "paths.runs=/home/me/runs"),
        ("+new=~/x", "+new=/home/me/x"),
        ("out=mine~/x", "out=mine~/x"),
        ("source=~you/x", "source=~you/x"),
        ("~logger", "~logger"),  # Hydra's sign for: leave it out
        ("-m", "-m"),
    ],
)
def test_only_a_value_that_begins_with_it_is_meant(word, meant, monkeypatch):
    monkeypatch.setenv("HOME", "/home/me")
    assert _as_meant(word) == meant
