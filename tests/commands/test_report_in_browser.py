"""The report of a thousand runs in a browser: on a phone, on a desk and on paper no column is lost, and it is small."""

import json
import re
import shutil
import subprocess

import pytest

from lra.cli import main
from tests.speed.many_records import write_records

MEGABYTE = 10**6
PAPER = (
    718  # pixels across A4 without the margins, in portrait format, which some browsers print whatever a page asks for
)
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
MEASURE = """<script>
for (const folded of document.querySelectorAll("details")) folded.open = true;
const right = (element) => element.getBoundingClientRect().right;
const measured = {
  page: document.documentElement.scrollWidth,
  tables: Math.max(...[...document.querySelectorAll("table")].map(right)),
  boxes: Math.max(...[...document.querySelectorAll(".wide")].map(right)),
  scrolls: [...document.querySelectorAll(".wide")].map((box) => getComputedStyle(box).overflowX),
  verdicts: [...document.querySelectorAll("th.prose")].map(right),
  colour: getComputedStyle(document.body).backgroundColor,
};
document.title = JSON.stringify(measured);
</script></body>"""

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LRA_RUNS_DIR", str(folder))
        write_records(folder / "many.jsonl", 1000)
        assert main(["report", "run_group=many.jsonl", "samples=0"]) == 0
    return folder / "many-report.html"


def test_a_thousand_runs_are_a_megabyte(page):
    assert page.stat().st_size <= MEGABYTE
    assert page.read_text().count("<tr data-cell=") == 1000


def measured(page, folder, width, *, printed=False, dark=False):
    """What a browser measures on a copy of the page that may run a script; printed, the rules for paper hold."""
    text = re.sub("<meta http-equiv[^>]*>", "", page.read_text()).replace("</body>", MEASURE)
    if printed:
        text = text.replace("@media print", "@media all")
    copy = folder / "copy.html"
    copy.write_text(text)
    flags = [
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--hide-scrollbars",
        f"--user-data-dir={folder}/profile",
    ]
    scheme = ["--blink-settings=preferredColorScheme=0"] if dark else []
    command = [BROWSER, *flags, *scheme, f"--window-size={width},2000", "--dump-dom", copy.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=120)
    title = re.search("<title>(.*?)</title>", done.stdout)
    return json.loads(title[1])


@pytest.mark.skipif(BROWSER is None, reason="no browser to open the page in")
@pytest.mark.parametrize("width", [1280, 500])
def test_wide_tables_scroll_in_a_box_of_their_own(page, tmp_path, width):
    """A browser without a screen has no window that is narrower than 500 pixels."""
    found = measured(page, tmp_path, width)
    assert found["page"] <= width
    assert found["boxes"] <= width
    assert set(found["scrolls"]) == {"auto"}
    assert max(found["verdicts"]) <= max(width, 600), "what a table is read for is on the first screen, or nearly so"


@pytest.mark.skipif(BROWSER is None, reason="no browser to open the page in")
def test_on_paper_no_column_is_lost(page, tmp_path):
    found = measured(page, tmp_path, PAPER, printed=True)
    assert set(found["scrolls"]) == {"visible"}
    assert max(found["tables"], found["page"]) <= PAPER


@pytest.mark.skipif(BROWSER is None, reason="no browser to open the page in")
def test_it_is_dark_where_the_system_is_and_light_on_paper(page, tmp_path):
    colours = [
        measured(page, tmp_path, 1280, **how)["colour"] for how in ({}, {"dark": True}, {"dark": True, "printed": True})
    ]
    assert colours[0] == colours[2] != colours[1]
