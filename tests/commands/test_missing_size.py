"""A task of the user's own without one of the sizes."""

import pytest

from lra.base.paths import conf_dir
from lra.cli import main


@pytest.mark.slow
@pytest.mark.parametrize("words", [["train"], ["prepare"], ["show", "data"], ["compare", "plan"]], ids=" ".join)
def test_a_size_that_a_task_lacks_is_one_line(words, home, tmp_path, monkeypatch, capsys):
    text = (conf_dir() / "task" / "listops.yaml").read_text().replace("name: listops", "name: mine")
    (tmp_path / "own/task").mkdir(parents=True)
    (tmp_path / "own/task/mine.yaml").write_text(text.replace("  short: ", "  long: "))
    monkeypatch.setenv("LRA_CONF_PATH", str(tmp_path / "own"))
    assert main([*words, "task=mine", "size=short"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "size=short" in line
