"""Figures that can be read: no text lies on another, numbers grow from left to right, no claim of a single seed."""

import re
from dataclasses import replace
from functools import partial
from itertools import combinations, pairwise, product
from xml.etree import ElementTree

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from matplotlib.transforms import Bbox
from PIL import Image

from docs.blocks.published import records as published
from lra.runs.schema import Record
from lra.tables.attention_sweep import LANDMARKS, WINDOW, sweep_points
from lra.tables.cells import TableCell
from lra.tables.comparison import contenders
from lra.tables.figures.attention_sweep import plot_sweep
from lra.tables.figures.comparison import plot_pareto
from lra.tables.figures.dev_curves import MOST_SEEDS, plot_curves
from lra.terminal.display_names import display_name
from lra.terminal.figure_names import MOST_NAMED, choose_named, number_covered, short_name, sides_of
from lra.terminal.figure_style import (
    DPI,
    GREY,
    INK,
    OF_METHOD,
    PALETTE,
    QUIET,
    TYPE,
    WIDTHS,
    caption_in,
    hover,
    looks_of,
    save_figure,
    svg_of,
)
from lra.terminal.html_page import Part, Section, compact_svg, page_figure, write_page
from lra.verbs.train_figure import learning_curve
from tests.tables.records import make_record, with_setting
from tests.tables.test_attention_sweep import window

NAMES = ("nystrom (num_landmarks=64, recipe.optimizer.lr=0.0003)", "full", "linformer", "performer", "reformer")


@pytest.fixture
def drawn(monkeypatch):
    """The figure that was saved last, with the places of its texts as they were then."""
    figures: list[Figure] = []
    save = Figure.savefig

    def keep(figure, *words, **named):
        save(figure, *words, **named)
        figures.append(figure)

    monkeypatch.setattr(Figure, "savefig", keep)
    return figures


def texts(figure: Figure) -> list[Text]:
    """The texts that a reader sees: labels of ticks outside an axis are not among them."""
    FigureCanvasAgg(figure).draw()  # a figure that is closed has lost its own canvas
    shown = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text().strip()]
    ticks = {
        tick.label1: (axis, tick)
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis)
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks())
    }
    inside = {
        label
        for label, (axis, tick) in ticks.items()
        if min(axis.get_view_interval()) <= tick.get_loc() <= max(axis.get_view_interval())
    }
    return [text for text in shown if text not in ticks or text in inside]


def assert_readable(figure: Figure) -> None:
    inner = -2 * figure.dpi / 100
    for one, other in combinations(texts(figure), 2):
        apart = not one.get_window_extent().padded(inner).overlaps(other.get_window_extent().padded(inner))
        assert apart, f"{one.get_text()!r} lies on {other.get_text()!r}"
    for text in texts(figure):
        box, page = text.get_window_extent(), figure.bbox
        assert box.x0 >= -2, f"{text.get_text()!r} is cut"
        assert box.x1 <= page.x1 + 2, f"{text.get_text()!r} is cut"


def assert_no_legend_covers_an_axis(figure: Figure) -> None:
    FigureCanvasAgg(figure).draw()
    legends = [*figure.legends, *filter(None, (axis.get_legend() for axis in figure.axes))]
    assert legends
    for legend, axis in product(legends, figure.axes):
        assert not legend.get_window_extent().overlaps(axis.get_window_extent())
    for legend in legends:
        assert legend.get_window_extent().height <= figure.bbox.height, "cut"


@pytest.mark.filterwarnings("error")
@pytest.mark.slow
def test_nothing_overlaps_or_warns_however_many_rows(tmp_path, drawn):
    rates = [
        with_setting(make_record(num_landmarks=8 + place % 3), "recipe.optimizer.lr", place) for place in range(1, 31)
    ]
    plot_sweep(sweep_points(rates, LANDMARKS), LANDMARKS, tmp_path / "a.svg", title="listops", majority_rate=0.17)
    plot_pareto(contenders(rates), tmp_path / "b.svg", title="listops", majority_rate=0.17)
    row = {"step": 1, "train/loss": 1.0, "train/accuracy": 0.2, "dev/loss": 1.0, "dev/accuracy": 0.2}
    learning_curve([row], tmp_path / "c.png", title="listops", majority_rate=0.17, paper_accuracy=37.15)
    for figure in drawn:
        assert_readable(figure)
    assert_no_legend_covers_an_axis(drawn[-1])


