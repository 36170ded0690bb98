"""LaTeX as a paper has it: booktabs, caption, label; whatever a record says, it compiles."""

import re
import shutil
import subprocess

import pytest

from lra.base.paths import conf_names, read_choice
from lra.tables.accuracy_table import accuracy_table
from lra.tables.cells import indices_of_best
from lra.tables.comparison import contenders
from lra.tables.comparison_table import comparison_table
from lra.terminal.display_names import BIBLIOGRAPHY, METHOD, TASK, bibliography
from lra.terminal.text_table import TextTable
from tests.tables.records import make_record
from tests.tables.test_escaping import HOSTILE

HEAD = "\\documentclass{article}\n\\usepackage{booktabs,graphicx}\n"
PAGE = HEAD + "\\begin{document}\n%s\nTable~\\ref{tab:x}\n\\end{document}\n"


@pytest.fixture(scope="module")
def tables():
    records = [make_record(attention=name, seed=seed) for name in ("full", "nystrom") for seed in range(2)]
    every = "".join(map(chr, range(32, 127))) + "±−–†‡§Δ‖Ŝ中é’…·×²"
    return [
        accuracy_table(records, reference="paper"),
        comparison_table(records, contenders(records), title="listops, 5,000 steps"),
        TextTable(title="x", columns=("a_b", "c"), rows=[[every, HOSTILE], ["[y]", "* z"], ["  paper", "37.15"]]),
    ]


def test_it_has_booktabs_a_caption_and_a_label(tables):
    lines = tables[0].to_latex().splitlines()
    for command in (r"\begin{table*}", r"\toprule", r"\midrule", r"\bottomrule", r"\end{tabular}}", r"\end{table*}"):
        assert lines.count(command) == 1
    (caption,) = (line for line in lines if line.startswith(r"\caption"))
    for explained in (r"$\pm$ s (n): mean and standard deviation", r"$\ddagger$ data", "Xiong et al.", "Bold: best"):
        assert explained in caption
    assert r"\label{tab:test-accuracy-protocol-paper-5-000-steps}" in lines
    assert r"\quad difference & $-$0.15 within &" in tables[0].to_latex()


def test_methods_and_tasks_have_display_names_and_citations_with_their_entries(tables):
    text = tables[0].to_latex()
    assert r"Nyströmformer~\cite{xiong2021nystromformer} & \textbf{37.00 $\pm$ 0.00 (2)$\ddagger$} &" in text
    assert "attention & ListOps & parameters & time" in text, "tasks without a value have no column"
    assert re.findall(r"(?m)^% @\w+{(.*),", text) == ["xiong2021nystromformer", "vaswani2017attention"]
    assert r"\caption{ListOps, 5,000 steps." in tables[1].to_latex()
    variant = TextTable(title="x", columns=("method", "a"), rows=[["nystrom (num_landmarks=32)", "1"], ["mine", "2"]])
    assert r"Nyströmformer~\cite{xiong2021nystromformer} (num\_landmarks=32) & 1 \\" in variant.to_latex()
    assert "mine & 2" in variant.to_latex()


def test_every_method_and_task_has_a_display_name_and_every_key_one_entry():
    files = {(group, name): read_choice(group, name) for group in (*METHOD, *TASK) for name in conf_names(group)}
    del files["mixer", "attention"]
    names = [file["display"] for file in files.values()]
    assert len(set(names)) == len(names)
    keys = {file["cite"] for file in files.values() if "cite" in file}
    entries = re.findall(r"(?m)^@\w+{(.*),$", BIBLIOGRAPHY.read_text("utf-8"))
    assert sorted(keys) == sorted(entries)
    assert len(bibliography(keys)) == len(entries)
    assert all(
        re.search(r"arxiv", file.get("source", ""), re.IGNORECASE) is None or "cite" in file for file in files.values()
    )


def test_the_best_of_a_column_as_shown_is_bold_and_one_alone_is_not():
    assert indices_of_best([37.004, None, 36.0, 37.001]) == [0, 3]
    assert indices_of_best([37.0, None]) == []


def test_a_table_has_the_tasks_asked_for_and_an_average_of_all_five_alone():
    made = accuracy_table(
        [make_record(), make_record(attention="full")], reference="paper", listed_tasks=("listops", "text")
    )
    assert made.columns == ("attention", "listops", "text", "parameters", "time")
    assert made.best == {(0, "listops"), (3, "listops")}


def test_every_row_has_every_column(tables):
    for table in tables:
        rows = [line for line in table.to_latex().splitlines() if line.endswith(r" \\")]
        assert len(rows) == 1 + len(table.rows)
        columns = table.without_empty_columns().columns
        assert {row.replace(r"\&", "").count("&") for row in rows} == {len(columns) - 1}


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex")
def test_it_compiles(tables, tmp_path):
    (tmp_path / "page.tex").write_text(PAGE % "\n".join(table.to_latex() for table in tables))
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "page.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    assert (tmp_path / "page.pdf").stat().st_size > 1000
