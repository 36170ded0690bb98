"""The heat map of a table: its order, its numbers, what is at chance, and what is not significantly below the best."""

import re
from xml.etree import ElementTree

import pytest

from lra.tables.cells import make_rows
from lra.tables.figures.heat_map import plot_heat_map
from lra.terminal.figure_style import WIDTHS
from tests.tables.records import make_record
from tests.tables.test_figures import assert_readable, drawn, texts  # noqa: F401

CHANCE = {"listops": 0.17, "text": 0.5}
MEANS = {  # by method: on listops, on text
    "nystrom": (0.60, 0.90),
    "full": (0.595, 0.70),
    "linformer": (0.16, 0.60),
    "performer": (0.30, None),
}


def heat_map(path, columns=2):
    records = [
        make_record(task, method, seed, accuracy=mean + seed / 100)
        for method, means in MEANS.items()
        for task, mean in zip(CHANCE, means, strict=True)
        if mean is not None
        for seed in range(3)
    ]
    rows = make_rows(records)
    return plot_heat_map(rows, path, tasks=tuple(CHANCE), chance=CHANCE, title="table", columns=columns)


@pytest.mark.parametrize("columns", [1, 2])
def test_a_heat_map_can_be_read_in_one_column_and_in_two(tmp_path, drawn, columns):  # noqa: F811
    heat_map(tmp_path / "a.svg", columns)
    assert drawn[-1].get_figwidth() == WIDTHS[columns]
    assert_readable(drawn[-1])
    assert {text.get_fontsize() for text in texts(drawn[-1])} == {8}


def test_methods_are_ordered_and_chance_and_the_leading_ones_are_marked(tmp_path, drawn):  # noqa: F811
    made = heat_map(tmp_path / "a.svg")
    axis = drawn[-1].axes[0]
    names = [text.get_text() for text in axis.get_yticklabels()]
    assert names == ["Nyströmformer", "Softmax attention", "Performer", "Linformer", "majority class"]
    cells = {(text.get_position()[1], text.get_position()[0]): text for text in axis.texts}
    shown = {place: text.get_text() for place, text in cells.items()}
    assert [shown[0, 0], shown[0, 1], shown[1, 0], shown[3, 1]] == ["61", "91", "60", "61"]
    assert (2, 1) not in shown, "a missing cell is empty"
    assert shown[3, 0] == "(17)"
    assert [text for (row, _), text in shown.items() if row > 3] == ["17", "50"]
    bold = {place for place, text in cells.items() if text.get_fontweight() == "bold"}
    assert bold == {(0, 0), (1, 0), (0, 1)}, "0.5 points on listops are not significant"
    assert "Bold" in made.caption
    titles = [node.text for node in ElementTree.parse(made.path).iter("{http://www.w3.org/2000/svg}title")]
    assert any(re.match("nystrom on text: 91", title or "") for title in titles)


def test_a_median_of_seeds_of_which_some_converged_is_in_italics(tmp_path, drawn):  # noqa: F811
    accuracies = {"nystrom": (0.60, 0.61, 0.62), "full": (0.17, 0.60, 0.61)}
    records = [
        make_record("listops", method, seed, accuracy=accuracy)
        for method, of_seeds in accuracies.items()
        for seed, accuracy in enumerate(of_seeds)
    ]
    rows = make_rows(records)
    made = plot_heat_map(rows, tmp_path / "a.svg", tasks=("listops",), chance=CHANCE, title="table", columns=1)
    styles = {text.get_text(): text.get_fontstyle() for text in drawn[-1].axes[0].texts}
    assert styles == {"61": "normal", "60": "italic", "17": "normal"}
    assert "Italics" in made.caption
    assert "Italics" not in heat_map(tmp_path / "b.svg").caption
