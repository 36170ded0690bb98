"""The look of every figure, and how one is saved: a paper's column or two, 8 points, 300 dpi, PNG, PDF and SVG.

What differs in colour differs in its marker or its dashes too, so that a figure can be read in grey and by readers who
do not tell colours apart.
"""

import io
import itertools
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.artist import Artist
from matplotlib.figure import Figure
from PIL import Image, PngImagePlugin

from lra.base.files import replacing
from lra.base.text import visible
from lra.terminal.figure_file import FORMATS, Drawn

WIDTHS = {1: 3.3, 2: 6.9}  # of one and of two columns of a paper, in inches
TYPE = 8  # points of every letter
DPI = 300
INK, QUIET, GREY = "#1f2328", "#59636e", "#a3abb3"  # text; lines of axes; what has no name
PALETTE = (  # readable as text on white, and told apart by colour-blind readers; each has a dark twin in html_page.py
    "#0072b2", "#c23b00", "#007a63", "#9a3f86", "#7a5c00", INK, "#2b2f8f", "#7a0022",
)  # fmt: skip
HOVER = "hover:"  # begins the id of what has a text for a pointer
CAPTION = "Description"  # where a PNG has its caption
LARGE_PNG, COLOURS_OF_PNG = 150_000, 256  # bytes, and the colours that a larger one keeps
STYLE: Any = {
    "font.size": TYPE, "axes.titlesize": TYPE, "axes.labelsize": TYPE, "figure.titlesize": TYPE,
    "figure.labelsize": TYPE, "xtick.labelsize": TYPE, "ytick.labelsize": TYPE, "legend.fontsize": TYPE,
    "lines.linewidth": 1.1, "lines.markersize": 3.8, "axes.linewidth": 0.6, "axes.spines.top": False,
    "axes.spines.right": False, "axes.labelpad": 2, "axes.titlepad": 3, "axes.grid": True, "axes.grid.which": "major",
    "grid.linewidth": 0.4, "grid.alpha": 0.3, "xtick.major.size": 2.5, "ytick.major.size": 2.5,
    "xtick.major.width": 0.6, "ytick.major.width": 0.6, "xtick.major.pad": 2, "ytick.major.pad": 2,
    "ytick.minor.size": 0, "text.color": INK, "axes.labelcolor": INK, "axes.edgecolor": QUIET, "xtick.color": QUIET,
    "ytick.color": QUIET, "xtick.labelcolor": INK, "ytick.labelcolor": INK, "pdf.fonttype": 42, "svg.hashsalt": "lra",
    "figure.dpi": DPI, "savefig.dpi": DPI, "figure.constrained_layout.h_pad": 0.03,
    "figure.constrained_layout.w_pad": 0.03, "legend.handletextpad": 0.5, "legend.columnspacing": 1.4,
    "legend.borderaxespad": 0.2, "legend.borderpad": 0.2, "legend.frameon": False, "legend.labelspacing": 0.55,
}  # fmt: skip
for_a_paper = matplotlib.rc_context(STYLE)  # decorates a function that draws


class Look(NamedTuple):
    """How a line and its markers are drawn."""

    colour: str
    marker: str
    line: str

    @property
    def of_line(self) -> dict[str, Any]:
        """The arguments of `Axes.plot` for the line with its markers."""
        return {"color": self.colour, "marker": self.marker, "ls": self.line}

    @property
    def of_dots(self) -> dict[str, Any]:
        """The arguments of `Axes.plot` for markers without a line."""
        return {"color": self.colour, "marker": self.marker, "ls": ""}

    @property
    def of_seeds(self) -> dict[str, Any]:
        """The arguments of `Axes.plot` for seeds: small hollow marks that show what lies below them."""
        return {
            "ls": "", "marker": self.marker, "ms": 2.8, "mfc": "none", "mec": self.colour, "mew": 0.6, "zorder": 2.5,
        }  # fmt: skip


