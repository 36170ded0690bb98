"""A source is known by what it holds: by any path to it, after it was moved; what holds other data is refused."""

import os
import shutil
from pathlib import Path

import pytest

from data_prep.image import source as image_source
from data_prep.text import source as text_source
from lra.cli import main
from tests.data_prep.test_listops_symbols import drawn
from tests.data_prep.test_pathfinder_release import release, unpacked
from tests.data_prep.test_release_for_listops import ROWS as EXPRESSIONS
from tests.data_prep.test_release_for_listops import files
from tests.data_prep.test_retrieval import folder as pairs

COUNTS = {"train": 90, "dev": 10, "test": 6}
OWN = "tokens,label,split\na b,0,train\nb,1,train\na,0,test\nb,1,test\n"
OWN_TASK = """
name: mine
spec:
  _target_: lra.types.TaskSpec
  name: mine
  vocab_size: 4
  seq_len: 8
  num_sequences: 1
  num_classes: 2
mask_zero: true
dev_split: test
codec: {_target_: lra.data.tokens.TokenCodec}
open_source: {_target_: data_prep.tokens.source.open_source, _partial_: true, file: null}
data: ${task.sizes.${size.name}}
sizes:
  full: {seq_len: 8, max_length: 8, longer: refuse}
"""


def unpack(archive: Path, place: Path) -> None:
    place.mkdir(exist_ok=True)
    shutil.unpack_archive(archive, place, filter="data")


def make(task: str, place: Path) -> Path:
    """Write a small source of a task below `place`, and return its path."""
    place.mkdir()
    if task == "text":
        unpack(text_source.write_stand_in(place, {"train": 8, "test": 4}), place)
        return place / "aclImdb"
    if task == "image":
        unpack(image_source.write_stand_in(place, COUNTS), place)
        return place / "cifar-10-batches-bin"
    if task == "listops":
        return unpacked(place, files("listops-1000", EXPRESSIONS)).parent / "listops-1000"
    if task == "retrieval":
        return pairs(place)
    unpacked(place, release())
    return place / "lra_release/lra_release/pathfinder32"


def change(task: str, source: Path) -> None:
    """Change an example, with the same number of bytes."""
    name = {
        "text": "train/pos/1_9.txt",
        "image": "data_batch_1.bin",
        "listops": "basic_val.tsv",
        "retrieval": "new_aan_pairs.eval.tsv",
        "pathfinder": "curv_contour_length_14/imgs/1/sample_3.png",
    }[task]
    content = (source / name).read_bytes()
    (source / name).write_bytes(content[:-3] + bytes([content[-3] ^ 1]) + content[-2:])


@pytest.fixture
def accepted(prepare):
    """Prepare a task, or keep the store that is there; gives the manifest and the splits."""

    def run(task: str, *words: str, size: str = "tiny"):
        made = prepare(task, *words, size=size)
        assert not isinstance(made, str), made
        return made

    return run


@pytest.mark.some_fast(2)
@pytest.mark.parametrize("task", ["text", "image", "listops", "retrieval", "pathfinder"])
def test_a_folder_is_the_same_by_any_path_and_after_a_move(accepted, refused, tmp_path, task):
    source = make(task, tmp_path / "there")
    accepted(task, f"source={source}", "verify=false")
    (tmp_path / "link").symlink_to(source)
    (tmp_path / "parent").symlink_to(source.parent)
    for path in (os.path.relpath(source), "link", f"parent/{source.name}"):
        accepted(task, f"source={path}", "verify=false")
    (tmp_path / "link").unlink()
    accepted(task, f"source={source.rename(tmp_path / 'renamed')}", "verify=false")
    change(task, tmp_path / "renamed")
    error = refused("prepare", f"task={task}", "size=tiny", f"source={tmp_path}/renamed", "verify=false")
    assert (error.kind, error.key) == ("other_data", "source")


