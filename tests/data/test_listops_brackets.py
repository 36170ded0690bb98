"""The closing brackets of ListOps: kept, or dropped as in the released preparation, from one store."""

import numpy as np
import pytest

from lra import from_config
from lra.data import listops
from lra.data.writer import StoreForm, write_store
from lra.runs.published_numbers import published_accuracy_for
from lra.settings.compose import load_config
from lra.settings.which_run import config_hash, hashed_settings, store_dir
from lra.types import UserError
from tests.commands.test_cli import run
from tests.tables.records import make_record, rows_by_name

EXPRESSIONS = ("[MAX 4 [MED 7 2 9 ] 0 ]", "[SM 9 8 7 ]", "5", "[MIN [MIN [MIN 3 ] ] ]")
WITHOUT = ("[MAX 4 [MED 7 2 9 0", "[SM 9 8 7", "5", "[MIN [MIN [MIN 3")
FACTS = {"origin": "generated", "asked": {"settings": {}, "source": "auto"}, "builder": "listops/1.0.0"}
DROPPED = "protocol.listops_brackets=dropped"


def composed(*words: str):
    return load_config("train", ["task=listops", *words])


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Make the datamodule of ListOps with words of a command; its store has EXPRESSIONS."""
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path))

    def make(*words: str):
        cfg = composed(*words)
        examples = [([listops.encode(text)], number) for number, text in enumerate(EXPRESSIONS)]
        splits = {"train": 3 * examples, "dev": examples[::-1], "test": examples}
        if not store_dir(cfg).exists():
            form = StoreForm(spec=from_config.build_spec(cfg), dtype=np.uint8, max_length=2000, first_id=0)
            write_store(store_dir(cfg), form, splits, facts=FACTS, started=0.0)
        return from_config.build_datamodule(cfg)

    return make


def texts(made, split: str) -> list[str]:
    """The text of every example, as a batch has it."""
    batch = made.collator(split)(np.arange(made.num_examples(split)))
    return [
        listops.decode(tokens[valid].numpy())
        for tokens, valid in zip(batch.tokens[:, 0], batch.valid[:, 0], strict=True)
    ]


def test_one_store_serves_both(data):
    assert texts(data(), "test") == list(EXPRESSIONS)
    dropped = data(DROPPED)
    assert texts(dropped, "test") == list(WITHOUT)
    assert texts(dropped, "train") == 3 * list(WITHOUT)
    assert texts(dropped, "dev") == list(WITHOUT)[::-1]
    assert [dropped.splits["dev"].example(number)[1] for number in range(4)] == [3, 2, 1, 0], "labels stay"


def test_an_expression_without_its_brackets_is_shown_as_its_tokens(data):
    stored, _ = data(DROPPED).splits["test"].example(0)
    assert listops.ListopsCodec().draw(stored, {}) == [WITHOUT[0]]


def test_another_word_is_refused(data):
    with pytest.raises(UserError) as refused:
        data("protocol.listops_brackets=lost")
    assert (refused.value.key, refused.value.right) == ("listops_brackets", ["kept", "dropped", "null"])


def test_kept_is_the_default_and_dropped_another_run():
    assert config_hash(composed()) == config_hash(composed("protocol.listops_brackets=kept")) == "20278c39"
    assert config_hash(composed(DROPPED)) != config_hash(composed())


def test_a_row_without_brackets_says_so_also_where_every_row_is_without():
    record = make_record("listops", "linformer")
    record["settings"] = hashed_settings(composed("attention=linformer", DROPPED))
    dropped = "linformer (protocol.listops_brackets=dropped)"
    assert list(rows_by_name([record])) == [dropped]
    assert list(rows_by_name([record, make_record("listops", "linformer", seed=1)])) == ["linformer", dropped]
    assert published_accuracy_for(record, "paper") == 37.25, "which of both the paper trained on is not certain"


def test_the_switch_is_shown_with_its_dates(capsys):
    code, out, _ = run(capsys, "show", "protocol", "format=markdown")
    assert code == 0
    lines = out.splitlines()
    (first,) = [place for place, line in enumerate(lines) if line.startswith("| listops_brackets")]
    assert "4 March 2021" in lines[first + 1]
    assert "17 February 2021" in lines[first + 2]
