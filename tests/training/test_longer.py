"""A run on a probe is tested on longer sequences too, where its model takes them."""

import json

import pytest

from lra.cli import main
from lra.runs.files import RESULT

WORDS = ("task=words", "protocol=clean", "size=tiny", "recipe.steps=4", "recipe.eval_every=2", "logger=csv")


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / "runs"))
    return tmp_path / "runs"


def longer_of(runs, method: str) -> dict[str, float | None] | None:
    (path,) = (runs / "default/words" / method).glob("*/seed0/result.json")
    return json.loads(path.read_text()).get("longer")


@pytest.mark.slow
def test_it_is_tested_at_twice_and_four_times_the_length_where_its_weights_fit(runs, capsys):
    for method in ("linear", "linformer"):
        assert main(["train", *WORDS, f"attention={method}", "model.positions=rotary"]) == 0
    assert main(["train", *WORDS, "attention=average"]) == 0  # with learned positions
    longer = longer_of(runs, "linear")
    assert longer.keys() == {"64", "128"}
    assert all(0 <= accuracy <= 1 for accuracy in longer.values())
    assert longer_of(runs, "linformer") == {"64": None, "128": None}
    assert longer_of(runs, "average") is None
    assert "On sequences of 128 tokens" in capsys.readouterr().out
    assert main(["compare", "show", *WORDS[:3], "run_group=default", "format=markdown"]) == 0
    table = capsys.readouterr().out
    head, _, *rows = [line for line in table.splitlines() if line.startswith("|")]
    assert "at 64 tokens" in head
    assert len(rows) == 3


@pytest.mark.slow
def test_the_longer_words_have_more_elements_and_the_same_command_adds_what_a_kill_left_out(runs, tmp_path, capsys):
    words = [*WORDS, "attention=linear", "model.positions=none"]
    assert main(["train", *words]) == 0
    manifests = [json.loads(path.read_text()) for path in (tmp_path / "data/stores/words").glob("tiny-*/manifest.json")]
    settings = [manifest["asked"]["settings"] for manifest in manifests]
    assert {(each["seq_len"], each["word"], each["test"]) for each in settings} == {
        (32, 4, 64),
        (64, 8, 64),
        (128, 16, 64),
    }
    (path,) = (runs / "default/words/linear").glob(f"*/seed0/{RESULT}")
    whole = json.loads(path.read_text())
    path.write_text(json.dumps({key: value for key, value in whole.items() if key != "longer"}))
    assert main(["train", *words]) == 0
    assert json.loads(path.read_text()) == whole


def test_a_table_has_the_accuracies_on_longer_sequences(home, capsys):
    from lra.tables.comparison import contenders
    from lra.tables.comparison_table import comparison_table
    from tests.tables.records import make_record

    records = []
    for attention, accuracies in (("full", (0.5, 0.7)), ("linformer", (None, None))):
        for seed, accuracy in enumerate(accuracies):
            record = make_record(attention=attention, seed=seed)
            record["longer"] = {"96": accuracy}
            records.append(record)
    table = comparison_table(records, contenders(records), title="")
    column = table.columns.index("at 96 tokens")
    assert {row[0]: row[column] for row in table.rows} == {"full": "60.00 ± 14.14", "linformer": "–"}