def named_in(figure: Figure) -> list[str]:
    """The names beside points and lines, without what follows in a second line."""
    return [text.get_text().split("\n")[0] for axis in figure.axes for text in axis.texts]


def compared(seeds: int, gap: float = 0.0, *, slowest: float = 2.0):
    """Five variants of nearly the same cost; each is more accurate than the one before by `gap`, and slower."""
    records = []
    for place, name in enumerate(("full", "linformer", "nystrom", "performer", "reformer")):
        for seed in range(seeds):
            record = make_record(attention=name, seed=seed, accuracy=0.36 + place * gap + (seed + place % 2) / 1000)
            record["cost"]["steps_per_second"] = 1 / (0.3 * slowest ** (place / 4))
            records.append(record)
    return contenders(records)


def test_every_variant_has_a_panel_and_every_seed_a_colour(tmp_path, drawn):
    curve = {"step": [1, 2], "accuracy": [0.2, 0.3]}
    curves = {"full": {1: curve}, "nystrom": {seed: curve for seed in range(3)}, "none": {0: curve, 2: curve}}
    plot_curves(curves, tmp_path / "a.svg", title="listops", majority_rate=0.17)
    panels = {
        axis.get_title(): {str(line.get_label()): line.get_color() for line in axis.lines if "seed" in line.get_label()}
        for axis in drawn[-1].axes
    }
    assert {name: set(seeds) for name, seeds in panels.items()} == {
        display_name(name): {f"seed {seed}" for seed in seeds} for name, seeds in curves.items()
    }
    assert panels["Nyströmformer"] == panels["Softmax attention"] | panels["No mixing"]
    assert len(set(panels["Nyströmformer"].values())) == 3
    assert_readable(drawn[-1])


@pytest.mark.slow
def test_each_mark_has_its_name_beside_it_or_all_have_a_legend(tmp_path, drawn):
    plot_pareto(compared(1, 0.02), tmp_path / "a.svg", title="listops", majority_rate=0.17)
    methods = {"Softmax attention", "Linformer", "Nyströmformer", "Performer", "Reformer"}
    assert methods <= set(named_in(drawn[-1]))
    assert not drawn[-1].legends
    rates = [make_record(num_landmarks=count) for count in range(1, 9)]  # all at the same place
    crowd = contenders([with_setting(each, "recipe.optimizer.lr", place) for place, each in enumerate(rates, 1)])
    plot_pareto(crowd, tmp_path / "b.svg", title="listops", majority_rate=0.17, columns=1)
    (legend,) = drawn[-1].legends
    assert len(legend.get_texts()) == len(crowd)
    assert "Nyströmformer" not in named_in(drawn[-1])


def test_of_many_names_eight_are_shown_and_the_others_are_grey_and_in_the_caption(tmp_path, drawn):
    names = [f"method{number}" for number in range(12)]
    assert choose_named(names[:8], first=["method3"]) == names[:8]
    chosen = choose_named(names, first=["method11", "unknown"], best=names[4:])
    assert chosen == [*names[4:11], "method11"]
    many = contenders([make_record(attention="nystrom", num_landmarks=count) for count in range(1, 13)])
    made = plot_pareto(many, tmp_path / "a.svg", title="listops", majority_rate=0.17)
    grey = [line for line in drawn[-1].axes[0].lines if line.get_marker() == "o" and line.get_color() == GREY]
    assert len(grey) == len(many) - MOST_NAMED
    assert made.caption.count("num_landmarks=") == len(grey)


