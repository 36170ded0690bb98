"""The report: one file, everything in it, nothing from outside, no script but ours."""

import base64
import hashlib
import json
import re
import shutil
import subprocess
from collections import Counter
from html.parser import HTMLParser

import pytest

from lra.cli import main
from lra.data.manifest import read_manifest
from lra.tables.notes_on_runs import ProtocolAndSize, by_protocol_and_size
from lra.tables.report.page import SCRIPT
from lra.tables.report.sections import task_part
from lra.tables.report.summary import summary_table
from lra.tables.report.task_results import task_results
from lra.tables.verbs import report
from lra.terminal import console
from lra.terminal.html_page import Part, Section, notes_once, write_page
from lra.terminal.text_table import TextTable
from tests.conftest import lra_here
from tests.tables.records import make_record


class Page(HTMLParser):
    """Notes tags, what they point to, and that they are closed."""

    VOID = ("meta", "img", "br", "wbr", "path", "use", "rect", "link")

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.links = [], set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "xlink:href", "action")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)
        self.links += [value for name, value in attrs if name in ("src", "href", "xlink:href", "action")]

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page(data_dir, tmp_path_factory):
    runs = tmp_path_factory.mktemp("report") / "runs"
    group = runs / "table"
    for number, (attention, seed) in enumerate((a, s) for a in ("full", "nystrom") for s in range(3)):
        record = make_record(attention=attention, seed=seed, accuracy=0.36 + number / 200)
        record["identity"]["run_group"] = "<script>alert(1)</script>"
        record["outcome"]["dev_curve"] = {"step": [50, 100], "accuracy": [0.2, 0.36]}
        folder = group / attention / f"seed{seed}"
        folder.mkdir(parents=True)
        (folder / "result.json").write_text(json.dumps(record))
    tiny = [make_record(size="tiny", steps=20, seed=seed) for seed in range(2)]
    arrays = read_manifest(data_dir / "stores/listops/tiny")["arrays"]
    for record in tiny:
        record["provenance"]["data_sha256"] = {name: said["sha256"] for name, said in arrays.items()}
    (group / "tiny.jsonl").write_text("\n".join(map(json.dumps, tiny)) + "\n")
    (group / "broken").mkdir()
    (group / "broken/result.json").write_text("{")
    assert lra_here("report", "run_group=table", data=data_dir, runs=runs).returncode == 0
    return (group / "report.html").read_text()


def test_it_holds_tables_figures_runs_samples_and_troubles(page):
    for said in ("36.50 ± 0.50 (3)‡", "Side by side", "significant", "NOT the benchmark", "broken/result.json"):
        assert said in page
    assert page.count("<svg") == 1 + 2, "a comparison, and the learning curves of two rows"
    assert page.count('<details class="record">') == 3, "of each row"
    assert "config_hash" in page
    assert "test_correct" not in page
    assert "<h3>ListOps</h3>" in page
    assert re.search(r"label \d\n(MIN|MAX|MED|SM) = \d", page)


def test_the_others_are_compared_with_nystrom_attention(page):
    table = page[page.index("Side by side") :]
    first, second = re.findall(r'<tr><td><span title="(full|nystrom)">', table)[:2]
    assert (first, second) == ("nystrom", "full")


def test_it_needs_nothing_from_outside_and_runs_nothing_but_the_sorting(page):
    found = Page(page)
    assert found.open == []
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    assert page.count("<script") == 1, "what a record says is text"
    assert f"script-src 'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'" in page
    assert all(link.startswith(("#", "data:image/png")) for link in found.links)
    assert "url(http" not in page
    assert "prefers-color-scheme" in page or "light-dark(" in page


def test_it_begins_with_one_table_of_all_kinds_the_benchmark_first(page):
    (table,) = re.findall(r'<table id="summary" class="sortable">(.*?)</table>', page, re.DOTALL)
    assert page.index(table) == page.index('class="sortable">') + len('class="sortable">')
    assert re.findall(r'class="group"><th colspan="4"><span>([^<]*)', table) == [
        "Protocol paper",
        "Protocol paper, size tiny: NOT the benchmark",
    ]
    assert re.search(r'36.50 ± 0.50 \(3\)‡</a><small>paper 37.10, −0.60 <span class="within">within</span>', table)
    assert re.findall("<th>([^<]*)</th>", table) == ["method", "ListOps", "parameters", "time"], "tasks with a record"
    assert '<td><span title="full">Softmax attention</span></td>' in table
    assert re.findall(r'class="best"><a[^>]*>([^<]*)', table) == ["38.00 ± 0.50 (3)‡"]


