"""lra show data: examples, lengths, what is masked, what a batch weighs, a contact sheet."""

from functools import partial

import numpy as np
import pytest
from PIL import Image

from lra.data.store import Split
from lra.verbs.show_data import first_token_rate


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A data folder; a task is prepared by the first test that shows it."""
    return tmp_path_factory.mktemp("data")


@pytest.fixture
def show(data, tmp_path, monkeypatch, result_of):
    monkeypatch.setenv("LRA_DATA_DIR", str(data))
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / "runs"))

    return partial(result_of, "show", "data", "size=tiny")


@pytest.mark.slow
def test_text_shows_reviews_and_where_they_are_cut(show, capsys):
    shown = show("task=text", "examples=30")
    assert {example.cut_at for example in shown.examples} == {None, 250}
    assert all(example.lengths == [250] for example in shown.examples if example.cut_at)
    assert capsys.readouterr().out.count("█") > 40, "a histogram of lengths"
    assert (shown.batch_shape, shown.batch_bytes) == ((8, 1, 256), 8 * 256 * (8 + 1) + 8 * 8), "and the labels"
    assert show("task=text", "split=dev", "protocol=clean", "examples=1").split == "dev"


@pytest.mark.slow
def test_retrieval_shows_both_documents(show):
    (example,) = show("task=retrieval", "examples=1").examples
    assert len(example.lengths) == 2
    assert [line.split(",")[0] for line in example.lines if line.startswith("document ")] == [
        "document 1",
        "document 2",
    ]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_pixels_come_as_a_contact_sheet_too(show, tmp_path):
    shown = show("task=pathfinder", "examples=1")
    assert shown.masked > 0.5, "black pixels, as in the paper's protocol"
    assert shown.sheet == tmp_path / "runs/show/pathfinder-tiny-train.png"
    with Image.open(shown.sheet) as image:
        assert min(image.size) > 500


@pytest.mark.slow
def test_black_pixels_are_not_masked_where_the_switch_says_so(show):
    assert show("task=pathfinder", "examples=0", "protocol.pixel_zero_is_padding=false").masked == 0


def test_the_accuracy_by_the_first_token_alone():
    """Train: 7 is followed by label 1 twice and by 0 once; 9 by 0. An empty sequence counts as 0."""
    tokens, offsets = np.array([7, 5, 7, 7, 9, 5, 7], np.uint8), np.array([0, 2, 3, 4, 6, 7, 7])
    sequences = np.array([[0], [1], [2], [3]])
    train = Split(tokens, offsets, sequences, np.array([1, 1, 0, 0]), first_id=0)
    test = Split(tokens, offsets, np.array([[4], [3], [0], [5]]), np.array([1, 1, 1, 0]), first_id=0)
    assert first_token_rate(train, train) == 3 / 4
    assert first_token_rate(train, test) == 3 / 4


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_third_of_short_listops_can_be_guessed_from_the_first_operator(show):
    """The documents explain the accuracy of trained models with these two numbers."""
    shown = show("task=listops", "size=short", "split=test", "examples=1")
    assert (round(shown.majority, 3), round(shown.by_first_token, 3)) == (0.157, 0.333)


@pytest.mark.exhaustive
@pytest.mark.slow
def test_more_than_a_third_of_full_listops_can_be_guessed_from_the_first_operator(show):
    shown = show("task=listops", "size=full", "split=test", "examples=1")
    assert (round(shown.majority, 3), round(shown.by_first_token, 3)) == (0.18, 0.365)
