"""A user's own task from one CSV or NPZ file: what is stored of it, and one line for each way it can be wrong."""

import io
import zipfile
from pathlib import Path

import numpy as np
import pytest

from data_prep.tokens.read_table import read_csv
from data_prep.tokens.table import check_sizes, with_classes
from lra.cli import main
from lra.data.manifest import read_manifest
from lra.data.store import open_store
from lra.types import TaskSpec, UserError

TASK = """name: mine
spec:
  _target_: lra.types.TaskSpec
  name: mine
  vocab_size: {vocab_size}
  seq_len: {seq_len}
  num_sequences: 1
  num_classes: {num_classes}
mask_zero: true
dev_split: {dev_split}
codec: {{_target_: lra.data.tokens.TokenCodec}}
open_source: {{_target_: data_prep.tokens.source.open_source, _partial_: true, file: {file}}}
data: ${{task.sizes.${{size.name}}}}
sizes:
  full: {{seq_len: {seq_len}, max_length: {max_length}, longer: {longer}}}
  tiny: ${{.full}}
"""
SIZES = {"vocab_size": 4, "seq_len": 8, "max_length": 8, "num_classes": 2, "longer": "refuse", "dev_split": "own"}
WORDS = "tokens,label,split\nb a a,0,train\na a,1,train\nc b,1,dev\na d,0,test\n"
IDS = "tokens,label\n" + "".join(f"1 {1 + n % 3} 0 3,{n % 2}\n" for n in range(40))


def npz(**arrays: object) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def damaged() -> bytes:
    """A compressed file with wrong bytes in the middle of its largest array."""
    file = io.BytesIO()
    np.savez_compressed(file, tokens=np.random.default_rng(0).integers(1, 9, (200, 30)), labels=np.arange(200) % 2)
    content = bytearray(file.getvalue())
    content[200:260] = b"\xff" * 60
    return bytes(content)


@pytest.fixture
def prepare(tmp_path, monkeypatch, capsys):
    """`lra prepare task=mine source=FILE`: its exit code, and what it says."""
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("LRA_CONF_PATH", str(tmp_path / "conf"))
    monkeypatch.chdir(tmp_path)

    def run(content: str | bytes, *words: str, name: str = "my.csv", file: str = "null", **sizes: object):
        (tmp_path / "conf" / "task").mkdir(parents=True, exist_ok=True)
        (tmp_path / "conf" / "task" / "mine.yaml").write_text(TASK.format(file=file, **{**SIZES, **sizes}))
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
        code = main(["prepare", "task=mine", *(words or [f"source={name}"])])
        out, err = capsys.readouterr()
        return code, out + err

    return run


def stored(**sizes: object) -> dict[str, list[tuple[list[int], int]]]:
    """Ids and label of each example of each split."""
    chosen = {key: {**SIZES, **sizes}[key] for key in ("vocab_size", "seq_len", "num_classes")}
    splits = open_store(Path("data/stores/mine/full"), TaskSpec(name="mine", num_sequences=1, **chosen)).splits
    return {
        name: [(split.example(i)[0][0].tolist(), split.example(i)[1]) for i in range(len(split))]
        for name, split in splits.items()
    }


@pytest.mark.slow
def test_words_become_ids_by_the_training_rows_alone(prepare, capsys):
    code, said = prepare(WORDS)
    assert code == 0, said
    # 1 stands for words that training has not; then by their number: a 4 times, b once
    assert stored() == {
        "train": [([3, 2, 2], 0), ([2, 2], 1)],
        "dev": [([1, 3], 1)],
        "test": [([2, 1], 0)],
    }
    manifest = read_manifest(Path("data/stores/mine/full"))
    assert manifest["origin"] == "own"
    assert manifest["source"]["vocabulary"] == ["<unk>", "a", "b"]
    assert main(["show", "data", "task=mine", "recipe=listops", "source=my.csv", "split=test"]) == 0
    assert "a <unk>" in capsys.readouterr().out


