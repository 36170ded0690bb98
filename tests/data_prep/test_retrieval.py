"""Retrieval as a stream: each document once, rows checked, memory that does not grow with the file."""

import pytest

from data_prep.archives import write_tar
from data_prep.retrieval import source as retrieval_source
from data_prep.retrieval.source import FILES
from tests.data_prep.peak_memory import code_and_peak_bytes

LONG = "y" * 400


def row(label: object, first: str, second: str, *more: str) -> str:
    return "\t".join([str(label), "id", "id", first, second, *more]) + "\n"


ROWS = {
    "train": row("1.0", "a", LONG) + row("0.0", LONG, "b") + row("1.0", "b", ""),
    "dev": row("0.0", "c", "a"),
    "test": row("1.0", "é", "b") + row("0.0", "a", "a"),
}


def folder(tmp_path, **changes: str):
    made = tmp_path / "tsv_data"
    made.mkdir(exist_ok=True)
    for split, text in {**ROWS, **changes}.items():
        (made / FILES[split]).write_text(text)
    return made


def test_documents_are_stored_once_and_pairs_name_them(prepare, tmp_path):
    manifest, splits = prepare("retrieval", f"source={folder(tmp_path)}", "verify=false")
    for name, text in ROWS.items():
        for i, line in enumerate(text.splitlines()):
            label, _, _, first, second = line.split("\t")
            stored, found = splits[name].example(i)
            assert [s.tobytes() for s in stored] == [first.encode()[:250], second.encode()[:250]]
            assert found == float(label)
    assert manifest["arrays"]["offsets"]["shape"] == [7], "a, LONG, b, the empty one, c, é"
    assert [manifest["splits"]["train"][f"{what}_sequences"] for what in ("cut", "empty")] == [1, 1]
    assert manifest["origin"] == "stand-in"


@pytest.mark.slow
def test_the_order_stays(prepare, tmp_path):
    rows = "".join(row(float(i % 2), f"document {i // 3}", f"document {i}") for i in range(200))
    _, splits = prepare("retrieval", f"source={folder(tmp_path, train=rows)}", "verify=false")
    assert [splits["train"].example(i)[0][1].tobytes() for i in range(200)] == [b"document %d" % i for i in range(200)]


@pytest.mark.slow
def test_the_archive_gives_the_same(prepare, tmp_path):
    wanted, _ = prepare("retrieval", f"source={folder(tmp_path)}", "verify=false")
    files = {f"lra_release/lra_release/tsv_data/{FILES[split]}": text.encode() for split, text in ROWS.items()}
    archive = write_tar(tmp_path / "lra_release.gz", files)
    packed, _ = prepare("retrieval", f"source={archive}", "verify=false", "force=true")
    assert packed["arrays"] == wanted["arrays"]


def test_the_benchmarks_counts_are_unverified_since_no_hash_is_published(prepare, tmp_path, monkeypatch):
    monkeypatch.setattr(retrieval_source, "BENCHMARK", {"train": 3, "dev": 1, "test": 2})
    assert prepare("retrieval", f"source={folder(tmp_path)}")[0]["origin"] == "unverified"


@pytest.mark.slow
@pytest.mark.parametrize(
    "split, text, line",
    [
        ("train", ROWS["train"] + "1.0\ta\tb\tc\n", "new_aan_pairs.train.tsv, line 4: 4 columns instead of 5"),
        ("train", row("0.0", "a", "b", "c"), "line 1: 6 columns instead of 5"),
        ("train", row("2.0", "a", "b"), "new_aan_pairs.train.tsv, line 1: the label is '2.0' instead of 0.0 or 1.0"),
        ("train", ROWS["train"], "has 3 train examples, the benchmark 147,086"),
    ],
)
def test_a_wrong_row_is_named_with_file_and_line(prepare, tmp_path, split, text, line):
    assert line in prepare("retrieval", f"source={folder(tmp_path, **{split: text})}")


def test_a_missing_file_is_named(prepare, tmp_path):
    made = folder(tmp_path)
    (made / FILES["dev"]).unlink()
    assert "holds no new_aan_pairs.eval.tsv" in prepare("retrieval", f"source={made}", "verify=false")


def test_nothing_to_read_says_what_to_fetch(prepare):
    line = prepare("retrieval", size="full")
    assert "lra_release.gz, 7.7 GB" in line
    assert "source=/path/to/tsv_data" in line


@pytest.mark.slow
@pytest.mark.exhaustive
def test_memory_does_not_grow_with_the_file(tmp_path):
    """2 GB of rows, every document new: below 1.5 GB."""
    made = folder(tmp_path)
    with (made / FILES["train"]).open("w") as file:
        for i in range(50_000):
            file.write(row(float(i % 2), f"{2 * i} " * 3000, f"{2 * i + 1} " * 3000))
    words = ("prepare", "task=retrieval", f"source={made}", "verify=false")
    code, peak = code_and_peak_bytes(*words, folder=tmp_path, LRA_DATA_DIR=str(tmp_path / "data"))
    assert code == 0
    assert peak < 1.5 * 2**30
