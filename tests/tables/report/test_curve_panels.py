"""Learning curves as small panels: a line for each seed, on one scale, and nothing of a record is markup."""

import re

import pytest

from lra.tables.report.curve_panels import MOST_COLOURS, curve_panels


def curve(*accuracies):
    return {"step": [100 * (place + 1) for place in range(len(accuracies))], "accuracy": list(accuracies)}


def lines(panels):
    """The points of each line, by the moves of its path."""
    found = []
    for x, y, moves in re.findall(r'<path stroke="[^"]*" d="M(\d+) (\d+)l([^"]*)"', panels):
        points, numbers = [(int(x), int(y))], [int(number) for number in re.findall(r"-?\d+", moves)]
        for dx, dy in zip(numbers[::2], numbers[1::2], strict=True):
            points.append((points[-1][0] + dx, points[-1][1] + dy))
        found.append(points)
    return found


def test_each_seed_is_a_line_and_equal_values_are_at_equal_places():
    panels = curve_panels(
        {"full": {0: curve(0.1, 0.3, 0.2)}, "none": {0: curve(0.3), 1: curve(0.2, 0.1)}}, majority_rate=0.1
    )
    assert panels.count("<figure") == 2
    first, second = lines(panels)
    assert [y for _, y in first][::2] == [second[1][1], second[0][1]]
    assert first[0][0] == second[0][0]
    heights = [y for _, y in first]
    assert heights[1] < heights[2] < heights[0], "higher accuracies are further up"


def test_a_line_of_one_pass_is_drawn():
    assert curve_panels({"full": {0: curve(0.3)}}, majority_rate=0.1).count("<title>") == 1


def test_names_are_text():
    panels = curve_panels({"<b>": {0: curve(0.3, 0.4)}}, majority_rate=0.1)
    assert "<b>" not in panels
    assert "&lt;b&gt;" in panels


@pytest.mark.parametrize("curves", [{}, {"full": {0: {"step": [], "accuracy": []}}}])
def test_without_a_pass_there_is_nothing(curves):
    assert curve_panels(curves, majority_rate=0.1) == ""


def test_of_many_seeds_all_lines_have_one_colour():
    seeds = {seed: curve(0.3, 0.4) for seed in range(MOST_COLOURS + 1)}
    for count, colours in ((MOST_COLOURS, MOST_COLOURS), (MOST_COLOURS + 1, 1)):
        shown = curve_panels({"full": {seed: seeds[seed] for seed in range(count)}}, majority_rate=0.1)
        assert len(set(re.findall(r'stroke="([^"]*)"', shown))) == colours
