"""Where Pathfinder's contours begin, and how many distractors come of it, at both sizes."""

import random

import numpy as np
import pytest

from data_prep.pathfinder.designs import CONTOUR_LENGTH, Design, pathfinder32, pathfinder128
from data_prep.pathfinder.field import Contour, free_area_of
from data_prep.pathfinder.generator import generate, grow
from data_prep.pathfinder.stamps import Paddle
from tests.data_prep.pathfinder_plants import any_orientation

ALL = set(range(-180, 180))
UP_LEFT = set(range(-150, -120))
COUNT = {32: 300, 128: 10}
DESIGNS = [pathfinder32("hard"), pathfinder128("hard")]


def paddle_of(design: Design, margin: int) -> Paddle:
    return Paddle(
        length=design.paddle_length,
        thickness=design.paddle_thickness,
        margin=margin,
    )


def beginnings(design: Design, margin: int) -> set[int]:
    return {degrees for degrees in ALL if free_area_of(paddle_of(design, margin), design.side).can_begin(degrees)}


def grown(design: Design, count: int) -> list[tuple[int, list[Contour], list[Contour]]]:
    """Margin, targets and distractors of many images."""
    images = [grow(design, random.Random(f"contours/{k}")) for k in range(count)]
    return [(field.paddle.margin, targets, distractors) for field, targets, distractors in images]


@pytest.fixture(scope="module", params=DESIGNS, ids=["32", "128"])
def contours(request):
    return request.param, grown(request.param, COUNT[request.param.side])


@pytest.mark.parametrize(
    "design, margin, expected",
    [(DESIGNS[0], 1, UP_LEFT), (DESIGNS[1], 2, ALL - set(range(-59, -53))), (DESIGNS[1], 3, ALL)],
)
def test_the_orientations_that_can_begin_a_contour(design, margin, expected):
    assert beginnings(design, margin) == expected


@pytest.mark.slow
@pytest.mark.exhaustive
def test_first_target_and_distractors_begin_in_these_orientations_and_the_second_target_in_any(contours):
    design, images = contours
    allowed = {margin: beginnings(design, margin) for margin in design.margins}
    assert all(targets[0].degrees in allowed[margin] for margin, targets, _ in images)
    assert all(distractor.degrees in allowed[margin] for margin, _, ours in images for distractor in ours)
    if design.side == 32:
        share = np.mean([targets[1].degrees in UP_LEFT for _, targets, _ in images])
        assert share < 0.2  # a twelfth of all orientations


@pytest.mark.slow
def test_the_number_of_distractors(contours):
    """The original's: 1.16 at 32 × 32; nearly all 8 at 128 × 128."""
    design, images = contours
    numbers = [len(distractors) for _, _, distractors in images]
    error = np.std(numbers) / len(numbers) ** 0.5
    if design.side == 32:
        assert abs(np.mean(numbers) - 1.15) < 4 * error
    else:
        assert abs(np.mean(numbers) - 7.65) < 4 * error
        assert max(numbers) == 8
    assert all(len(contour.paddles) == 4 for _, _, distractors in images for contour in distractors)


@pytest.mark.slow
def test_without_the_rule_there_are_four_times_as_many_distractors_in_all_orientations(monkeypatch):
    any_orientation(monkeypatch)
    images = grown(DESIGNS[0], 60)
    assert np.mean([len(distractors) for _, _, distractors in images]) > 4
    assert np.mean([targets[0].degrees in UP_LEFT for _, targets, _ in images]) < 0.6


@pytest.mark.slow
@pytest.mark.exhaustive
def test_path_x_looks_like_the_original():
    """100 images of the original: mean 7.92, black .862."""
    images = np.stack([generate(DESIGNS[1], 0, k)[0] for k in range(40)])
    for values, expected in ((images.mean((1, 2)), 7.92), ((images == 0).mean((1, 2)), 0.862)):
        assert abs(values.mean() - expected) < 4 * values.std() / len(values) ** 0.5 + 0.002 * expected


@pytest.mark.parametrize("make, number", [(pathfinder32, 5), (pathfinder128, 8)])
def test_easier_sets_have_shorter_distractors_and_as_many(make, number):
    designs = {name: make(name) for name in CONTOUR_LENGTH}
    assert {name: design.distractor_length for name, design in designs.items()} == {
        "easy": 2,
        "intermediate": 3,
        "hard": 4,
    }
    assert {design.num_distractors for design in designs.values()} == {number}
