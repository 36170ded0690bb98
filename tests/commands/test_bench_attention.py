"""lra bench attention as its user meets it: what it prints, keeps and refuses."""

import json
import os
import signal
from pathlib import Path

import pytest

from lra.cli import main
from lra.tools.bench import measure
from lra.tools.bench.tables import bench_tables

ROOT = Path(__file__).resolve().parents[2]
SHORT = ["batch=1", "head_dim=4", "repeats=1", "threads=1"]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder of runs; memory is not measured, which takes most of the time of a small cell."""

    def bytes_of(function, device):
        function()
        return 1000

    monkeypatch.setattr(measure, "peak_extra_bytes", bytes_of)
    monkeypatch.setattr(measure, "LEAST_SECONDS", 1e-6)
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "runs/bench"


@pytest.mark.slow
def test_attentions_are_measured_and_the_record_goes_on(place, monkeypatch, result_of):
    words = ["bench", "attention", "attention=nystrom", "attention.num_landmarks=2,4", *SHORT]
    shown = result_of(*words, "n=16,32")
    (path,) = place.glob("*.json")
    record = json.loads(path.read_text())
    assert (shown.path, shown.asked) == (path, record)
    assert record["whole"] == [16, 32]
    assert {cell["length"] for cell in record["cells"]} == {16, 32}
    names = [f"nystrom num_landmarks={count}" for count in (2, 4)]
    assert [method["name"] for method in record["settings"]["methods"]] == ["full fused", "full math", *names]
    assert {"forward", "both"} < record["cells"][0].keys()
    *of_lengths, of_methods = bench_tables(record)
    assert len(of_lengths) == 2
    assert "crossover" in of_methods.columns
    assert [row[0] for row in of_methods.rows] == ["full fused", "full math", *names]
    assert shown.figure.path == path.with_suffix(".png")
    assert shown.figure.path.exists()
    measured = []
    monkeypatch.setattr(measure.Bench, "measure_length", lambda self, length: measured.append(length) or [])
    assert {cell["length"] for cell in result_of(*words, "n=16,64").asked["cells"]} == {16}
    assert measured == [64], "what is in the record is not measured again"


def test_mixers_say_that_their_projections_are_inside(place, capsys):
    assert main(["bench", "attention", "mixer=gated", "n=16", "backward=false", "format=csv", *SHORT]) == 0
    head, *lines = capsys.readouterr().out.splitlines()
    assert head.startswith("length,method,pass"), "nothing else is on standard output"
    assert [line.split(",")[1] for line in lines] == ["full fused", "full math", "gated + projections"]
    assert {line.split(",")[2] for line in lines} == {"forward"}


@pytest.mark.slow
def test_markdown_goes_to_a_file(place, result_of):
    words = ["attention=none", "n=16", "packed=false", "out=bench.md"]
    shown = result_of("bench", "attention", *words, *SHORT)
    assert (str(shown.out), shown.format, shown.figure) == ("bench.md", "markdown", None), "of one length there is none"
    text = (place.parents[1] / "bench.md").read_text()
    assert "MiB / ms per instance" in text
    assert "attentions on the padded form" in text


def test_a_published_record_is_shown_without_measuring(place, capsys, monkeypatch):
    monkeypatch.setattr(measure.Bench, "measure_length", lambda *_: pytest.fail("measured"))
    record = ROOT / "runs/published/bench_attention.json"
    before = {path.name: path.stat().st_mtime_ns for path in record.parent.iterdir()}
    assert main(["bench", "attention", f"show={record}", "n=1024", "format=csv"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    names = [method["name"] for method in json.loads(record.read_text())["settings"]["methods"]]
    assert [line.split(",")[:2] for line in lines[::2]] == [["1024", name] for name in names]
    assert {path.name: path.stat().st_mtime_ns for path in record.parent.iterdir()} == before
    assert not place.exists()


def test_ctrl_c_keeps_what_is_measured(place, monkeypatch, not_deaf):
    rounds = []
    next_turn = measure.PassTimer.next_turn

    def interrupted(self):
        rounds.append(self)
        measured = next_turn(self)
        if len(rounds) == 7:  # in the second round
            os.kill(os.getpid(), signal.SIGINT)
        return measured

    monkeypatch.setattr(measure.PassTimer, "next_turn", interrupted)
    words = [word for word in SHORT if not word.startswith("repeats")]
    assert main(["bench", "attention", "attention=none", "n=16,32", "repeats=2", *words]) == 130
    (path,) = place.glob("*.json")
    record = json.loads(path.read_text())
    assert record["whole"] == []
    assert [len(each["both"]["seconds"]) for each in record["cells"]] == [1, 1, 1]
