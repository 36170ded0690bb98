"""The script of docs/examples runs as it is, and says what its run's record says."""

import json
import runpy

import pytest

from tests.conftest import ROOT


@pytest.mark.slow
def test_the_script_trains_and_reads_its_record_back(home, capsys):
    script = str(ROOT / "docs/examples/train_from_python.py")
    runpy.run_path(script, run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    (record,) = [json.loads(path.read_text()) for path in home.rglob("result.json")]
    assert lines[0] == f"nystrom: {record['cost']['parameters']:,} parameters"
    outcome = record["outcome"]
    assert lines[-1] == f"{outcome['test_examples']} test examples, accuracy {outcome['test_accuracy']:.2%}"
    runpy.run_path(script, run_name="__main__")
    assert "Finished before" in capsys.readouterr().out, "again it shows the result"
