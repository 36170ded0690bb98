"""LaTeX as a paper has it: booktabs, caption, label; whatever a record says, it compiles."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from lra.results.accuracy_table import accuracy_table
from lra.results.comparison import comparison_table, contenders
from lra.results.tables import TextTable
from tests.results.records import make_record
from tests.results.test_escaping import HOSTILE

PAGE = "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n%s\nTable~\\ref{tab:x}\n\\end{document}\n"


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
    for command in (r"\begin{table}", r"\toprule", r"\midrule", r"\bottomrule", r"\end{tabular}", r"\end{table}"):
        assert lines.count(command) == 1
    legend = r"m $\pm$ s (n): mean and standard deviation over n seeds"
    assert rf"\caption{{Test accuracy (\%), protocol paper, 5,000 steps. {legend}}}" in lines
    assert r"\label{tab:test-accuracy-protocol-paper-5-000-steps}" in lines
    assert r"nystrom & 37.00 $\pm$ 0.00 (2)$\ddagger$ & -- &" in tables[0].to_latex()
    assert r"\quad difference & $-$0.15 within &" in tables[0].to_latex()


def test_every_row_has_every_column(tables):
    for table in tables:
        rows = [line for line in table.to_latex().splitlines() if line.endswith(r" \\")]
        assert len(rows) == 1 + len(table.rows)
        assert {row.replace(r"\&", "").count("&") for row in rows} == {len(table.columns) - 1}


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex")
def test_it_compiles(tables, tmp_path):
    (tmp_path / "page.tex").write_text(PAGE % "\n".join(table.to_latex() for table in tables))
    words = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "page.tex"]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, check=False)
    assert done.returncode == 0, done.stdout.decode(errors="replace")[-2000:]
    assert (tmp_path / "page.pdf").stat().st_size > 1000
