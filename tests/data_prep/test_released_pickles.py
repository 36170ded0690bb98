"""Pickles of the Nyströmformer repository: the same stores as from the original forms, checked, and named so."""

import json
import pickle
import shutil
from pathlib import Path

import numpy as np
import pytest

from data_prep.image import source as image_source
from data_prep.listops import tsv
from data_prep.pathfinder import source as pathfinder_source
from data_prep.retrieval import source as retrieval_source
from data_prep.text import source as text_source
from lra import from_config
from lra.base.files import sha256
from lra.cli import main
from lra.data.listops import encode
from lra.settings.compose import load_config
from lra.types import UserError
from tests.data_prep.peak_memory import code_and_peak_bytes
from tests.data_prep.pickled_rows import PATHFINDER, pickled_row, write_pickles
from tests.data_prep.test_listops_symbols import drawn, without_brackets

SETTINGS = {"train": 200, "dev": 24, "test": 40}
ORDER = np.random.default_rng(3).permutation(15) + 1  # ids of the symbols, as a Python set may order them


def listops(folder: Path):
    rows = {split: drawn(count, seed) for seed, (split, count) in enumerate(SETTINGS.items())}
    for split, name in tsv.FILES.items():
        lines = ["Source\tTarget", *(f"( {source} )\t{value}" for source, value in rows[split])]
        (folder / name).write_text("\n".join(lines) + "\n")
    return folder, {
        split: [((ORDER[encode(source) - 1],), value) for source, value in part] for split, part in rows.items()
    }


def text(folder: Path):
    archive = text_source.write_stand_in(folder, SETTINGS)
    read = text_source.read_archive(archive, lambda done, total: None)
    rows = {split: [(([byte + 1 for byte in raw],), label) for raw, label in part] for split, part in read.items()}
    return archive, {**rows, "dev": rows["test"]}


def retrieval(folder: Path):
    made = retrieval_source.write_stand_in(folder, SETTINGS)
    rows = {
        split: [
            (tuple([byte + 1 for byte in text] for text in pair.texts), pair.label)
            for pair in retrieval_source.read_pairs(made, split)
        ]
        for split in SETTINGS
    }
    return made, rows


def image(folder: Path):
    archive = image_source.write_stand_in(folder, {"train": 180, "dev": 20, "test": 40})
    read = image_source.read_archive(archive, lambda done, total: None)
    rows = {
        split: [((image_source.encode(planes),), int(label)) for planes, label in zip(*part, strict=True)]
        for split, part in read.items()
    }
    return archive, {"train": rows["train"][:180], "dev": rows["train"][180:], "test": rows["test"]}


def pathfinder_rows():
    rng = np.random.default_rng(0)
    sizes = {"train": 24, "dev": 3, "test": 3}
    return {split: [((rng.integers(0, 256, 1024),), k % 2) for k in range(count)] for split, count in sizes.items()}


@pytest.mark.some_fast(1)
@pytest.mark.parametrize("make", [listops, text, retrieval, image], ids=lambda make: make.__name__)
def test_the_store_is_that_of_the_original_form(prepare, tmp_path, make):
    task = make.__name__
    (tmp_path / "original").mkdir()
    original, rows = make(tmp_path / "original")
    pickles = write_pickles(tmp_path / "pickles", task, rows)
    wanted, _ = prepare(task, f"source={original}", "verify=false")
    found, _ = prepare(task, f"source={pickles}", "verify=false", "force=true")
    assert found["arrays"] == wanted["arrays"]
    assert found["splits"] == wanted["splits"]
    files = {f"{task}.{split}.pickle" for split in SETTINGS}
    assert found["source"]["files"] == {name: sha256(pickles / name) for name in files}


@pytest.mark.parametrize("protocol", [2, 3, 5])
def test_any_protocol_and_both_names_are_read(prepare, tmp_path, protocol):
    rows = {"train": [(([104, 106],), 0), (([98],), 1)], "test": [(([98],), 1)]}
    made = write_pickles(tmp_path / "x", "text", rows, before="lra-", protocol=protocol)
    _, splits = prepare("text", f"source={made}/lra-text.test.pickle", "verify=false")
    (stored,), label = splits["train"].example(0)
    assert (stored.tobytes(), label) == (b"gi", 0)


