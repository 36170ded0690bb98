"""The pictures of a terminal and of a report in the documents: `python -m docs.pictures` makes them anew.

The report is opened in Chromium; where there is none, its picture stays as it is.
"""

import contextlib
import io
import re
import shutil
import subprocess
import tempfile
from pathlib import Path
from unittest import mock

from PIL import Image
from rich.console import Console
from rich.text import Text

from docs.blocks.published import PUBLISHED, runs_in
from lra.cli import main as lra

FOLDER = Path(__file__).parent / "pictures"
TERMINAL, REPORT = FOLDER / "terminal.svg", FOLDER / "report.png"
RECORDS = "run_group=published/short_table.jsonl size=short"
COMMAND = f"compare show {RECORDS} task=image attention=nystrom,full mixer=s4d"
COLUMNS = 120
WINDOW = (1280, 1500)  # pixels of the report's beginning
FONT_FACES = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)  # rich names a font on a server, which no page should ask
LAST_ERASED = re.compile(r".*\x1b\[2K", re.DOTALL)  # ends what a progress bar has drawn and wiped


def terminal_svg() -> str:
    """What a terminal with colours shows after COMMAND, as an SVG with its text as text."""
    printed = io.StringIO()
    with tempfile.TemporaryDirectory() as folder:
        _published_alone(Path(folder))
        coloured = mock.patch.dict("os.environ", {"FORCE_COLOR": "1", "COLUMNS": str(COLUMNS)})
        with coloured, runs_in(Path(folder)), contextlib.redirect_stdout(printed):
            assert lra(COMMAND.split()) == 0
    console = Console(record=True, width=COLUMNS, file=io.StringIO())
    console.print(Text.assemble(("$ ", "bold green"), f"lra {COMMAND}"))
    console.print(Text.from_ansi(LAST_ERASED.sub("", printed.getvalue())))
    return FONT_FACES.sub("", console.export_svg(title="lra compare"))


def report_png(browser: str, path: Path) -> None:
    """Write what a browser shows of the beginning of a report, light, in few colours."""
    with tempfile.TemporaryDirectory() as folder:
        _published_alone(Path(folder))
        page = Path(folder) / "report.html"
        with runs_in(Path(folder)), contextlib.redirect_stdout(io.StringIO()):
            assert lra(["report", *RECORDS.split()[:1], f"out={page}"]) == 0
        size = ",".join(map(str, WINDOW))
        flags = ["--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={size}"]
        shot = Path(folder) / "report.png"
        places = [f"--user-data-dir={folder}/profile", f"--screenshot={shot}", page.as_uri()]
        subprocess.run([browser, *flags, *places], check=True, capture_output=True, timeout=120)
        Image.open(shot).convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


def _published_alone(folder: Path) -> None:
    """Make a folder of runs that has the published records of the pictures and nothing else."""
    (folder / PUBLISHED.name).mkdir()
    shutil.copy(PUBLISHED / "short_table.jsonl", folder / PUBLISHED.name)


def main() -> None:
    """Make both pictures, and name them."""
    FOLDER.mkdir(exist_ok=True)
    TERMINAL.write_text(terminal_svg(), "utf-8")
    print(f"written: {TERMINAL}")
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        print(f"not made, because there is no Chromium: {REPORT}")
    else:
        report_png(browser, REPORT)
        print(f"written: {REPORT}")


if __name__ == "__main__":
    main()
