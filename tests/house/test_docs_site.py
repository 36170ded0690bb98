"""The docs site: built in CI, where a warning is an error, from every page that there is."""

import re

import yaml

from tests.commands.documented import DOCUMENTS
from tests.house.test_floors import ROOT, assert_none, line_at, place
from tests.house.test_habits import commands_of

INDEX = (ROOT / "docs/index.md").read_text()
PAGES = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").glob("*.md")} - {"index.md"}


def test_ci_builds_it_and_a_warning_is_an_error():
    (build,) = commands_of("docs")
    assert "-m sphinx -W --keep-going" in build
    assert "make docs" in (ROOT / ".ci/run").read_text().splitlines()
    steps = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())["jobs"]["check-and-test"]["steps"]
    assert build.split()[-1] in [step.get("with", {}).get("path") for step in steps]


def test_the_index_has_every_page_in_its_tables_and_in_its_menus():
    tables, menu = INDEX.split("```{toctree}", 1)
    assert set(re.findall(r"\]\((\w+\.md)\)", tables)) == PAGES
    assert {f"{name}.md" for name in re.findall(r"^(\w+)$", menu, re.MULTILINE)} == PAGES


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
