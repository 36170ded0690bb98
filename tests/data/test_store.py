"""The packed store: whole or not there, and refused when it is not what its manifest says."""

import json
import multiprocessing
import os
import signal
from dataclasses import replace

import numpy as np
import pytest

from lra.data.manifest import MANIFEST, read_manifest
from lra.data.store import open_store, verify_store
from lra.data.writer import StoreForm, store_lock, write_store
from lra.types import TaskSpec, UserError

SPEC = TaskSpec(name="listops", vocab_size=32, seq_len=8, num_sequences=2, num_classes=10)
FACTS = {"origin": "generated", "asked": {"settings": {}, "source": "auto"}, "builder": "listops/full/1.0.0"}
FORM = StoreForm(spec=SPEC, dtype=np.uint8, max_length=8, first_id=0)
HOW = {"facts": FACTS, "started": 0.0}


def examples(count: int, start: int = 0):
    for i in range(start, start + count):
        yield [np.arange(i % 5 + 1, dtype=np.uint8), np.full(3, i % 7, np.uint8)], i % 10


def write(folder, count=10, start=0):
    splits = {"train": examples(count, start), "dev": examples(3), "test": examples(4)}
    with store_lock(folder):
        return write_store(folder, FORM, splits, **HOW)


@pytest.fixture
def store(tmp_path):
    folder = tmp_path / "listops" / "full"
    write(folder)
    return folder


def test_what_is_written_is_read_back(store):
    split = open_store(store, SPEC).splits["train"]
    assert len(split) == 10
    for (sequences, label), (wanted, wanted_label) in zip(map(split.example, range(10)), examples(10), strict=True):
        assert label == wanted_label
        assert all(np.array_equal(a, b) for a, b in zip(sequences, wanted, strict=True))
    manifest = read_manifest(store)
    assert manifest["splits"]["train"]["label_counts"] == {str(i): 1 for i in range(10)}
    assert manifest["splits"]["train"]["length_quantiles"]["1"] == 5
    verify_store(store)


def test_a_sequence_that_many_examples_name_is_stored_once_in_all_splits(tmp_path):
    folder = tmp_path / "listops" / "full"
    splits = {
        "train": [([np.arange(3), np.arange(20)], 1), ([1, 0], 0)],
        "test": [([np.arange(0), 1], 2)],
    }
    manifest = write_store(folder, replace(FORM, first_id=1), splits, **HOW)
    assert manifest["arrays"]["tokens"]["shape"] == [3 + 8]
    assert [s["cut_sequences"] for s in manifest["splits"].values()] == [1, 0]
    assert [s["empty_sequences"] for s in manifest["splits"].values()] == [0, 1]
    opened = open_store(folder, SPEC).splits
    assert [s.tolist() for s in opened["train"].example(1)[0]] == [list(range(8)), [0, 1, 2]]
    assert [s.tolist() for s in opened["test"].example(0)[0]] == [[], list(range(8))]


def test_a_split_without_an_example_is_refused(tmp_path):
    with pytest.raises(UserError, match="test has no example"):
        write_store(tmp_path / "x", FORM, {"train": examples(1), "test": []}, **HOW)


def test_a_flipped_byte_is_found_by_the_check(store):
    path = store / "tokens.npy"
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    open_store(store, SPEC)
    with pytest.raises(UserError, match=r"tokens\.npy.*force=true"):
        verify_store(store)


@pytest.mark.parametrize("array", ["tokens", "offsets", "dev.sequences", "dev.labels"])
def test_a_truncated_array_is_refused(store, array):
    path = store / f"{array}.npy"
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(UserError, match=rf"{array}.*force=true"):
        open_store(store, SPEC)


@pytest.mark.parametrize("array", ["tokens", "offsets", "dev.sequences", "dev.labels"])
@pytest.mark.parametrize("content", [b"", b"\x93NUMPY", bytes(range(256))], ids=["empty", "header", "garbage"])
def test_an_empty_or_foreign_array_is_refused(store, array, content):
    (store / f"{array}.npy").write_bytes(content)
    with pytest.raises(UserError, match=array):
        open_store(store, SPEC)


@pytest.mark.parametrize("array", ["tokens", "offsets", "test.sequences", "test.labels"])
def test_another_array_is_refused(store, array):
    np.save(store / f"{array}.npy", np.zeros(5, np.float32))
    with pytest.raises(UserError, match=rf"{array}\.npy .*float32 \[5\]"):
        open_store(store, SPEC)


def test_a_missing_array_is_refused(store):
    (store / "test.labels.npy").unlink()
    with pytest.raises(UserError, match="test"):
        open_store(store, SPEC)


def test_an_array_with_pickled_objects_is_refused(store):
    np.save(store / "dev.labels.npy", np.array([{}, {}, {}], dtype=object), allow_pickle=True)
    with pytest.raises(UserError, match="dev"):
        open_store(store, SPEC)


def test_another_spec_is_refused(store):
    with pytest.raises(UserError, match="seq_len=8, but seq_len=16"):
        open_store(store, replace(SPEC, seq_len=16))


@pytest.mark.parametrize(
    "text, word", [("{", "not JSON"), ("{}", "format None"), ('{"format_version": 0}', "format 0")]
)
def test_a_foreign_manifest_is_refused(store, text, word):
    (store / MANIFEST).write_text(text)
    with pytest.raises(UserError, match=word):
        open_store(store, SPEC)


def test_no_store_says_what_to_type(tmp_path):
    with pytest.raises(UserError, match="lra prepare task=listops size=full"):
        open_store(tmp_path / "listops" / "full", SPEC)


def test_a_label_out_of_range_is_refused_and_the_old_store_stays(store):
    before = (store / MANIFEST).read_text()
    splits = {"train": [([np.ones(2), np.ones(2)], 10)], "dev": [], "test": []}
    with pytest.raises(UserError, match="label 10"):
        write_store(store, FORM, splits, **HOW)
    assert (store / MANIFEST).read_text() == before


def _killed_writer(folder):
    def dies():
        yield from examples(5)
        os.kill(os.getpid(), signal.SIGKILL)

    with store_lock(folder):
        splits = {"train": dies(), "dev": [], "test": []}
        write_store(folder, FORM, splits, **HOW)


def test_a_killed_writer_leaves_the_old_store_and_the_next_one_cleans_up(store):
    process = multiprocessing.get_context("spawn").Process(target=_killed_writer, args=(store,))
    process.start()
    process.join(60)
    assert process.exitcode == -signal.SIGKILL
    verify_store(store)
    write(store, count=6)
    assert len(open_store(store, SPEC).splits["train"]) == 6
    assert [path.name for path in store.parent.iterdir() if path.is_dir()] == ["full"]


@pytest.mark.slow
def test_two_writers_at_once_do_not_spoil_each_other(store):
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=write, args=(store, 50, start)) for start in (0, 1)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
        assert writer.exitcode == 0
    verify_store(store)
    assert json.loads((store / MANIFEST).read_text())["splits"]["train"]["count"] == 50
