"""Arguments of the published generator (drewlinsley/pathfinder, Tay et al. 2021): the benchmark's, and smaller ones."""

from dataclasses import dataclass, replace

CONTOUR_LENGTH = {"easy": 6, "intermediate": 9, "hard": 14}  # folders curv_baseline, curv_contour_length_9 and _14
# The published script shortens the distractors of easier sets, but uses the hard set's number of distractors.
DISTRACTOR_LENGTH = {name: length // 3 for name, length in CONTOUR_LENGTH.items()}


@dataclass(frozen=True, kw_only=True)
class Design:
    """The published generator's arguments.

    Attributes:
        side: side of an image, in pixels.
        contour_length: number of paddles of a target contour. A paddle is one dash of a contour.
        distractor_length: number of paddles of a distractor, which is a short contour.
        num_distractors: number of distractors that are tried.
        paddle_length, paddle_thickness: see `Paddle`.
        margins: possible margins of a paddle; one is drawn for each image.
        seed_distance: distance between the first paddles of the two target contours, in pixels.
        marker_radius: radius of the two discs, in pixels.
        continuity: factor on the angle of a turn, whose weight is cos²; 1 allows turns of up to 90 degrees.
        contour_brightness, distractor_brightness: brightness before scaling; a disc has 1.
    """

    side: int
    contour_length: int
    distractor_length: int
    num_distractors: int
    paddle_length: int
    paddle_thickness: float
    margins: tuple[int, ...]
    seed_distance: int
    marker_radius: float
    continuity: float
    contour_brightness: float
    distractor_brightness: float


def pathfinder16() -> Design:
    """Images of 16 × 16 pixels, ours: what has room there, two contours of three paddles and no distractor.

    Contours are straighter than in the benchmark's small images, as in its large ones.
    """
    return replace(
        pathfinder32("easy"),
        side=16,
        contour_length=3,
        num_distractors=0,
        seed_distance=3,
        marker_radius=1.0,
        continuity=1.8,
    )


def pathfinder32(difficulty: str) -> Design:
    """Build the design of images of 32 × 32 pixels; `difficulty` is a key of CONTOUR_LENGTH."""
    return Design(
        side=32,
        contour_length=CONTOUR_LENGTH[difficulty],
        distractor_length=DISTRACTOR_LENGTH[difficulty],
        num_distractors=20 // DISTRACTOR_LENGTH["hard"],
        paddle_length=2,
        paddle_thickness=0.5,
        margins=(1,),
        seed_distance=7,
        marker_radius=1.5,
        continuity=1.0,
        contour_brightness=2 * 0.75,
        distractor_brightness=2,
    )


def pathfinder128(difficulty: str) -> Design:
    """Build the design of images of 128 × 128 pixels; `difficulty` is a key of CONTOUR_LENGTH."""
    return replace(
        pathfinder32(difficulty),
        side=128,
        num_distractors=35 // DISTRACTOR_LENGTH["hard"],
        paddle_length=5,
        paddle_thickness=1.5,
        margins=(2, 3),
        seed_distance=20,
        marker_radius=3,
        continuity=1.8,
        contour_brightness=0.9,
        distractor_brightness=0.9,
    )
