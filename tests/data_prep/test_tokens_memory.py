"""A user's file is never in memory as a whole, and its rows are those that were written, however the file has them."""

import tracemalloc

import numpy as np
import pytest

from data_prep.tokens.read_npz import read_npz
from data_prep.tokens.read_table import read_csv
from data_prep.tokens.table import check_rows, check_sizes, split_rows, with_classes, with_ids
from lra.types import TaskSpec
from tests.data_prep.peak_memory import code_and_peak_bytes
from tests.data_prep.test_tokens import SIZES, TASK

LENGTH = 1000


def some_rows(count, seed=0):
    """Rows `[N, L]` with padding, as random numbers."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(1, 9, (count, LENGTH))
    return rows * (np.arange(LENGTH) < rng.integers(LENGTH // 2, LENGTH, (count, 1)))


def read_all(table):
    """Everything that a preparation reads of a table, row by row."""
    table = with_classes(table, None)
    check_rows(table)
    numbers = split_rows(table)
    table, _ = with_ids(table, numbers["train"])
    spec = TaskSpec(name="mine", vocab_size=20, seq_len=LENGTH, num_sequences=1, num_classes=2)
    check_sizes(table, spec, {"max_length": LENGTH, "longer": "refuse"}, {})
    return [sum(map(len, table.rows.read(part.tolist()))) for part in numbers.values()]


def peak_of(read, path, scratch):
    """The smallest of three peaks: what other threads of the process allocate meanwhile is traced too."""
    peaks = []
    for turn in range(3):
        (scratch / str(turn)).mkdir(parents=True)
        tracemalloc.start()
        read_all(read(path, scratch / str(turn), {}))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    return min(peaks)


@pytest.mark.parametrize("kind", ["square", "columns first", "other byte order", "compressed", "offsets"])
def test_the_rows_are_those_of_the_file(tmp_path, kind):
    square = some_rows(7).astype(">i4" if kind == "other byte order" else np.uint16)
    rows = [np.trim_zeros(row, "b") for row in square]
    arrays = {"tokens": np.asfortranarray(square) if kind == "columns first" else square}
    if kind == "offsets":
        arrays = {"tokens": np.concatenate(rows), "offsets": np.cumsum([0, *map(len, rows)])}
    save = np.savez_compressed if kind == "compressed" else np.savez
    save(tmp_path / "my.npz", labels=np.arange(7) % 2, **arrays)
    table = read_npz(tmp_path / "my.npz", tmp_path, {})
    assert [row.tolist() for row in table.rows] == [row.tolist() for row in rows]
    assert [row.tolist() for row in table.rows.read([5, 2])] == [rows[5].tolist(), rows[2].tolist()]
    assert table.labels.tolist() == [0, 1, 0, 1, 0, 1, 0]


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_the_memory_for_an_npz_does_not_grow_with_its_rows(tmp_path, monkeypatch, dtype):
    monkeypatch.setattr("data_prep.tokens.read_npz.COPIED_BYTES", 1 << 14)
    peaks = []
    for count in (100, 600):
        np.savez_compressed(tmp_path / "my.npz", tokens=some_rows(count).astype(dtype), labels=np.arange(count) % 2)
        peaks.append(peak_of(read_npz, tmp_path / "my.npz", tmp_path / str(count)))
    assert peaks[1] - peaks[0] < 500 * 200, "bytes for each row more"


@pytest.mark.parametrize("letter", ["", "w"])
def test_the_memory_for_a_csv_does_not_grow_with_its_rows(tmp_path, letter):
    peaks = []
    for count in (50, 200):
        lines = [" ".join(f"{letter}{id}" for id in row) + f",{n % 2}" for n, row in enumerate(some_rows(count))]
        (tmp_path / "my.csv").write_text("\n".join(["tokens,label", *lines]))
        peaks.append(peak_of(read_csv, tmp_path / "my.csv", tmp_path / str(count)))
    assert peaks[1] - peaks[0] < 150 * 200, "bytes for each row more"


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_whole_preparation_needs_the_same_memory_for_10_and_for_100_mb(tmp_path):
    (tmp_path / "conf/task").mkdir(parents=True)
    sizes = {**SIZES, "vocab_size": 9, "seq_len": LENGTH, "max_length": LENGTH, "file": "null"}
    (tmp_path / "conf/task/mine.yaml").write_text(TASK.format(**sizes))
    env = {"LRA_DATA_DIR": str(tmp_path / "data"), "LRA_CONF_PATH": str(tmp_path / "conf")}
    peaks = []
    for count in (5_000, 50_000):
        path = tmp_path / f"{count}.npz"
        np.savez(
            path, tokens=np.tile(some_rows(1000).astype(np.uint16), (count // 1000, 1)), labels=np.arange(count) % 2
        )
        words = ("prepare", "task=mine", f"source={path}", "force=true")
        code, peak = code_and_peak_bytes(*words, folder=tmp_path, **env)
        assert code == 0
        peaks.append(peak)
    assert path.stat().st_size > 100e6
    assert peaks[1] < 1 << 30
    assert peaks[1] - peaks[0] < 50e6
