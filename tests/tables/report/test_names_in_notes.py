"""Notes name rows and tasks by their display names, and words that are no names stay."""

import pytest

from lra.tables.report.names_in_notes import with_display_names

ROWS = ("full", "none", "average", "nystrom", "nystrom (num_landmarks=32)", "unknown")


@pytest.mark.parametrize(
    "note, shown",
    [
        (
            "Significantly different from nystrom: 2 of 5 (full, nystrom (num_landmarks=32)).",
            "Significantly different from Nyströmformer: 2 of 5 (Softmax attention, Nyströmformer (num_landmarks=32)).",
        ),
        (
            "Seeds that did not converge: nystrom on listops 1 of 5; none on text 3 of 3.",
            "Seeds that did not converge: Nyströmformer on ListOps 1 of 5; No mixing on Text 3 of 3.",
        ),
        (
            "not compared: listops none, full (x=1); text full",
            "not compared: ListOps No mixing, Softmax attention (x=1); Text Softmax attention",
        ),
        ("Range of full: 4", "Range of Softmax attention: 4"),
        ("average: complete rows only. time: training time", "average: complete rows only. time: training time"),
        ("of full length, size=full, without none beside it", "of full length, size=full, without none beside it"),
        (
            ": listops 2.10 / 0.40 (best full, worst unknown)",
            ": ListOps 2.10 / 0.40 (best Softmax attention, worst unknown)",
        ),
    ],
)
def test_names_are_replaced_where_they_are_names(note, shown):
    assert with_display_names(ROWS)(note) == shown
