"""Labels of a user's own file: messages name the file's own, and rows without a label are no class without a word."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from lra.cli import main

SPLITS = ["train"] * 30 + ["test"] * 10


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "data"))
    return tmp_path


def write_csv(labels: list[object], splits: list[str] | None = None) -> None:
    """Write `my.csv`; its first row is line 2."""
    columns = [[f"text {number}" for number in range(len(labels))], labels, *([splits] if splits else [])]
    lines = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    Path("my.csv").write_text("\n".join(["text,label,split" if splits else "text,label", *lines]))


@pytest.mark.parametrize(
    "labels, line, label",
    [
        ([0, 1] * 20 + [-1], 42, "-1"),
        (["good", "bad"] * 20 + [-1], 42, "-1"),
        ([0, 1] * 20 + ["NaN"], 42, "NaN"),
        ([0, "nan"] * 20, 3, "nan"),
        ([0, 1, ""] * 14, 4, ""),
        ([-1, 0, 1] * 14, 2, "-1"),
    ],
)
def test_rows_without_a_label_are_no_class_without_a_word(here, refused, labels, line, label):
    write_csv(labels)
    error = refused("new", "task", "mine", "source=my.csv")
    assert (error.kind, error.value, error.right) == ("unlabelled", label, "unlabelled=class")
    assert f"line {line}" in str(error)
    assert main(["new", "task", "mine", "source=my.csv", error.right]) == 0, "if they are meant as a class"
    full = yaml.safe_load(Path("mine/mine/conf/task/mine.yaml").read_text())["sizes"]["full"]
    assert label in map(str, full["classes"])
    assert set(map(str, full["classes"])) == set(map(str, labels))


@pytest.mark.parametrize("labels", [[-1, 1] * 20, [-1, "a"] * 20, [-2, -1, 0, 1, 2] * 10])
def test_minus_one_as_one_of_two_labels_or_beside_other_negative_ones_is_a_class(here, labels):
    write_csv(labels)
    assert main(["new", "task", "mine", "source=my.csv"]) == 0


@pytest.mark.parametrize("form", ["my.parquet", "my.npz"])
def test_other_forms_of_a_file_are_the_same(here, refused, form):
    labels = [0, 1] * 20
    if form == "my.npz":
        np.savez(form, tokens=np.ones((41, 2), int), labels=np.array([*labels, -1]))
    else:
        pq.write_table(pa.table({"text": ["a"] * 41, "label": [*labels, None]}), form)
    error = refused("new", "task", "mine", f"source={form}")
    assert (error.kind, error.value) == ("unlabelled", "-1" if form == "my.npz" else "")
    assert "row 40" in str(error)


def test_another_value_than_class_is_refused(here, refused):
    write_csv([0, 1] * 20)
    error = refused("new", "task", "mine", "source=my.csv", "unlabelled=drop")
    assert (error.key, error.value, error.right) == ("unlabelled", "drop", "class")


@pytest.mark.parametrize("labels, label", [([1, 3] * 15 + [5] * 10, "5"), (["x", "y"] * 15 + ["w"] * 10, "w")])
def test_a_label_without_a_training_example_is_named_as_in_the_file(here, refused, labels, label):
    write_csv(labels, SPLITS)
    error = refused("new", "task", "mine", "source=my.csv")
    assert (error.kind, error.value) == ("untrained", label)


def test_minus_one_in_the_test_part_alone_is_named(here, refused):
    write_csv([0, 1] * 15 + [-1] * 10, SPLITS)
    error = refused("new", "task", "mine", "source=my.csv")
    assert (error.kind, error.value) == ("unlabelled", "-1")
    error = refused("new", "task", "mine", "source=my.csv", "unlabelled=class")
    assert (error.kind, error.value) == ("untrained", "-1")


def test_a_label_that_comes_later_is_refused_where_the_data_is_prepared(here, monkeypatch, refused):
    write_csv([0, 1] * 20)
    assert main(["new", "task", "mine", "source=my.csv"]) == 0
    monkeypatch.setenv("LRA_CONF_PATH", str(here / "mine/mine/conf"))
    write_csv([0, 1] * 20 + [-1])
    error = refused("prepare", "task=mine", "size=tiny")
    assert (error.kind, error.value) == ("wrong_label", "-1")
    assert "line 42" in str(error)
