"""The docs site: built in CI, where a warning is an error, from every page that there is."""

import re

import pytest
import yaml
from docutils import nodes
from docutils.utils import new_document

from docs.typesetting import mark
from tests.commands.documented import DOCUMENTS
from tests.house.test_floors import ROOT, assert_none, line_at, place
from tests.house.test_habits import commands_of

INDEX, RESULTS = ((ROOT / "docs" / name).read_text() for name in ("index.md", "results.md"))
PAGES = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").glob("*.md")} - {"index.md"}


def test_ci_builds_it_and_a_warning_is_an_error():
    (build,) = commands_of("docs")
    assert "-m sphinx -W --keep-going" in build
    assert "make docs" in map(str.strip, (ROOT / ".ci/run").read_text().splitlines())
    steps = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]["check-and-test"]["steps"]
    assert build.split()[-1] in [step.get("with", {}).get("path") for step in steps]


def test_every_page_is_in_a_table_and_in_a_menu_of_the_index_or_of_the_results():
    """The results have a menu of their own, below theirs in the index."""
    linked, listed = set(), set()
    for overview in (INDEX, RESULTS):
        tables, menu = overview.split("```{toctree}", 1)
        linked |= set(re.findall(r"\]\((\w+\.md)\)", tables))
        listed |= {f"{name}.md" for name in re.findall(r"^(\w+)$", menu, re.MULTILINE)}
    assert linked == PAGES
    assert listed == PAGES


@pytest.mark.parametrize(
    "text, whole",
    [
        ("36.77 ± 0.16 (3)‡", ["36.77 ± 0.16 (3)‡"]),
        ("36.85 [18.20, 37.75] (5) / 37.15", ["36.85 [18.20, 37.75] (5) / 37.15"]),
        ("7 of 12 (bigbird +14.95, full +13.29 [+9.00, +17.58])", ["+13.29 [+9.00, +17.58]"]),
        ("93.7 % ± 0.8 as trained, p = 0.08", ["93.7 % ± 0.8", "p = 0.08"]),
        ("0.10–0.14 M and 1,275 MiB", ["0.10–0.14 M", "1,275 MiB"]),
        ("64 [16, exact]", ["64 [16, exact]"]),
        ("96,000 / 2,000 / 2,000 images of 32 × 32 pixels", ["96,000 / 2,000 / 2,000", "32 × 32"]),
        ("– / 65.02, 149 + 320, 5.7 → 2.5 s", ["– / 65.02", "149 + 320", "5.7 → 2.5 s"]),
        ("attention of 2021, in 300 runs", []),
    ],
)
def test_no_line_of_a_page_ends_within_a_number(text, whole):
    cell, code = nodes.entry("", nodes.paragraph("", text)), nodes.literal("", text)
    page = new_document("page")
    page += [cell, nodes.paragraph("", "", code)]
    mark(page)
    assert [part.astext() for part in page.findall(nodes.inline)] == whole
    assert cell.astext() == code.astext() == text


def test_the_name_of_a_test_in_a_table_may_be_broken_and_an_option_is_not():
    name, option = "test_a_name_that_is_as_long_as_a_sentence_is", "+callbacks.rates._target_=LearningRateMonitor"
    page = new_document("page")
    page += nodes.entry("", *(nodes.literal("", text) for text in (name, option)))
    mark(page)
    broken, whole = (code.astext() for code in page.findall(nodes.literal))
    assert broken.split("<wbr>")[:3] == ["test_", "a_", "name_"]
    assert whole == option


def test_a_cell_with_a_sentence_gets_room_and_names_of_rows_stay_in_sight():
    words = "a sentence of several words, " * 2
    page = new_document("page")
    for row in (("full", words), (words, "full")):
        page += nodes.table("", nodes.row("", *(nodes.entry("", nodes.paragraph("", text)) for text in row)))
    mark(page)
    assert [cell["classes"] for cell in page.findall(nodes.entry)] == [[], ["sentence"], ["sentence"], []]
    assert [table["classes"] for table in page.findall(nodes.table)] == [["named-rows"], []]


def test_each_feature_that_passes_through_names_its_test():
    rows = re.findall(r"^\| (.+?) \| .+ \| (?:.*?) \| (.+) \|$", (ROOT / "docs/passthrough.md").read_text(), re.M)
    features = {feature: test for feature, test in rows if feature not in ("feature", "---")}
    assert len(features) > 15
    tests = "".join(path.read_text() for path in (ROOT / "tests/commands").glob("test_*.py"))
    for feature, test in features.items():
        assert test == "the same" or f"def {test.strip('`')}(" in tests, f"{feature}: {test} is no test"


def test_files_that_a_document_names_are_there():
    offenders = []
    for document in (ROOT / name for name in DOCUMENTS):
        text = document.read_text()
        for link in re.finditer(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", text):
            if not (document.parent / link[1]).exists():
                offenders.append(f"{place(document, line_at(text, link.start()))} {link[1]} is not there")
    assert_none(offenders)


def test_the_two_commands_at_the_top_are_targets_of_the_makefile():
    top = (ROOT / "README.md").read_text().split("```")[1]
    targets = re.findall(r"^make (\w+)", top, re.MULTILINE)
    assert targets == ["demo", "test"]
    makefile = (ROOT / "Makefile").read_text()
    for target in targets:
        assert re.search(rf"^{target}: setup", makefile, re.MULTILINE)


def test_no_remark_in_a_code_block_is_cut_on_a_laptop():
    """At 1,400 pixels a line of code has room for 90 letters."""
    offenders = []
    for document in (ROOT / name for name in DOCUMENTS):
        text = document.read_text()
        for block in re.finditer(r"^ *```\w*\n(.*?)^ *```", text, re.DOTALL | re.MULTILINE):
            for number, line in enumerate(block[1].splitlines(), line_at(text, block.start(1))):
                if re.search(r"\s# ", line) and len(line) > 90:
                    offenders.append(f"{place(document, number)} has {len(line)} letters: {line.strip()}")
    assert_none(offenders)
