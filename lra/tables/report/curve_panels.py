"""The learning curves of a task, as small panels of SVG: one for each row, a line for each seed, all on one scale.

A page holds hundreds of them: a panel is some hundred bytes, and no drawing library is called.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from markupsafe import Markup

from lra.runs.schema import DevCurve
from lra.terminal.display_names import display_name
from lra.terminal.figure_style import PALETTE
from lra.terminal.html_page import breakable

WIDTH, HEIGHT = 400, 150  # of a panel's lines, in units of its SVG; places are whole numbers
LEFT, ABOVE, BELOW = 48, 8, 24  # room for the numbers of the axes
TICKS = (1, 2, 5, 10, 20, 25, 50)  # points between two lines of the scale
MOST_TICKS = 4
MOST_COLOURS = len(PALETTE)  # with more seeds all lines have one colour
Curves = Mapping[int, DevCurve]  # by seed


def curve_panels(curves: Mapping[str, Curves], *, majority_rate: float) -> Markup:
    """Draw the dev accuracy of every seed against the step, by row; a dotted line is the majority class's rate.

    The rate, that of the test split, is a fraction in [0, 1]. Empty without a dev pass.
    """
    with_passes = {
        name: {seed: curve for seed, curve in sorted(seeds.items()) if curve["step"]} for name, seeds in curves.items()
    }
    shown = {name: seeds for name, seeds in with_passes.items() if seeds}
    every_seed = sorted({seed for seeds in shown.values() for seed in seeds})
    every_curve = [curve for seeds in shown.values() for curve in seeds.values()]
    colours = dict.fromkeys(every_seed, PALETTE[0])
    if len(every_seed) <= MOST_COLOURS:
        colours = dict(zip(every_seed, PALETTE, strict=False))
    scale = _Scale(every_curve, majority_rate)
    panels = [_panel(name, seeds, colours, scale) for name, seeds in shown.items()]
    legend = Markup(", ").join(_legend(every_seed, colours))
    if not shown:
        return Markup()
    return Markup('<p class="note">Dev accuracy (%) against the step; {}.</p><div class="panels">{}</div>').format(
        legend, Markup("").join(panels)
    )


class _Scale:
    """The scale that all panels of a task share: of steps from 0 on, of accuracies in percent around all of them."""

    def __init__(self, curves: Sequence[DevCurve], majority_rate: float):
        accuracies = [100 * accuracy for curve in curves for accuracy in curve["accuracy"]]
        self.majority = 100 * majority_rate
        self.last_step = max((curve["step"][-1] for curve in curves), default=1)
        lowest, highest = min([*accuracies, self.majority]), max([*accuracies, self.majority])
        distance = next((tick for tick in TICKS if (highest - lowest) / tick <= MOST_TICKS), TICKS[-1])
        self.low = distance * math.floor(lowest / distance)
        self.high = max(distance * math.ceil(highest / distance), self.low + distance)
        self.ticks = range(self.low, self.high + 1, distance)

    def x(self, step: int) -> int:
        """The place of a step."""
        return round(LEFT + WIDTH * step / self.last_step)

    def y(self, accuracy: float) -> int:
        """The place of an accuracy."""
        return round(ABOVE + HEIGHT * (self.high - accuracy) / (self.high - self.low))


def _panel(name: str, seeds: Curves, colours: Mapping[int, str], scale: _Scale) -> Markup:
    """Draw one row's panel, below its name."""
    right, bottom = LEFT + WIDTH, ABOVE + HEIGHT
    grid = "".join(f"M{LEFT} {scale.y(tick)}H{right}" for tick in scale.ticks)
    parts = [Markup('<path class="grid" d="{}"/>').format(grid)]
    for tick in scale.ticks:
        parts.append(Markup('<text class="of-y" x="{}" y="{}">{}</text>').format(LEFT - 6, scale.y(tick), tick))
    parts.append(Markup('<path class="majority" d="M{} {}H{}"/>').format(LEFT, scale.y(scale.majority), right))
    for seed, curve in seeds.items():
        last = f"seed {seed}: {100 * curve['accuracy'][-1]:.2f} % at step {curve['step'][-1]:,}"
        line = Markup('<path stroke="{}" d="{}"><title>{}</title></path>')
        parts.append(line.format(_variable(colours[seed]), _path(curve, scale), last))
    last_step = Markup('<text x="{}" y="{}">{}</text>').format(right, bottom + BELOW - 4, f"{scale.last_step:,}")
    box = f"0 0 {right + 4} {bottom + BELOW}"
    drawn = Markup('<svg viewBox="{}">{}{}</svg>').format(box, Markup("").join(parts), last_step)
    return Markup('<figure class="panel"><figcaption>{}</figcaption>{}</figure>').format(
        breakable(display_name(name)), drawn
    )


def _path(curve: DevCurve, scale: _Scale) -> str:
    """Write a curve as a path of whole steps from point to point, which takes the fewest letters."""
    places = [
        (scale.x(step), scale.y(100 * accuracy))
        for step, accuracy in zip(curve["step"], curve["accuracy"], strict=True)
    ]
    moves = [f"{x - from_x} {y - from_y}" for (from_x, from_y), (x, y) in pairwise(places)]
    start = "M{} {}".format(*places[0])
    return f"{start}l{' '.join(moves)}".replace(" -", "-") if moves else f"{start}h1"


def _variable(colour: str) -> str:
    """The page's variable for a colour of figures, light or dark."""
    return f"var(--c{colour.removeprefix('#')})"


def _legend(seeds: Sequence[int], colours: Mapping[int, str]) -> Iterable[Markup]:
    """Word which line is whose, in its colour."""
    yield Markup("dotted: the most frequent class of the test split")
    if len(seeds) > MOST_COLOURS:
        yield Markup("{} seeds").format(len(seeds))
        return
    for seed in seeds:
        yield Markup('<span style="color:{}">seed {}</span>').format(_variable(colours[seed]), seed)