def test_no_two_names_look_the_same_in_colour_and_in_grey():
    names = ["nystrom (num_landmarks=32)", "nystrom (num_landmarks=64)", "full", "mine", "full math", "a", "b", "c"]
    looks = looks_of(names)
    assert set(looks) == set(names)
    assert len({look.colour for look in looks.values()}) == len({look.marker for look in looks.values()}) == 8
    assert looks["full"] == OF_METHOD["full"]
    assert looks_of([*OF_METHOD, "mine"]) | OF_METHOD == looks_of([*OF_METHOD, "mine"]), "a method has one look"


def test_a_label_has_the_display_name_and_the_last_parts_of_keys():
    assert (
        short_name("nystrom (num_landmarks=8, recipe.optimizer.lr=1e-05)") == "Nyströmformer\nnum_landmarks=8, lr=1e-05"
    )
    assert short_name("mine") == "mine"


def relative_luminance(colour: str) -> float:
    channels = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in channels)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted(map(relative_luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def test_every_colour_of_text_has_a_contrast_of_4_5_in_both_themes(tmp_path):
    page = write_page(tmp_path / "page.html", title="T", subtitle="s", sections=[], problems=[]).read_text()
    themes = {name: pair for name, *pair in re.findall(r"--([\w]+): light-dark\((#\w{6}), (#\w{6})\)", page)}
    grounds = [themes.pop(name) for name in ("ground", "soft", "chosen")]
    del themes["line"], themes[f"c{GREY[1:]}"]  # no text
    assert {"ink", "quiet", "good", "bad", "link", "warning"} < themes.keys()
    assert {
        f"c{colour[1:]}" for colour in (*PALETTE, *(look.colour for look in OF_METHOD.values()), QUIET)
    } < themes.keys()
    low = {
        (name, theme, ground[theme]): round(contrast(pair[theme], ground[theme]), 2)
        for name, pair in themes.items()
        for ground in grounds
        for theme in (0, 1)
        if contrast(pair[theme], ground[theme]) < 4.5
    }
    assert not low
    assert page.count("light-dark(") == len(themes) + len(grounds) + 2, "a colour outside the list is not tested"
    assert contrast("#ffffff", "#000000") == pytest.approx(21)


@pytest.mark.parametrize("columns", [1, 2])
def test_a_png_has_a_pdf_and_an_svg_beside_it_of_a_papers_width(tmp_path, drawn, columns):
    for number in range(2):
        made = plot_pareto(
            compared(3, 0.05), tmp_path / f"{number}.png", title="listops", majority_rate=0.17, columns=columns
        )
    assert {path.name for path in tmp_path.glob("0.*")} == {"0.pdf", "0.png", "0.svg"}
    for end in ("pdf", "png", "svg"):
        assert (tmp_path / f"0.{end}").read_bytes() == (tmp_path / f"1.{end}").read_bytes(), "the same numbers"
    assert drawn[-1].get_figwidth() == WIDTHS[columns]
    assert WIDTHS == {1: 3.3, 2: 6.9}
    assert {text.get_fontsize() for text in texts(drawn[-1])} == {TYPE} == {8}
    with Image.open(made.path) as picture:
        assert picture.width == round(DPI * WIDTHS[columns]) == round(300 * WIDTHS[columns])
    assert caption_in(made.path) == made.caption
    assert not drawn[-1].get_suptitle(), "a caption stands below a figure, not in it"


def test_a_large_png_is_made_small(tmp_path):
    figure = plt.figure(figsize=(6.9, 5))
    figure.add_subplot().imshow(np.random.default_rng(0).random((60, 60)), interpolation="bicubic")
    path = save_figure(figure, tmp_path / "a.png", caption="noise ‖Ŝ‖").path
    assert path.stat().st_size < 600_000
    assert caption_in(path) == "noise ‖Ŝ‖"


def test_an_svg_shows_values_under_the_pointer(tmp_path):
    path = plot_pareto(compared(3), tmp_path / "a.svg", title="listops", majority_rate=0.17).path
    titles = [node.text for node in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == 5
    assert titles[0].startswith("Softmax attention: 36.10 ± 0.10 (3) %, 0.300 s/step, 1,024 MiB")


IDS = r'(?: id="|href="#|url\(#)([mp][0-9a-f]{10})\b'
SHORT_IDS = r'(?: id="|href="#|url\(#)(p\d+)'
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def places(text):
    """The numbers of all paths, and the places of all marks, in their order."""
    drawn = re.findall(r'\b(?:d|x|y)="([^"]*)"', text)
    return [float(number) for place in drawn for number in NUMBER.findall(place)]


def test_a_pages_figure_is_a_shorter_text_of_the_same_picture(tmp_path):
    with plt.rc_context({"svg.fonttype": "none"}):  # as on a page
        path = plot_pareto(compared(3), tmp_path / "a.svg", title="listops", majority_rate=0.17).path
    long = path.read_text("utf-8")
    short = compact_svg(long[long.index("<svg") :])
    assert len(short) < 0.6 * len(long)
    assert places(short) == pytest.approx(places(long[long.index("</metadata>") :]), abs=0.0051)
    for tag in ("use", "path", "text", "title"):
        assert short.count(f"<{tag}") == long.count(f"<{tag}")
    assert re.findall(">([^<>]+)</text>", short) == re.findall(">([^<>]+)</text>", long)
    ElementTree.fromstring(short)
    lines = re.findall(r'<path d="[^"]*"( clip-path="[^"]*")? style="[^"]*stroke: #b0b0b0', short)
    assert len(lines) > 2
    assert not any(lines), "a line of the grid ends at the axes"


def test_equal_styles_and_ids_stand_once_on_a_page(tmp_path):
    drawings = [partial(plot_pareto, compared(count), title="listops", majority_rate=0.17) for count in (3, 4)]
    figures = {str(number): page_figure(draw) for number, draw in enumerate(drawings)}
    part = Part(name="listops", figures=figures)
    page = write_page(
        tmp_path / "page.html", title="T", subtitle="s", sections=[Section(name="A", parts=[part])], problems=[]
    )
    text = page.read_text("utf-8")
    styles = dict(re.findall(r"^\.(s\d+)\{(.*)\}$", text, re.MULTILINE))
    assert len(set(styles.values())) == len(styles)
    for shown, figure in zip(re.findall("<svg.*?</svg>", text, re.DOTALL), figures.values(), strict=True):
        names = dict(zip(re.findall(SHORT_IDS, shown), re.findall(IDS, figure.svg), strict=True))
        assert len(set(names.values())) == len(names)
        styled = re.sub(r' class="(s\d+)"', lambda found: f' style="{styles[found[1]]}"', shown)
        restored = re.sub(r'(?<=["(#])p\d+\b', lambda found, names=names: names[found.group()], styled)
        assert restored == figure.svg.strip()


def test_the_style_of_equal_marks_is_that_of_their_group_unless_it_has_an_opacity():
    marks = '<svg><g clip-path="url(#a)"><use x="1" style="{0}"/><use x="2" style="{1}"/></g></svg>'
    assert compact_svg(marks.format("fill: red", "fill: red")).count("style=") == 1
    for styles in (("fill: red", "fill: blue"), ("opacity: 0.5", "opacity: 0.5")):
        assert compact_svg(marks.format(*styles)) == marks.format(*styles)


def test_names_are_placed_as_by_the_boxes_of_matplotlib():
    rng = np.random.default_rng(0)
    boxes = [Bbox(rng.integers(0, 8, (2, 2))) for _ in range(50)]
    for box in (Bbox.from_bounds(*rng.integers(1, 5, 4)) for _ in range(20)):
        assert number_covered(box, sides_of(boxes)) == sum(map(box.overlaps, boxes))
    assert number_covered(boxes[0], sides_of([])) == 0


def test_a_pages_figure_has_the_colours_of_the_page_and_fits_it():
    made = page_figure(partial(plot_pareto, compared(3), title="listops", majority_rate=0.17))
    text = made.svg
    assert not re.search("|".join((INK, *PALETTE)), text)
    assert f"var(--c{OF_METHOD['linformer'].colour[1:]})" in text
    assert re.match(r'<svg [^>]*width="56\.6rem"', made.svg)
    assert "ListOps" in made.caption


def test_a_name_is_text_in_an_svg_whatever_it_holds(tmp_path):
    figure = plt.figure()
    (line,) = figure.add_subplot().plot([1, 2])
    hover(line, '<script>"&]]>\n')
    text = svg_of(figure)
    plt.close(figure)
    titles = [node.text for node in ElementTree.fromstring(text.encode()).iter("{http://www.w3.org/2000/svg}title")]
    assert titles == ['<script>"&]]>\\n']


@pytest.mark.some_fast(1)
@pytest.mark.parametrize("slowest", [1.02, 2.0, 40.0])
def test_a_comparison_of_neighbours_can_be_read(tmp_path, drawn, slowest):
    plot_pareto(compared(1, slowest=slowest), tmp_path / "a.svg", title="listops", majority_rate=0.17)
    assert_readable(drawn[-1])
    axis = drawn[-1].axes[0]
    assert len([text for text in texts(drawn[-1]) if text in axis.get_xticklabels(which="both")]) > 1


@pytest.mark.slow
@pytest.mark.parametrize("task", ["listops", "image", "pathfinder", "text"])
def test_published_comparisons_can_be_read_in_one_column(task, tmp_path, drawn):
    records = [each for each in published("short_table") if each.task == task]
    plot_pareto(contenders(records), tmp_path / "a.svg", title=task, majority_rate=0.1, columns=1)
    assert_readable(drawn[-1])
    (axis,) = drawn[-1].axes
    names = sides_of([text.get_window_extent().padded(-1) for text in axis.texts])
    leaders = [line.get_xydata() for line in axis.lines if (line.get_color(), line.get_linewidth()) == (QUIET, 0.5)]
    for leader in map(axis.transData.transform, leaders):
        before_its_name = np.linspace(*leader, 50)[:-10]
        assert not any(number_covered(Bbox([place, place]), names) for place in before_its_name)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [1, 2])
@pytest.mark.parametrize("most", [300, 800, 62_400])
def test_curves_of_many_variants_with_long_names_can_be_read(most, columns, tmp_path, drawn):
    curve = {"step": [most // 10, most // 2, most], "accuracy": [0.2, 0.3, 0.4]}
    curves = {f"{name} {n}": {0: curve} for name in NAMES for n in range(2)}
    plot_curves(curves, tmp_path / "a.svg", title="x", majority_rate=0.1, columns=columns)
    assert_readable(drawn[-1])
    for axis in drawn[-1].axes[:2]:
        assert len([tick for tick in axis.get_xticks() if axis.get_xlim()[0] <= tick <= axis.get_xlim()[1]]) > 1


@pytest.mark.slow
def test_a_front_is_drawn_of_what_noise_tells_apart(tmp_path, drawn):
    said = []
    for seeds, gap in ((1, 0.05), (3, 0.05), (3, -0.05)):  # in the last the fastest is the best
        made = plot_pareto(compared(seeds, gap), tmp_path / "a.svg", title="listops", majority_rate=0.17)
        said.append(made.caption)
    assert ["Pareto" in words for words in said] == [False, True, False]


def test_the_seeds_of_a_mean_are_shown_unless_it_has_one(tmp_path, drawn):
    for seeds in (1, 3):
        variants = compared(seeds)
        plot_pareto(variants, tmp_path / "a.svg", title="listops", majority_rate=0.17)
        drawn_seeds = [line.get_ydata() for line in drawn[-1].axes[0].lines if line.get_marker() == "."]
        assert [len(heights) for heights in drawn_seeds] == [3] * 5 * (seeds > 1)
    assert list(drawn_seeds[0]) == sorted(variants[0].cell.accuracies)


def swept(counts, seeds):
    records = []
    for count, many in zip(counts, seeds, strict=True):
        for seed in range(many):
            record = make_record(seed=seed, accuracy=0.36 + seed / 100, num_landmarks=count)
            record["approximation"] = {"pinv_residual": 0.1 / count, "attention_error": 1 / count}
            records.append(record)
    return sweep_points([*records, make_record(attention="full")], LANDMARKS)


@pytest.mark.slow
@pytest.mark.parametrize("counts", [(16, 32, 64, 128, 256, 512), (60, 64, 68), (8, 100, 101, 4096)])
def test_landmarks_grow_from_left_to_right_and_their_numbers_do_not_collide(tmp_path, drawn, counts):
    plot_sweep(swept(counts, [1] * len(counts)), LANDMARKS, tmp_path / "a.svg", title="listops", majority_rate=0.17)
    assert_readable(drawn[-1])
    for axis in drawn[-1].axes[3:]:  # the lower row
        texts_of_ticks = [text.get_text() for text in axis.get_xticklabels() if text.get_text()]
        ticks = [1024 * float(text[:-1]) if text.endswith("k") else float(text) for text in texts_of_ticks]
        assert len(ticks) > 1
        assert set(ticks) <= set(counts)
        assert all(low < high for low, high in pairwise(ticks))


@pytest.mark.slow
def test_a_landmark_with_one_seed_has_no_spread(tmp_path, drawn):
    plot_sweep(swept((16, 32, 64), (3, 1, 2)), LANDMARKS, tmp_path / "a.svg", title="listops", majority_rate=0.17)
    accuracy, *_, errors = drawn[-1].axes
    seeds = [list(line.get_xdata()) for line in accuracy.lines if line.get_markerfacecolor() == "none"]
    assert seeds == [[16] * 3, [64] * 2]
    for bars in errors.collections:
        assert sum(segment.size > 0 and bool((segment == segment).all()) for segment in bars.get_segments()) == 2


def test_a_count_without_an_error_has_no_dot_among_the_errors(tmp_path, drawn):
    first, *others = swept((16, 32, 64), (1, 1, 1))
    (record,) = first.cell.records
    without = Record({key: value for key, value in record.items() if key != "approximation"})
    points = [replace(first, cell=TableCell([without])), *others]
    path = plot_sweep(points, LANDMARKS, tmp_path / "a.svg", title="listops", majority_rate=0.17).path
    accuracy, *_, errors = drawn[-1].axes
    dots = [[line.get_xdata()[0] for line in axis.lines if line.get_marker() == "s"] for axis in (accuracy, errors)]
    assert dots == [[16, 16, 32, 64], [32, 32, 64] * 2], "the line, and a mark for each number"
    titles = [title.text for title in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}title")]
    assert sum("landmarks 32: 0.03125;" in title for title in titles) == 1


def test_exact_attention_has_its_seeds_and_each_of_its_variants_a_colour(tmp_path, drawn):
    records = [make_record("listops", "full", seed, accuracy=0.3 + seed / 10) for seed in (0, 1)]
    records.append(with_setting(make_record(attention="full", accuracy=0.2), "attention.attention_dropout", 0.3))
    points = sweep_points([make_record(num_landmarks=16), *records], LANDMARKS)
    plot_sweep(points, LANDMARKS, tmp_path / "a.svg", title="listops", majority_rate=0.17)
    axis = drawn[-1].axes[0]
    exact = [line for line in axis.lines if list(line.get_xdata()) == [0, 1] and "exact" in str(line.get_label())]
    assert len({line.get_color() for line in exact}) == len(exact) == 2
    (two,) = (line for line in exact if line.get_ydata()[0] == pytest.approx(35))
    (seeds,) = (line for line in axis.lines if line.get_markeredgecolor() == two.get_color() and line.get_mew() == 0.6)
    assert list(seeds.get_ydata()) == pytest.approx([30, 40])
    assert min(seeds.get_xdata()) > 1, "at the right of the axis"


@pytest.mark.slow
def test_the_figure_of_a_window_marks_the_range(tmp_path, drawn):
    plot_sweep(sweep_points(window(), WINDOW), WINDOW, tmp_path / "f.png", title="ListOps", majority_rate=0.17)
    (upright,) = (line for line in drawn[-1].axes[0].lines if list(line.get_ydata()) == [0, 1])
    assert list(upright.get_xdata()) == [16, 16]


def test_a_panel_of_fewer_than_two_points_is_left_out_and_said(tmp_path, drawn):
    points = sweep_points(window(), WINDOW)
    made = plot_sweep(points, WINDOW, tmp_path / "f.svg", title="ListOps", majority_rate=0.17)
    assert [axis.get_ylabel() for axis in drawn[-1].axes] == ["test accuracy (%)", "seconds per step"]
    assert len(made.left_out) == 1
    assert "convergence" in made.left_out[0], "these records have no dev curves"
    curve = {"step": [1, 2], "accuracy": [0.2, 0.3]}
    single = {"step": [1], "accuracy": [0.2]}
    curves = {"full": {0: curve}, "nystrom": {0: single}}
    made = plot_curves(curves, tmp_path / "c.svg", title="x", majority_rate=0.18)
    assert [axis.get_title() for axis in drawn[-1].axes] == ["Softmax attention"]
    assert len(made.left_out) == 1
    assert "nystrom" in made.left_out[0]


def test_the_majority_class_is_a_line_where_it_does_not_press_the_others_together(tmp_path, drawn):
    points = swept((16, 32, 64), (3, 3, 3))  # 36 to 38 %, and exact attention with 37 %
    for rate, is_line in ((0.35, True), (0.1, False)):
        made = plot_sweep(points, LANDMARKS, tmp_path / "a.svg", title="listops", majority_rate=rate)
        labels = [line.get_label() for line in drawn[-1].axes[0].lines]
        assert ("majority class" in labels) is is_line
        assert ("10.0 %" in made.caption) is not is_line


def test_a_line_of_another_split_says_so(tmp_path, drawn):
    curve = {"step": [1, 2], "accuracy": [0.2, 0.3]}
    made = plot_curves({"nystrom": {0: curve}}, tmp_path / "a.svg", title="x", majority_rate=0.18)
    assert "majority class of the test split, 18.0 %" in made.caption


def test_the_learning_curve_has_rate_speed_and_memory(tmp_path, drawn):
    machine = {"learning_rate": 1e-4, "steps_per_second": 4.0, "peak_memory_bytes": 3 << 30}
    rows = [{"step": step, "train/loss": 2.0, "train/accuracy": 0.2, **machine} for step in (1000, 20_000, 62_400)]
    rows.append({"step": 62_400, "dev/loss": 1.9, "dev/accuracy": 0.3})
    learning_curve(rows, tmp_path / "curve.png", title="listops", majority_rate=0.17, paper_accuracy=37.15)
    heights = {axis.get_ylabel(): axis.get_lines()[0].get_ydata()[0] for axis in drawn[-1].axes}
    assert heights == {
        "cross-entropy": 2.0,
        "accuracy (%)": 20.0,
        "learning rate": 1e-4,
        "steps per second": 4.0,
        "peak memory (MiB)": 3072.0,
    }


def test_every_seed_of_a_panel_has_a_line_of_its_own_in_grey(tmp_path, drawn):
    curve = {"step": [1, 2], "accuracy": [0.2, 0.3]}
    plot_curves({"nystrom": dict.fromkeys(range(MOST_SEEDS), curve)}, tmp_path / "a.svg", title="x", majority_rate=0.2)
    seeds = [line for line in drawn[-1].axes[0].lines if str(line.get_label()).startswith("seed")]
    assert len({str(line._unscaled_dash_pattern) for line in seeds}) == len(seeds) == MOST_SEEDS