def test_a_number_of_the_summary_leads_to_its_runs(page):
    (table,) = re.findall(r'<table id="summary".*?</table>', page, re.DOTALL)
    links = dict(re.findall(r'<a href="#(cell-\d+)">([^<]*)', table))
    assert list(links.values()) == ["36.50 ± 0.50 (3)‡", "38.00 ± 0.50 (3)‡", "37.00 ± 0.00 (2)‡"]
    runs = re.findall(r'<tr data-cell="(.*?)"( id="(.*?)")?>', page)
    assert list(Counter(cell for cell, *_ in runs).items()) == list(zip(links, (3, 3, 2), strict=True))
    assert [first for *_, first in runs if first] == list(links), "an id is on the first of a cell's runs"


def test_the_records_of_a_row_are_listed_together(page):
    """What its seeds share once, what differs with each value; what another row shares with the first is not said."""
    first, second, *_ = re.findall(r'<pre id="of-cell-\d+">(.*?)</pre>', page, re.DOTALL)
    assert "\nsettings.attention.num_landmarks: " not in first
    assert re.search(r"^settings.recipe.steps: 5000$", first, re.MULTILINE)
    assert re.search(r"^seed: 0, 1, 2$", first, re.MULTILINE)
    assert "settings.recipe.steps" not in second
    assert re.search(r"^settings.attention.num_landmarks: 64$", second, re.MULTILINE)


def test_a_note_is_on_the_page_once():
    tables = [TextTable(title=name, columns=("a",), rows=[], notes=["of both", f"of {name}"]) for name in ("x", "y")]
    sections = [Section(name="s", parts=[Part(tables=[table]) for table in tables])]
    (rest,), shared = notes_once(sections)
    assert shared == ["of both"]
    assert [table.notes for part in rest.parts for table in part.tables] == [["of x"], ["of y"]]


def test_a_name_breaks_between_words_and_stays_text():
    from lra.terminal.html_page import breakable

    assert breakable("nystrom (num_landmarks=<b>)") == "nystrom (num_landmarks=<wbr>&lt;b&gt;)"
    assert breakable("recipe.lr=0.001") == "recipe.<wbr>lr=<wbr>0.001", "a number stays in one line"


def test_an_interval_stays_in_one_line_and_a_cell_stays_text():
    from lra.terminal.html_page import NO_BREAK, with_whole_intervals

    assert with_whole_intervals("+0.73 [+0.37, +1.08]") == f"+0.73 [+0.37,{NO_BREAK}+1.08]"
    assert with_whole_intervals("<b> \x1b") == "&lt;b&gt; \\x1b"


def test_a_verdict_stands_behind_the_accuracy_and_may_be_broken():
    table = TextTable(title="", columns=("method", "accuracy", "cost", "verdict"), rows=[["full", "36", "2", "better"]])
    moved = table.with_prose_after("accuracy", "verdict")
    assert moved.columns == ("method", "accuracy", "verdict", "cost")
    assert moved.rows == [["full", "36", "better", "2"]]
    assert moved.prose == ("verdict",)


def test_sections_are_in_the_order_of_sizes_and_none_is_empty(page):
    heads = re.findall(r"<h([23])[^>]*>([^<]*)", page)
    names = [name for level, name in heads if level == "2"]
    shown = ["All accuracies", "Protocol paper", "Runs", "Samples"]
    assert names == shown, "the tiny runs have no more to show than the summary"
    assert len(re.findall("<h3[^>]*>ListOps</h3>", page)) == 2, "of the benchmark and of the samples"


def test_each_run_is_a_line_with_a_link_to_its_record(page):
    (table,) = re.findall(r'<table id="runs-table" class="sortable">(.*?)</table>', page, re.DOTALL)
    assert table.count("<tr data-cell=") == 8
    assert "<td>Softmax attention</td><td>0</td><td>36.00</td><td>36.00</td><td>0.50 h</td>" in table
    for link in re.findall(r'href="#(of-cell-\d+)"', table):
        assert f'<pre id="{link}">' in page


