"""How much of a review is used: 4,000 bytes, or the 1,000 of the released preparation, from one store."""

import numpy as np
import pytest

from lra import from_config
from lra.data.writer import StoreForm, write_store
from lra.settings.compose import load_config
from lra.settings.which_run import run_dir, store_dir
from lra.types import UserError
from tests.commands.test_cli import run

LENGTHS = (300, 1000, 1001, 4000)
FACTS = {"origin": "stand-in", "asked": {"settings": {}, "source": "auto"}, "builder": "text/1.0.0"}


@pytest.fixture
def text(tmp_path, monkeypatch):
    """Make the datamodule of Text with words of a command; its store has reviews of LENGTHS."""
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path))

    def make(*words: str):
        cfg = load_config("train", ["task=text", *words])
        spec, folder = from_config.build_spec(cfg), store_dir(cfg)
        examples = [([np.arange(length) % 251], number % 2) for number, length in enumerate(LENGTHS)]
        splits = {"train": 3 * examples, "test": examples}
        if not folder.exists():
            form = StoreForm(spec=spec, dtype=np.uint8, max_length=4000, first_id=1)
            write_store(folder, form, splits, facts=FACTS, started=0.0)
        return from_config.build_datamodule(cfg)

    return make


def used(data, split):
    batch = data.collator(split)(np.arange(len(LENGTHS)))
    assert batch.tokens.shape[-1] == 4096, "padded as before"
    return (batch.tokens != 0).sum(-1).ravel().tolist()


@pytest.mark.parametrize("protocol", ["paper", "clean"])
def test_both_protocols_use_four_thousand_bytes(protocol):
    cfg = load_config("train", ["task=text", f"protocol={protocol}"])
    assert cfg.protocol.text_length == cfg.task.longest == cfg.task.data.max_length == 4000


def test_one_store_serves_both_lengths(text):
    assert used(text(), "test") == list(LENGTHS)
    shorter = text("protocol.text_length=1000")
    assert used(shorter, "test") == used(shorter, "train") == [300, 1000, 1000, 1000]
    whole, cut = text().collator("test")(np.array([3])), shorter.collator("test")(np.array([3]))
    assert cut.tokens[..., :1000].equal(whole.tokens[..., :1000])
    assert len(shorter.splits["test"].example(3)[0][0]) == 1000


def test_the_held_out_dev_split_is_cut_too(text):
    assert text("protocol=clean", "protocol.text_length=1000").splits["dev"].longest == 1000


def test_another_length_is_refused(text):
    for wrong in ("500", "0", "all"):
        with pytest.raises(UserError, match=rf"text_length={wrong} .*4000, 1000"):
            text(f"protocol.text_length={wrong}")


def test_other_tasks_do_not_hear_of_it():
    for task in ("listops", "retrieval", "image"):
        assert "longest" not in load_config("train", [f"task={task}"]).plain("task")


def test_runs_of_both_lengths_have_folders_of_their_own():
    folders = {run_dir(load_config("train", ["task=text", *w])) for w in ((), ("protocol.text_length=1000",))}
    assert len(folders) == 2


def test_the_switch_is_shown(capsys):
    code, out, _ = run(capsys, "show", "protocol")
    assert code == 0
    assert "text_length" in out
    assert "4000" in out