@pytest.mark.slow
@pytest.mark.parametrize("task", ["text", "image", "pathfinder"])
def test_a_renamed_or_linked_folder_can_be_read(accepted, tmp_path, monkeypatch, task):
    source = make(task, tmp_path / "there")
    wanted, _ = accepted(task, f"source={source}", "verify=false")
    source.rename(tmp_path / "renamed")
    (tmp_path / "link").symlink_to("renamed")
    for name in ("link", "renamed"):
        again, _ = accepted(task, f"source={name}", "verify=false", "force=true")
        assert again["arrays"] == wanted["arrays"]
    monkeypatch.chdir(tmp_path / "renamed")
    again, _ = accepted(task, "source=.", "verify=false", "force=true")
    assert again["arrays"] == wanted["arrays"]
    accepted(task, f"source={tmp_path}/link", "verify=false")


def test_an_archive_is_the_same_under_another_name(accepted, refused, tmp_path):
    archive = text_source.write_stand_in(tmp_path, {"train": 8, "test": 4})
    accepted("text", f"source={archive}", "verify=false")
    accepted("text", f"source={archive.name}", "verify=false")
    moved = archive.rename(tmp_path / "reviews.tgz")
    accepted("text", f"source={moved}", "verify=false")
    text_source.write_stand_in(tmp_path, {"train": 10, "test": 4})
    error = refused("prepare", "task=text", "size=tiny", f"source={archive}", "verify=false")
    assert (error.kind, error.key, error.value) == ("other_data", "source", str(archive))


def test_a_relative_path_names_another_folder_elsewhere(accepted, refused, tmp_path, monkeypatch):
    make("listops", tmp_path / "a")
    (tmp_path / "b/listops-1000").mkdir(parents=True)
    for name, rows in {
        "basic_train.tsv": drawn(60, 5),
        "basic_val.tsv": drawn(8, 6),
        "basic_test.tsv": drawn(8, 7),
    }.items():
        lines = ["Source\tTarget", *(f"{expression}\t{value}" for expression, value in rows), ""]
        (tmp_path / "b/listops-1000" / name).write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path / "a")
    words = ["prepare", "task=listops", "size=tiny", "source=listops-1000", "verify=false"]
    assert main(words) == 0
    monkeypatch.chdir(tmp_path / "b")
    assert (refused(*words).kind, refused(*words).key) == ("other_data", "source")


def test_generated_data_are_those_of_the_word(accepted, refused):
    accepted("listops")
    accepted("listops", "source=generate")
    accepted("text")
    accepted("text", "source=stand-in")
    error = refused("prepare", "task=text", "size=tiny", "source=download")
    assert (error.kind, error.key) == ("other_data", "source")


def test_an_unchanged_file_of_ones_own_is_the_same_by_its_name(accepted, refused, tmp_path, monkeypatch):
    (tmp_path / "conf/task").mkdir(parents=True)
    (tmp_path / "conf/task/mine.yaml").write_text(OWN_TASK)
    monkeypatch.setenv("LRA_CONF_PATH", str(tmp_path / "conf"))
    (tmp_path / "elsewhere").mkdir()
    file = tmp_path / "elsewhere/mine.csv"
    file.write_text(OWN)
    accepted("mine", size="full")
    accepted("mine", "source=elsewhere/mine.csv", size="full")
    accepted("mine", f"source={file}", size="full")
    moved = file.rename(tmp_path / "mine.csv")
    for source in (f"source={moved}", "source=mine.csv", "source=auto"):
        accepted("mine", source, size="full")
    moved.write_text(OWN.replace("a b,0", "b a,0"))
    error = refused("prepare", "task=mine", "source=mine.csv")
    assert (error.kind, error.key) == ("other_data", "source")


def test_a_path_to_nothing_is_no_other_data(accepted, refused, tmp_path):
    accepted("listops")
    error = refused("prepare", "task=listops", "size=tiny", f"source={tmp_path}/nowhere")
    assert (error.kind, error.value) == ("missing_source", f"{tmp_path}/nowhere")