@pytest.mark.slow
def test_a_file_without_splits_is_split_the_same_way_every_time(prepare):
    assert prepare(IDS)[0] == 0
    first = stored()
    assert {name: len(rows) for name, rows in first.items()} == {"train": 32, "dev": 4, "test": 4}
    assert {label for _, label in first["test"]} == {0, 1}
    assert first["train"][0][0][2:] == [0, 3], "an id of 0 is a hole"
    assert prepare(IDS, "source=my.csv", "force=true")[0] == 0
    assert stored() == first


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_both_forms_of_npz_are_the_same(prepare, dtype):
    rows = [[1, 0, 2], [3], [2, 2, 2, 2], [1]]
    split, labels = np.array(["train", "dev", "test", "train"]), np.array([0, 1, 0, 1], dtype)
    square = np.array([row + [0] * (5 - len(row)) for row in rows], dtype)
    assert prepare(npz(tokens=square, labels=labels, split=split), name="my.npz")[0] == 0
    first = stored()
    assert first == {"train": [(rows[0], 0), (rows[3], 1)], "dev": [(rows[1], 1)], "test": [(rows[2], 0)]}
    offsets = np.array([0, 3, 4, 8, 9])
    ragged = npz(tokens=np.concatenate(rows).astype(dtype), offsets=offsets, labels=labels, split=split)
    assert prepare(ragged, "source=my.npz", "force=true", name="my.npz")[0] == 0
    assert stored() == first


def test_longer_rows_are_cut_where_the_task_says_so(prepare):
    assert prepare(WORDS, max_length=2, seq_len=2, longer="cut")[0] == 0
    assert stored(seq_len=2)["train"][0] == ([3, 2], 0)


