"""The dev split: the dataset's own, the test split, or held out of train."""

import numpy as np
import pytest

from lra.data.datamodule import StoreDataModule
from lra.data.store import open_store, stratified, with_dev
from lra.data.writer import StoreForm, write_store
from lra.settings.compose import load_config
from lra.types import TaskSpec, UserError
from tests.data.test_store import FACTS

SPEC = TaskSpec(name="text", vocab_size=512, seq_len=8, num_sequences=1, num_classes=2)
FORM = StoreForm(spec=SPEC, dtype=np.uint16, max_length=8, first_id=0)


def examples(count: int):
    for i in range(count):
        yield [np.full(1 + i % 8, 1 + i, np.uint16)], int(i >= count // 4)


@pytest.fixture
def store(tmp_path):
    """A store like Text's: no dev split, a quarter of the labels 0."""
    folder = tmp_path / "text" / "tiny"
    write_store(folder, FORM, {"train": examples(200), "test": examples(42)}, facts=FACTS, started=0.0)
    return folder


def tokens(split) -> set[int]:
    return {int(split.example(i)[0][0][0]) for i in range(len(split))}


def test_held_out_examples_are_a_tenth_of_every_label_and_no_longer_trained_on(store):
    """Catches: dev.py, `~held_out` → `held_out`; `for label` over one label alone."""
    splits = with_dev(open_store(store, SPEC).splits, "held_out")
    assert [len(splits[name]) for name in ("train", "dev", "test")] == [180, 20, 42]
    assert not tokens(splits["train"]) & tokens(splits["dev"])
    assert tokens(splits["train"]) | tokens(splits["dev"]) == set(range(1, 201))
    assert sum(splits["dev"].example(i)[1] for i in range(20)) == 15


def test_the_same_examples_are_held_out_every_time():
    labels = np.arange(100) % 2
    assert all(
        np.array_equal(a, b) for a, b in zip(stratified(labels, 0.1, 0), stratified(labels, 0.1, 0), strict=True)
    )
    assert not np.array_equal(stratified(labels, 0.1, 0)[1], stratified(labels, 0.1, 1)[1])


def datamodule(store, **changes):
    chosen = {"dev_split": "test", "text_length": None, "listops_brackets": None, "test_last_batch": "kept", **changes}
    return StoreDataModule(
        spec=SPEC,
        store_dir=store,
        mask_zero=True,
        batch_size=4,
        num_train_batches=50,
        seed=0,
        on_device=False,
        **chosen,
    )


def test_splits_that_would_be_empty_are_refused(tmp_path, store):
    few = tmp_path / "few"
    write_store(few, FORM, {"train": examples(6), "test": examples(3)}, facts=FACTS, started=0.0)
    with pytest.raises(UserError, match=r"a tenth of each label's examples, which is none of 6;.*task.dev_split=test"):
        datamodule(few, dev_split="held_out")
    with pytest.raises(UserError, match=r"leaves none of 3 test examples with batches of 4"):
        datamodule(few, test_last_batch="dropped")
    assert datamodule(store, test_last_batch="dropped").num_examples("test") == 40


def test_batches_are_made_of_the_part_alone(store):
    data = datamodule(store, dev_split="held_out")
    trained = {int(id_) for batch in data.train_dataloader() for id_ in batch.tokens[:, 0, 0]}
    dev = [int(id_) for batch in data.val_dataloader() for id_ in batch.tokens[:, 0, 0]]
    assert trained == tokens(data.splits["train"])
    assert set(dev) == tokens(data.splits["dev"])
    assert len(dev) == data.num_examples("dev") == 20


def test_dev_batches_may_have_a_size_of_their_own(store):
    data = datamodule(store, dev_split="held_out", dev_batch_size=7)
    sizes = [[len(batch.label) for batch in batches] for batches in (data.val_dataloader(), data.test_dataloader())]
    assert sizes == [[7, 7, 6], [*10 * [4], 2]]
    assert {len(batch.label) for batch in data.train_dataloader()} == {4}


def test_the_test_split_is_the_dev_split_when_the_protocol_says_so(store):
    data = datamodule(store)
    assert [b.label.tolist() for b in data.val_dataloader()] == [b.label.tolist() for b in data.test_dataloader()]
    assert data.num_examples("test") == 42
    assert datamodule(store, test_last_batch="dropped").num_examples("test") == 40


def test_the_protocols_choose(store):
    chosen = {p: load_config("train", ["task=text", f"protocol={p}"]).task.dev_split for p in ("paper", "clean")}
    assert chosen == {"paper": "test", "clean": "held_out"}


def test_a_dev_split_that_is_not_there_is_refused(store):
    with pytest.raises(UserError, match="held_out"):
        with_dev(open_store(store, SPEC).splits, "own")
