"""What an output says to type can be typed as it stands."""

from __future__ import annotations

import json
import re

import pytest

from lra.cli import main
from tests.results.records import make_record


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["table", "compare", "sweep landmarks"])
def test_the_hint_at_other_sizes_shows_them(verb, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    records = [make_record(), make_record(size="short", steps=300, accuracy=0.25)]
    (tmp_path / "mine/records.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    assert main([*verb.split(), "show", "run_group=mine", "format=markdown"]) == 0
    hint = re.search(r"left out: 1 of size=short protocol=paper: lra (.+)", capsys.readouterr().out)
    assert hint is not None
    assert main(hint[1].split()) == 0
    assert "25.00 (1)" in capsys.readouterr().out