def test_their_origin_is_pickle_if_the_counts_are_the_benchmarks(prepare, tmp_path, monkeypatch):
    monkeypatch.setattr(text_source, "BENCHMARK", {"train": 2, "test": 3})
    rows = {"train": [(([104],), 0), (([98],), 1)], "test": [(([98],), 1)] * 3}
    made = write_pickles(tmp_path / "elsewhere", "text", rows)
    manifest, _ = prepare("text", "source=auto")
    assert manifest["origin"] == "pickle"
    assert manifest["source"]["path"] == str(made.resolve())
    write_pickles(made, "text", {"test": rows["train"]})
    assert "2 test examples, the benchmark 3" in prepare("text", "source=auto", "force=true")


def test_pathfinder_keeps_the_split_of_the_files(prepare, tmp_path):
    rows = pathfinder_rows()
    made = write_pickles(tmp_path / "x", PATHFINDER, rows)
    manifest, splits = prepare("pathfinder", f"source={made}", "verify=false", size="full")
    for split, part in rows.items():
        for number, ((levels,), label) in enumerate(part):
            (stored,), found = splits[split].example(number)
            assert (stored.tolist(), found) == (levels.tolist(), label)
    assert manifest["source"]["split"] == {"how": "own"}
    assert "task.split=seed42" in prepare("pathfinder", f"source={made}", "task.split=seed42", "force=true")
    assert "curv_baseline" in prepare("pathfinder", f"source={made}/{PATHFINDER}.dev.pickle", "task.difficulty=easy")
    assert "32 × 32" in prepare("pathx", f"source={made}/{PATHFINDER}.dev.pickle", size="full")


def test_pathfinders_counts_are_those_of_the_scripts(prepare, tmp_path, monkeypatch):
    monkeypatch.setattr(pathfinder_source, "BENCHMARK", {"all": 30})
    made = write_pickles(tmp_path / "x", PATHFINDER, pathfinder_rows())
    assert prepare("pathfinder", f"source={made}")[0]["origin"] == "pickle"
    monkeypatch.setattr(pathfinder_source, "BENCHMARK", {"all": 31})
    assert "the benchmark" in prepare("pathfinder", f"source={made}", "force=true")


@pytest.mark.slow
def test_a_record_names_files_and_split(prepare, tmp_path):
    made = write_pickles(tmp_path / "x", PATHFINDER, pathfinder_rows())
    manifest, _ = prepare("pathfinder", f"source={made}", "verify=false")
    words = [
        "task=pathfinder",
        "size=tiny",
        "attention=none",
        "recipe.steps=2",
        "logger=csv",
        f"paths.runs={tmp_path}/runs",
    ]
    assert main(["train", *words]) == 0
    (result,) = (tmp_path / "runs").rglob("result.json")
    source = json.loads(result.read_text())["provenance"]["data_source"]
    assert source == {"files": manifest["source"]["files"], "split": {"how": "own"}}


GOOD = pickled_row("text", ([104, 106],), 1)
LONG = np.ones(1024, np.int32)
DAMAGED = {
    "no dictionary": [1],
    "another key": {**GOOD, "mask": 1},
    "a key less": {"label": 1},
    "two texts": pickled_row("text", ([104], [104]), 1),
    "a third label": {**GOOD, "label": 2},
    "a label below zero": {**GOOD, "label": -1},
    "half a label": {**GOOD, "label": 0.5},
    "no label": {**GOOD, "label": None},
    "a label that is a text": {**GOOD, "label": "1"},
    "a label that is an array": {**GOOD, "label": np.array([1])},
    "a label that is no number": {**GOOD, "label": float("nan")},
    "a list of ids": {**GOOD, "input_ids_0": [104, 106]},
    "a text": {**GOOD, "input_ids_0": "gi"},
    "real numbers": {**GOOD, "input_ids_0": np.ones(1024)},
    "truth values": {**GOOD, "input_ids_0": np.ones(1024, bool)},
    "fewer ids": {**GOOD, "input_ids_0": np.ones(1000, np.int32)},
    "more ids": {**GOOD, "input_ids_0": np.zeros(4096, np.int32)},
    "no ids": {**GOOD, "input_ids_0": np.zeros(0, np.int32)},
    "ids in rows": {**GOOD, "input_ids_0": np.ones((1, 1024), np.int32)},
    "no padding": {**GOOD, "input_ids_0": LONG},
    "padding within": {**GOOD, "input_ids_0": np.where(np.arange(1024) == 3, 0, np.arange(1024) < 9).astype(np.int32)},
    "an id below zero": {**GOOD, "input_ids_0": -(np.arange(1024) < 9).astype(np.int32)},
    "an id above 256": {**GOOD, "input_ids_0": 257 * (np.arange(1024) < 9).astype(np.int32)},
}