def test_each_link_in_the_page_leads_to_a_place(page):
    for link in re.findall(r'href="#([^"]*)"', page):
        assert f'id="{link}"' in page
    contents = page[page.index("<nav") : page.index("</nav>")]
    assert re.findall(r">([^<>]+)</a>", contents) == ["All accuracies", "Protocol paper", "ListOps", "Runs", "Samples"]


def test_it_begins_with_sentences(page):
    sentences = re.findall(r"<p>([^<]*)</p>", page[: page.index("<nav")])
    assert len(sentences) == 3
    assert "1.5 points [" in sentences[0]


@pytest.mark.parametrize("count, folded", [(3, False), (4, True)])
def test_many_remarks_are_folded(tmp_path, count, folded):
    remarks = [f"line {number} is broken" for number in range(count)]
    page = write_page(tmp_path / "page.html", title="T", subtitle="s", sections=[], problems=remarks).read_text()
    assert all(remark in page for remark in remarks)
    assert (f"{count} remarks on the records</summary>" in page) is folded
    assert Page(page).open == []


@pytest.mark.parametrize("count, shown", [(64, False), (32, True)])
def test_landmarks_have_a_figure_if_their_number_was_swept(count, shown):
    records = [make_record(num_landmarks=count), make_record(num_landmarks=64, pinv_iterations=8)]
    results = task_results(ProtocolAndSize("paper", "full"), "listops", records)
    assert ("landmarks" in task_part(results).figures) is shown


@pytest.mark.parametrize("out", ["report.txt", "no/html", "folder"])
def test_a_wrong_out_is_refused_before_a_record_is_read(home, tmp_path, refused, monkeypatch, out):
    (tmp_path / "folder").mkdir()
    (home / "table").mkdir(parents=True)
    monkeypatch.setattr(report, "collect", lambda source: pytest.fail("records were read"))
    assert refused("report", f"out={tmp_path}/{out}").key == "out"


def test_what_is_made_is_shown_meanwhile(home, capsys, monkeypatch):
    (home / "mine").mkdir(parents=True)
    records = [make_record(task, "full") for task in ("listops", "image")]
    (home / "mine" / "made.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records))
    monkeypatch.setattr(console, "PIPE_SECONDS", 0.0)
    assert main(["report", "run_group=mine/made.jsonl", "samples=0"]) == 0
    shown = re.findall(r"^(\d+%) (\w+)", capsys.readouterr().out, re.MULTILINE)
    assert shown[:2] == [("0%", "ListOps"), ("50%", "Image")]


def test_that_no_record_is_valid_is_said_with_the_reason(home, refused):
    (home / "x.jsonl").parent.mkdir(parents=True, exist_ok=True)
    (home / "x.jsonl").write_bytes(b"\xff\xfe\n")
    error = refused("report", "run_group=x.jsonl")
    assert error.kind == "no_records"
    assert str(error).count("x.jsonl") == 2, "what holds none, and the file that is broken"


def test_the_summary_has_marks_and_no_full_run_on_an_invented_stand_in():
    invented = make_record(attention="full", origin="stand-in")
    kinds = by_protocol_and_size(
        [invented, make_record(), make_record(attention="linformer", size="short", origin="stand-in")]
    )
    made = summary_table(kinds, reference="paper", links={})
    cells = {row.name: row.cells[0].of.with_origin_marks for rows in made.groups.values() for row in rows}
    assert cells == {"nystrom": "37.00 (1)‡", "linformer": "37.00 (1)§"}
    text = "\n".join(made.notes)
    for said in ("1 records on ", "standard deviation over n seeds", "‡ ", "§ "):
        assert text.count(said) == 1


@pytest.mark.skipif(shutil.which("node") is None, reason="no node to run the page's script")
def test_the_runs_are_sorted_by_their_numbers():
    (compare,) = re.findall(r"const compare = .*;", SCRIPT.read_text())
    script = compare + 'console.log(["0.50", "1.80", "0.0120", "0.12"].sort(compare), ["m10", "m9"].sort(compare))'
    done = subprocess.run(["node", "-e", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[", "'0.0120',", "'0.12',", "'0.50',", "'1.80'", "]", "[", "'m9',", "'m10'", "]"]
