"""A user's table with a cell, a row or words that are too large: one line with the row, the size and the limit."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.data_prep.peak_memory import code_and_peak_bytes

MB = 1 << 20
LIMIT = 4 * MB  # of a cell in bytes, and of a row in ids
LABELS = [0, 1] * 20


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write_parquet(path: str, contents: pa.Array, **how: object) -> None:
    pq.write_table(pa.table({"text": contents, "label": ([0, 1] * len(contents))[: len(contents)]}), path, **how)


def shared_text(size: int, rows: int) -> pa.Array:
    """A text that all rows share, in a dictionary: the file has it once."""
    return pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array(["a" * size]))


def write(form: str) -> None:
    """Write a file of this name whose last row, or the one after, has a cell of LIMIT + 1."""
    many = LIMIT + 1
    texts, ids = ["abc"] * 39 + ["b" * many], np.ones((2, many), np.uint8)
    long_list = pa.array([np.ones(3, np.uint8)] * 39 + [np.ones(many, np.uint8)])
    rows = "\n".join(f"{text},{label}" for text, label in zip(texts, LABELS, strict=True))
    forms = {
        "my.csv": lambda: Path("my.csv").write_text(f"text,label\n{rows}"),
        "letters.csv": lambda: Path("letters.csv").write_text(f"text,label\n{rows}".replace("b" * many, "é" * 3 * MB)),
        "text.parquet": lambda: write_parquet("text.parquet", pa.array(texts)),
        "view.parquet": lambda: write_parquet("view.parquet", pa.array(texts, pa.string_view())),
        "shared.parquet": lambda: write_parquet("shared.parquet", shared_text(many, 256), store_schema=False),
        "dictionary.parquet": lambda: write_parquet("dictionary.parquet", shared_text(many, 256)),
        "list.parquet": lambda: write_parquet("list.parquet", long_list),
        "square.npz": lambda: np.savez_compressed("square.npz", tokens=ids, labels=[0, 1]),
        "ragged.npz": lambda: np.savez_compressed(
            "ragged.npz", tokens=ids.reshape(-1)[: many + 1], offsets=[0, 1, many + 1], labels=[0, 1]
        ),
    }
    forms[form]()


@pytest.mark.parametrize(
    "form, place",
    [
        ("my.csv", "line 41"),
        ("letters.csv", "line 41"),
        ("text.parquet", "row 39"),
        ("view.parquet", "row 39"),
        ("shared.parquet", "row 0"),
        ("dictionary.parquet", "row 0"),
        ("list.parquet", "row 39"),
        ("square.npz", "row 0"),
        ("ragged.npz", "row 1"),
    ],
)
def test_a_cell_above_the_limit_is_one_line(refused, form, place):
    write(form)
    error = refused("new", "task", "mine", f"source={form}", *(["text=text"] if form == "list.parquet" else []))
    size = 6 * MB if form == "letters.csv" else LIMIT + 1
    assert (error.kind, error.value, error.right) == ("large_cell", size, LIMIT)
    assert f"{form}, {place}:" in str(error)


@pytest.mark.parametrize("begin", ["text,label\n", "text,label\na,0\n", 'text,label\n"a\n', ""])
def test_a_row_without_an_end_is_not_read_into_memory(refused, begin):
    Path("my.csv").write_text(begin + ("a" * 1000 + ("\n" if '"' in begin else "")) * 17_000)
    error = refused("new", "task", "mine", "source=my.csv")
    assert (error.kind, error.right) == ("large_row", 4 * LIMIT)


def test_words_that_need_too_much_memory_are_one_line(refused, monkeypatch):
    monkeypatch.setattr("data_prep.tokens.collect.MOST_VOCABULARY_BYTES", 10_000)
    Path("my.csv").write_text("text,label\n" + "".join(f"a{n} b{n},{n % 2}\n" for n in range(200)))
    error = refused("new", "task", "mine", "source=my.csv", "tokens=words")
    assert (error.kind, error.key) == ("many_words", "tokens")


@pytest.mark.parametrize("form", ["my.csv", "my.npz"])
def test_too_many_labels_and_too_long_ones_are_one_line(refused, form):
    for labels, kind in (([f"x{n}" for n in range(300)], "classes"), (["a" * 2000, "b"] * 20, "wrong_label")):
        if form == "my.csv":
            Path(form).write_text("text,label\n" + "".join(f"a,{label}\n" for label in labels))
        else:
            np.savez(form, tokens=np.ones((len(labels), 2), int), labels=np.array(labels))
        assert refused("new", "task", "mine", f"source={form}").kind == kind


def test_rows_of_huge_lists_are_refused_before_they_are_read(refused):
    offsets = pa.array([0, 5 * MB, 10 * MB], pa.int64())
    lists = pa.LargeListArray.from_arrays(offsets, pa.array(np.zeros(10 * MB, np.uint8)))
    write_parquet("my.parquet", lists)
    assert refused("new", "task", "mine", "source=my.parquet", "text=text").kind == "large_rows"


@pytest.mark.parametrize("how", [{"store_schema": False}, {}], ids=["text", "dictionary"])
def test_few_rows_are_in_memory_where_they_share_a_large_text(how):
    from data_prep.parquet_columns import BATCH_BYTES, opened

    write_parquet("my.parquet", shared_text(LIMIT, 256), **how)
    count = 0
    with opened(Path("my.parquet")) as file:
        for first, (texts,) in file.batches(["text"]):
            assert first == count
            assert texts.nbytes <= BATCH_BYTES
            count += len(texts)
    assert count == 256


@pytest.mark.slow
@pytest.mark.parametrize("form, most_mib", [("shared.parquet", 500), ("my.csv", 250)])
def test_the_memory_of_a_command_stays_small(form, most_mib):
    """A parquet file of a kilobyte whose 256 rows share 8 MB, and a CSV file of rows of 16 MB."""
    if form == "shared.parquet":
        write_parquet(form, shared_text(8 * MB, 256), compression="zstd", store_schema=False)
        assert Path(form).stat().st_size < 2000
    else:
        Path(form).write_text("text,label\n" + "".join("ab " * (16 * MB // 3) + f",{n % 2}\n" for n in range(4)))
    code, peak = code_and_peak_bytes("new", "task", "mine", f"source={form}", folder=Path.cwd())
    assert code == 2
    assert peak < most_mib * MB
