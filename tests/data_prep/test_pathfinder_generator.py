"""Our Pathfinder images against 400 of the published generator (tests/data_prep/samples)."""

import math
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import ndimage

from data_prep.pathfinder.designs import pathfinder16, pathfinder32, pathfinder128
from data_prep.pathfinder.generator import generate, generate_many, grow

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = Path(__file__).parent / "samples" / "pathfinder32_sample.npz"
STROKE, DISC = 60, 0.8  # levels above this are strokes; share of a marker's brightness that finds its centre


@pytest.fixture(scope="module")
def original() -> tuple[np.ndarray, np.ndarray]:
    with np.load(SAMPLES, allow_pickle=False) as samples:
        return samples["images"], samples["labels"]


@pytest.fixture(scope="module")
def ours() -> tuple[np.ndarray, np.ndarray]:
    made = list(generate_many(pathfinder32("hard"), 0, range(800)))
    return np.stack([image for image, _ in made]), np.array([label for _, label in made])


def components(image: np.ndarray) -> int:
    return int(ndimage.label(image > STROKE, np.ones((3, 3)))[1])


def stroke_pixels(image: np.ndarray) -> int:
    """A stroke's width shows in how much an erosion leaves of it."""
    return int(ndimage.binary_erosion(image > STROKE, np.ones((2, 2))).sum())


def marker_distance(image: np.ndarray) -> float:
    """Pixels between the two brightest discs."""
    blurred = ndimage.uniform_filter(image.astype(float), 3)
    y, x = np.unravel_index(blurred.argmax(), blurred.shape)
    blurred[max(0, y - 3) : y + 4, max(0, x - 3) : x + 4] = 0
    other = np.unravel_index(blurred.argmax(), blurred.shape)
    return float(np.hypot(y - other[0], x - other[1]))


@pytest.mark.slow
@pytest.mark.parametrize(
    "what, statistic",
    [
        ("black pixels", lambda image: (image == 0).mean()),
        ("mean level", lambda image: image.mean()),
        ("deviation of levels", lambda image: image.std()),
        ("stroke pixels", lambda image: (image > STROKE).sum()),
        ("connected components", components),
        ("stroke width", stroke_pixels),
        ("distance of the markers", marker_distance),
    ],
)
def test_a_statistic_is_that_of_the_original(original, ours, what, statistic):
    """Means within four standard errors, spreads within a quarter."""
    theirs, mine = (np.array([statistic(image) for image in images]) for images in (original[0], ours[0]))
    error = np.hypot(theirs.std() / len(theirs) ** 0.5, mine.std() / len(mine) ** 0.5)
    assert abs(theirs.mean() - mine.mean()) < 4 * error, (what, theirs.mean(), mine.mean())
    assert 0.75 < mine.std() / theirs.std() < 1.33, (what, theirs.std(), mine.std())


@pytest.mark.slow
def test_the_histogram_of_grey_levels_is_that_of_the_original(original, ours):
    """Total variation between the histograms in steps of 8; two halves of the original are .006 apart, ours .004."""
    edges = [0, 1, *range(8, 257, 8)]
    theirs, mine = (np.histogram(images, edges)[0] / images.size for images in (original[0], ours[0]))
    assert np.abs(theirs - mine).sum() / 2 < 0.01
    assert (ours[0].max((1, 2)) == 255).all()
    assert (ours[0].min((1, 2)) == 0).all()


@pytest.mark.slow
def test_a_linear_probe_does_not_find_the_label(ours):
    """Ridge regression on pixels: within three standard errors of a guess."""
    images, labels = ours
    count = len(images)
    pixels = images.reshape(count, -1) / 255 - 0.08
    half = count // 2
    train, test = pixels[:half], pixels[half:]
    weights = np.linalg.solve(train.T @ train + 10 * np.eye(1024), train.T @ (2.0 * labels[:half] - 1))
    accuracy = ((test @ weights > 0) == labels[half:]).mean()
    assert abs(accuracy - 0.5) < 3 * 0.5 / half**0.5
    assert abs(labels.mean() - 0.5) < 3 * 0.5 / count**0.5


@pytest.mark.slow
@pytest.mark.exhaustive
def test_an_image_depends_on_seed_and_number_alone():
    design = pathfinder32("hard")
    alone = [generate(design, 7, number) for number in (3, 1000)]
    many = dict(zip(range(1100), generate_many(design, 7, range(1100), workers=2), strict=True))
    for number, (image, label) in zip((3, 1000), alone, strict=True):
        assert np.array_equal(many[number][0], image)
        assert many[number][1] == label
    assert not np.array_equal(generate(design, 8, 3)[0], alone[0][0])


@pytest.mark.slow
def test_a_script_without_a_guard_is_run_once(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from data_prep.pathfinder import designs, generator\n"
        "print('script')\n"
        "generator.ALONE = 1\n"
        "print(len(list(generator.generate_many(designs.pathfinder16(), 0, range(130), workers=2))))\n"
    )
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, timeout=100, cwd=ROOT, check=False)
    assert (ran.stdout.split(), ran.stderr) == (["script", "130"], "")


@pytest.mark.slow
def test_larger_and_easier_images():
    image, label = generate(pathfinder128("hard"), 0, 0)
    assert image.shape == (128, 128)
    assert label in (0, 1)
    easy, hard = (
        np.mean([(generate(pathfinder32(difficulty), 0, k)[0] > STROKE).sum() for k in range(40)])
        for difficulty in ("easy", "hard")
    )
    assert easy < hard


def told_by_distance(design, count=200):
    """Fraction of images whose class the distance of the discs tells, at best."""
    same, other = [], []
    for number in range(count):
        _, (first, second), _ = grow(design, random.Random(number))
        same.append(math.dist(first.origin, first.tip))
        other.append(math.dist(first.origin, second.tip))
    bins = np.linspace(0, design.side, 9)
    return np.maximum(np.histogram(same, bins)[0], np.histogram(other, bins)[0]).sum() / (2 * count)


@pytest.mark.slow
def test_small_images_hold_two_contours_that_must_be_followed():
    assert told_by_distance(pathfinder16()) < told_by_distance(pathfinder32("easy")) + 0.1 < 0.75
    made = [generate(pathfinder16(), 0, number) for number in range(400)]
    images, labels = np.stack([image for image, _ in made]), [label for _, label in made]
    assert images.shape == (400, 16, 16)
    assert 0.6 < (images == 0).mean() < 0.75
    assert 160 < sum(labels) < 240
