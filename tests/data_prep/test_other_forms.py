"""Forms that cannot be the benchmark say why, and what hinders no reader is read over."""

import zipfile

import pytest

from data_prep.archives import write_tar
from data_prep.image import source as image_source
from data_prep.text import source as text_source
from tests.data_prep.parquet_files import texts, write_files
from tests.data_prep.test_listops_tsv import GOOD, read, write
from tests.data_prep.test_retrieval import ROWS, folder, row

BOM = "\ufeff"


@pytest.mark.parametrize("task", ["text", "image", "listops", "retrieval", "pathfinder"])
def test_a_zip_and_a_single_table_are_refused_for_every_task(prepare, tmp_path, task):
    with zipfile.ZipFile(tmp_path / "archive", "w") as archive:
        archive.writestr("aclImdb/train/pos/0_9.txt", "good")
    assert "is a zip" in prepare(task, f"source={tmp_path}/archive", "verify=false", size="full")
    (tmp_path / "IMDB Dataset.csv").write_text("review,sentiment\ngood,positive\n")
    line = prepare(task, f"source='{tmp_path}/IMDB Dataset.csv'", "verify=false", size="full")
    assert "splits" in line
    assert "docs/your_data.md" in line


def test_texts_in_no_folder_of_a_label_are_refused(prepare, tmp_path):
    for split in ("train", "test"):
        (tmp_path / "aclImdb" / split / "unsup").mkdir(parents=True)
        (tmp_path / "aclImdb" / split / "unsup/0_0.txt").write_text("good")
    assert "without labels" in prepare("text", f"source={tmp_path}/aclImdb", "verify=false")


def test_images_without_their_labels_are_refused(prepare, tmp_path):
    (tmp_path / "train").mkdir()
    (tmp_path / "train/1.png").write_bytes(b"x")
    assert "without labels" in prepare("image", f"source={tmp_path}/train", "verify=false")
    images = tmp_path / "pathfinder32/curv_contour_length_14/imgs/0"
    images.mkdir(parents=True)
    (images / "sample_0.png").write_bytes(b"x")
    line = prepare("pathfinder", f"source={tmp_path}/pathfinder32", "verify=false", size="full")
    assert "no labels" in line
    assert "metadata/0.npy" in line


def test_a_class_without_a_training_example_is_refused(prepare, refused, tmp_path):
    files = {f"aclImdb/{split}/pos/0_9.txt": b"good" for split in ("train", "test")}
    files["aclImdb/test/neg/0_1.txt"] = b"bad"
    archive = write_tar(tmp_path / "x.tar.gz", files)
    table = texts([(b"good", 1)])
    parquet = write_files(tmp_path / "x", {"train": table, "test": texts([(b"bad", 0)])})
    for source, word in ((archive, "neg"), (parquet, "0")):  # the source's own
        error = refused("prepare", "task=text", "size=tiny", f"source={source}", "verify=false")
        assert (error.kind, error.value) == ("missing_class", [word])
        assert not (tmp_path / "data/stores/text/tiny").exists()
    few = image_source.write_stand_in(tmp_path, {"train": 27, "dev": 3, "test": 6})
    error = refused("prepare", "task=image", "size=tiny", f"source={few}", "verify=false")
    assert (error.kind, error.value) == ("missing_class", ["6", "7", "8", "9"])
    assert text_source.BENCHMARK["train"] == 25_000
    one_class = folder(tmp_path, train=row("1.0", "a", "b"))
    error = refused("prepare", "task=retrieval", "size=tiny", f"source={one_class}", "verify=false")
    assert (error.kind, error.value) == ("missing_class", ["0.0"])


@pytest.mark.parametrize("before, after", [(BOM, ""), ("", "\n"), (BOM, "\r\n\n")])
def test_a_byte_order_mark_and_blank_last_lines_are_read_over(prepare, tmp_path, before, after):
    path = write(tmp_path, GOOD)
    plain = read(path)
    path.write_text(before + path.read_text() + after)
    assert read(path) == plain
    wanted, _ = prepare("retrieval", f"source={folder(tmp_path)}", "verify=false")
    marked = {split: before + text + after for split, text in ROWS.items()}
    found, _ = prepare("retrieval", f"source={folder(tmp_path, **marked)}", "verify=false", "force=true")
    assert found["arrays"] == wanted["arrays"]


def test_a_blank_line_between_others_is_still_named(prepare, tmp_path):
    made = folder(tmp_path, dev=row("1", "a", "b") + "\n" + ROWS["dev"])
    assert "line 2: 1 columns" in prepare("retrieval", f"source={made}", "verify=false")