@pytest.mark.some_fast(6)
@pytest.mark.parametrize("row", DAMAGED.values(), ids=DAMAGED)
def test_a_row_of_another_form_is_named_and_nothing_is_written(prepare, tmp_path, row):
    made = write_pickles(tmp_path / "x", "text", {"test": [(([98],), 1)]})
    (made / "text.train.pickle").write_bytes(pickle.dumps([pickled_row("text", ([104],), 0), row]))
    line = prepare("text", f"source={made}", "verify=false")
    assert f"{made}/text.train.pickle, row 1" in line
    assert not [path for path in (tmp_path / "data/stores/text").iterdir() if not path.name.endswith(".lock")]


def test_missing_files_and_those_of_another_task_are_named(prepare, tmp_path):
    made = write_pickles(tmp_path / "x", "text", {"train": [(([98],), 1)]})
    assert "has no text.test.pickle" in prepare("text", f"source={made}", "verify=false")
    assert "text.train.pickle is not for task=image" in prepare("image", f"source={made}/text.train.pickle")
    shutil.copy(made / "text.train.pickle", made / "mine.pickle")
    assert "mine.pickle is not for task=text" in prepare("text", f"source={made}/mine.pickle")


@pytest.mark.some_fast(1)
@pytest.mark.parametrize(
    "task, word", [("text", "protocol.text_length=1000"), ("listops", "protocol.listops_brackets=dropped")]
)
def test_a_source_with_less_serves_only_the_protocol_that_needs_no_more(prepare, tmp_path, monkeypatch, task, word):
    if task == "text":
        rows = {"train": [(([98],), k % 2) for k in range(40)], "test": [(([98],), 1)]}
    else:
        sizes = {"train": 2000, "dev": 9, "test": 9}
        rows = {split: without_brackets(drawn(count, count, 100, 400), ORDER) for split, count in sizes.items()}
    made = write_pickles(tmp_path / "x", task, rows)
    manifest, _ = prepare(task, f"source={made}", "verify=false", size="full")
    key, _, value = word.removeprefix("protocol.").partition("=")
    assert {name: str(only) for name, only in manifest["source"]["requires"].items()} == {key: value}
    with pytest.raises(UserError) as refused:
        from_config.build_datamodule(load_config("train", [f"task={task}"]))
    assert (refused.value.key, str(refused.value.right)) == (f"protocol.{key}", value)
    assert from_config.build_datamodule(load_config("train", [f"task={task}", word, "recipe.batch_size=1"]))


@pytest.mark.slow
@pytest.mark.exhaustive
def test_memory_stays_small_with_a_gigabyte(tmp_path):
    """A pickle of 1 GB: below 1 GB. Two rows many times, written without references to what was written before."""
    pair = ([byte % 256 + 1 for byte in range(4000)], [65] * 4000)
    rows = [pickled_row("retrieval", pair, label) for label in (0, 1)]
    for split, count in (("train", 15_500), ("dev", 1), ("test", 1)):
        with (tmp_path / f"retrieval.{split}.pickle").open("wb") as file:
            pickler = pickle.Pickler(file, protocol=4)
            pickler.fast = True
            pickler.dump(rows * count)
    assert (tmp_path / "retrieval.train.pickle").stat().st_size > 10**9
    words = ("prepare", "task=retrieval", f"source={tmp_path}", "verify=false")
    code, peak = code_and_peak_bytes(*words, folder=tmp_path, LRA_DATA_DIR=str(tmp_path / "data"))
    assert code == 0
    print(f"{peak / 2**20:.0f} MiB")
    assert peak < 2**30