NO_NAME = Look(GREY, "", "-")  # of what stands in the background
OF_METHOD = {  # the same in each figure
    "full": Look(INK, "o", "--"),
    "nystrom": Look("#c23b00", "s", "-"),
    "linformer": Look("#0072b2", "^", "-"),
    "performer": Look("#007a63", "D", "-"),
    "reformer": Look("#9a3f86", "v", "-"),
}
MARKERS, LINES = "osD^vPX*", ("-", "--", "-.", ":")
DASH_DOT_DOT = (0, (6, 1.5, 1, 1.5, 1, 1.5))  # a further line: lengths of its parts and gaps, in line widths


def looks_of(names: Sequence[str]) -> dict[str, Look]:
    """Choose a look for each of at most eight names; the paper's methods have their own, no two names the same.

    Further names begin again: tell them apart by `choose_named`.
    """
    looks: dict[str, Look] = {}
    for name in names:
        own = OF_METHOD.get(name.split(" ")[0])
        if own is not None and own not in looks.values():
            looks[name] = own
    taken = {look.colour for look in looks.values()}, {look.marker for look in looks.values()}
    colours = itertools.cycle([*(colour for colour in PALETTE if colour not in taken[0]), *PALETTE])
    markers = itertools.cycle([*(marker for marker in MARKERS if marker not in taken[1]), *MARKERS])
    others = [name for name in names if name not in looks]
    for number, name in enumerate(others):
        looks[name] = Look(next(colours), next(markers), LINES[number % len(LINES)])
    return looks


def hover(artist: Artist, text: str) -> None:
    """Give a part of a figure a text that an SVG shows under the pointer."""
    artist.set_gid(HOVER + visible(text))


def svg_of(figure: Figure, caption: str = "") -> str:
    """Write a figure as SVG, with the texts of `hover` as titles and no other ids of groups."""
    text = io.StringIO()
    described = {"Description": caption} if caption else {}
    figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None, **described})
    titled = re.sub(rf"""<g id=(["']){HOVER}(.*?)\1>""", r"<g><title>\2</title>", text.getvalue())
    return re.sub(r"""<g id=(["']).*?\1""", "<g", titled)


def save_figure(
    figure: Figure, path: Path, *, caption: str, left_out: Sequence[str] = (), alone: bool = False
) -> Drawn:
    """Write a figure atomically in the format of its path's ending, and close it; the same numbers give the same file.

    A PNG has a PDF and an SVG beside it, unless it is to be `alone`. Each file holds the caption: a PNG and an SVG as
    their description, a PDF as its subject.
    """
    caption = " ".join(visible(caption).split())
    beside = path.suffix == ".png" and not alone
    for suffix in FORMATS if beside else (path.suffix,):
        with replacing(path.with_suffix(suffix), shared=not alone) as unfinished:
            if suffix == ".svg":
                unfinished.write_text(svg_of(figure, caption), "utf-8")
            elif suffix == ".pdf":
                undated = {"CreationDate": None, "Producer": None, "Creator": None, "Subject": caption}
                figure.savefig(unfinished, format="pdf", metadata=undated)
            else:
                unfinished.write_bytes(_png(figure, caption))
    plt.close(figure)
    return Drawn(path, caption, tuple(left_out))


def _png(figure: Figure, caption: str) -> bytes:
    """Write a figure as a PNG; a large one has few colours, which makes it a third as large."""
    drawn, png = io.BytesIO(), io.BytesIO()
    figure.savefig(drawn, format="png", pil_kwargs={"compress_level": 0})  # read again in the next lines
    described = PngImagePlugin.PngInfo()
    described.add_text(CAPTION, caption)
    picture = Image.open(drawn).convert("RGB")
    picture.save(png, format="png", optimize=True, dpi=(DPI, DPI), pnginfo=described)
    if png.tell() <= LARGE_PNG:
        return png.getvalue()
    png = io.BytesIO()
    few_colours = picture.quantize(COLOURS_OF_PNG, dither=Image.Dither.NONE)
    few_colours.save(png, format="png", optimize=True, dpi=(DPI, DPI), pnginfo=described)
    return png.getvalue()


def caption_in(path: Path) -> str:
    """Read the caption that a PNG holds; empty if it has none."""
    with Image.open(path) as picture:
        return str(picture.info.get(CAPTION, ""))