@pytest.mark.slow
def test_a_file_in_the_sources_folder_or_in_a_package_needs_no_source(prepare, tmp_path, monkeypatch):
    (tmp_path / "there").mkdir()
    monkeypatch.setenv("LRA_SOURCE_DIR", str(tmp_path / "there"))
    assert prepare(WORDS, "source=auto", name="there/mine.csv")[0] == 0
    (tmp_path / "bringing").mkdir()
    (tmp_path / "bringing" / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    code, said = prepare(WORDS, "source=auto", "force=true", name="bringing/x.csv", file="bringing:x.csv")
    assert code == 0, said
    assert read_manifest(Path("data/stores/mine/full"))["source"]["path"].endswith("bringing/x.csv")


def test_a_file_without_dev_rows_needs_another_dev_split(prepare, capsys):
    code, _ = prepare(WORDS.replace(",dev", ",train"), vocab_size=5)
    assert code == 0
    assert "dev" not in stored(vocab_size=5)


def test_a_file_that_has_changed_is_not_taken_for_what_was_read(prepare):
    assert prepare(WORDS)[0] == 0
    assert prepare(WORDS)[0] == 0, "the same again, though written later"
    for words in (["source=my.csv"], ["source=auto"]):
        code, said = prepare(WORDS.replace("b,1,dev", "b,0,dev"), *words)
        assert code == 2
        assert "my.csv is not what" in said
        assert "force=true" in said
    assert prepare(WORDS.replace("b,1,dev", "b,0,dev"), "source=my.csv", "force=true")[0] == 0
    Path("my.csv").unlink()
    assert main(["prepare", "task=mine"]) == 0, "a file that is gone does not matter"


def test_that_tokens_are_words_is_said(prepare):
    assert "tokens are words: 3, such as a, b" in prepare(WORDS)[1]
    assert "tokens are words" not in prepare(IDS, "source=my.csv", "force=true")[1]


def test_a_word_for_unknown_words_in_the_file_is_that_of_the_vocabulary(prepare):
    assert prepare(WORDS.replace("b a a,", "<unk> a a,"))[0] == 0
    assert stored()["train"][0] == ([1, 2, 2], 0)


def test_padding_at_the_end_of_a_row_is_not_stored(prepare):
    assert prepare("tokens,label,split\n1 0 2 0 0,0,train\n3,1,train\n3,1,test\n", max_length=3, seq_len=3)[0] == 0
    assert stored(seq_len=3) == {"train": [([1, 0, 2], 0), ([3], 1)], "test": [([3], 1)]}


@pytest.mark.parametrize(
    "sizes, settings, right",
    [
        ({}, {}, {}),
        ({"num_classes": 3}, {}, {"num_classes": 2}),
        ({"vocab_size": 7}, {}, {"vocab_size": 8}),
        ({"vocab_size": 100_000}, {}, {"vocab_size": 8}),
        ({}, {"max_length": 9}, {"max_length": 7, "seq_len": 7}),  # the model would cut it
        ({}, {"max_length": 6}, {"max_length": 7, "seq_len": 7}),
        ({}, {"max_length": 6, "longer": "cut"}, {}),
        ({"seq_len": 5}, {"max_length": 6, "longer": "cut"}, {"max_length": 6, "seq_len": 6}),
        ({}, {"max_length": None}, {"max_length": 7, "seq_len": 7}),
        ({}, {"train": 2, "test": 1, "dev": 1}, {"dev": 0}),
        (
            {"num_classes": 300, "vocab_size": 2, "num_sequences": 2},
            {"max_length": 3, "train": 9},
            {"num_sequences": 1, "num_classes": 2, "vocab_size": 8, "max_length": 7, "seq_len": 7, "train": 2},
        ),
    ],
)
def test_all_numbers_that_do_not_fit_the_file_are_told_at_once(tmp_path, sizes, settings, right):
    (tmp_path / "my.csv").write_text("tokens,label\n1 2 3 4 5 6 7,0\n1,1\n2,1\n")
    table = with_classes(read_csv(tmp_path / "my.csv", tmp_path, {}), None)
    spec = TaskSpec(**{"name": "mine", "vocab_size": 9, "seq_len": 8, "num_sequences": 1, "num_classes": 2, **sizes})
    settings = {"max_length": 8, "longer": "refuse", **settings}
    if not right:
        check_sizes(table, spec, settings, {"train": 2, "test": 1})
        return
    with pytest.raises(UserError) as error:
        check_sizes(table, spec, settings, {"train": 2, "test": 1})
    assert (error.value.kind, error.value.right) == ("wrong_sizes", right)
    assert "\n" not in str(error.value)


def with_member(content: bytes) -> bytes:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("tokens.npy", content)
    return written.getvalue()


OBJECTS = npz(tokens=np.array([[1, "a"]], object), labels=np.array([0]))
ROWS = "tokens,label,split\n1 2,0,train\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    "content, sizes, line",
    [
        (WORDS, {"vocab_size": 3}, "vocab_size: 3, but my.csv, line 2 has id 3; write vocab_size: 4"),
        (WORDS, {"num_classes": 3}, "num_classes: 3, but my.csv, line 3 has label 1; write num_classes: 2"),
        (WORDS.replace("b,1", "b,2"), {}, "num_classes: 2, but my.csv, line 4 has label 2; write num_classes: 3"),
        (WORDS.replace("b,1", "b,2"), {"num_classes": 3}, "label '2' has no training example"),
        (
            WORDS.replace("a a,1", "a a,3").replace("b,1", "b,3"),
            {"num_classes": 4},
            "label '1' has no training example",
        ),
        (WORDS, {"max_length": 2}, "line 2 has length 3; write max_length: 3, seq_len: 3 (or longer: cut)"),
        (WORDS, {"seq_len": 2}, "task.data.max_length=8 is more than task.data.seq_len=2"),
        (WORDS, {"longer": "x"}, "task.data.longer=x is not known; write longer: refuse, or cut"),
        (ROWS + "1,-1,test\n", {}, "line 3: label '-1'; labels are whole numbers from 0 on"),
        (ROWS + "1,good,test\n", {}, "line 3: label 'good'"),
        (ROWS + "1,1,tests\n", {}, "line 3: split 'tests' is not known; it may be train, dev, test"),
        (ROWS + ",1,test\n", {}, "line 3: no tokens"),
        (ROWS + "1,1\n", {}, "line 3: split '' is not known"),
        (ROWS + "1,1,test,2\n", {}, "line 3: 4 cells instead of 3"),
        (ROWS, {}, "no row of its 1 is for test"),
        ("tokens,label\n1,0\n2,1\n", {}, "no row of its 2 is for dev; name the split of each row"),
        ("tokens,label\n", {}, "has no row"),
        ("", {}, "no column tokens and no label; it is empty"),
        ("text,label\na,0\n", {}, "no column tokens; its columns, separated by commas, are: text, label"),
        ("tokens,label,id\na,0,1\n", {}, "line 1: column 'id' is not known"),
        (b"tokens,label\n\xff\xfe,0\n", {}, "cannot be read as CSV in UTF-8"),
        (ROWS + "1 -2 3,1,test\n", {}, "line 3: '-2' is no id; ids are whole numbers from 0 to 999999999"),
        (ROWS + "70000,1,test\n", {}, "line 3 has id 70000; vocab_size may be at most 65536"),
        (ROWS + "1,300,test\n", {"num_classes": 300}, "line 3 has label 300; num_classes may be at most 256"),
        (ROWS + "0 0,1,test\n", {}, "line 3: no tokens"),
        (ROWS + '" a,1,test\n" b,1,test\n', {}, "cannot be read as CSV in UTF-8"),
    ],
)
def test_a_wrong_csv_is_one_line(prepare, content, sizes, line):
    code, said = prepare(content, **sizes)
    assert code == 2
    assert line in said
    assert "not foreseen" not in said
    assert not Path("data/stores/mine/full").exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "content, line",
    [
        (b"PK\x03\x04 broken", "cannot be read as NPZ"),
        (b"", "cannot be read as NPZ"),
        (with_member(b""), "tokens is no array"),
        (with_member(b"\x93NUMPY\x01\x00\x08\x00{'a': (\n"), "cannot be read as NPZ"),
        (damaged(), "cannot be read as NPZ"),
        (OBJECTS, "cannot be read as NPZ"),
        (npz(tokens=np.ones((2, 3), int)), "has no array labels; it has tokens"),
        (npz(tokens=np.ones((2, 3)), labels=np.array([0, 1])), "tokens holds float64, not whole numbers"),
        (npz(tokens=np.ones((3, 3), int), labels=np.array([0, 1])), "tokens has shape [3, 3]; it must be [2, L]"),
        (npz(tokens=-np.ones((40, 3), int), labels=np.arange(40) % 2), "row 0: id -1; ids are whole numbers from 0 to"),
        (npz(tokens=np.zeros((2, 3), int), labels=np.array([0, 1])), "row 0: no tokens"),
        (npz(tokens=np.ones(3, int), offsets=np.array([0, 4]), labels=np.array([0])), "rising from 0 to the number"),
        (npz(tokens=np.ones((1, 3), int), labels=np.array([0]), split=np.array([1])), "split is int64 [1]"),
        (npz(tokens=np.ones((1, 3), int), labels=np.array([0]), extra=np.array([1])), "array 'extra' is not known"),
    ],
)
def test_a_wrong_npz_is_one_line(prepare, content, line):
    code, said = prepare(content, name="my.npz")
    assert code == 2
    assert line in said
    assert "not foreseen" not in said


@pytest.mark.slow
@pytest.mark.parametrize(
    "words, line",
    [
        (["source=nowhere.csv"], "source=nowhere.csv is not there; type source=FILE"),
        (["source=my.txt"], "source=my.txt is no .csv, .npz, .parquet file, and no folder"),
        (["source=conf"], "conf/task/mine.yaml is no PNG file"),
        (["source=generate"], "source=generate is not known for task=mine"),
        (["source=auto"], "task=mine needs its file; type source=FILE, such as source=my.csv, or put it to"),
        (["source=auto", "size=tiny"], "task=mine needs its file"),
    ],
)
def test_a_wrong_source_is_one_line(prepare, words, line):
    code, said = prepare(WORDS, *words, name="my.txt")
    assert code == 2
    assert line in said


def test_a_package_that_is_not_there_is_one_line(prepare):
    code, said = prepare(WORDS, "source=auto", file="no_such_package:x.csv")
    assert code == 2
    assert "file: no_such_package:x.csv is no package:folder/file.csv of a package that is installed here" in said
