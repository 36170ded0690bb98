"""A record whose every text is hostile is shown by every verb, as text."""

import json
import re

import pytest

from lra.cli import main
from lra.runs.settings_hash import hash_of
from lra.terminal.html_page import NO_BREAK
from tests.tables.records import make_record

HOSTILE = "=cmd|x\n\\input{/etc/passwd}\n<script>alert(1)</script>[red]\x1b[31m$\\frac{"


@pytest.fixture
def group(home):
    folder = home / "table"
    folder.mkdir(parents=True)
    records = [make_record(seed=seed) for seed in range(2)]
    for seed in range(2):
        record = make_record(seed=seed)
        record["identity"] |= {"attention": HOSTILE, "run_group": HOSTILE}
        record["settings"]["attention"]["name"] = HOSTILE
        record["settings"]["model"][HOSTILE] = HOSTILE
        record["cost"]["device"] = HOSTILE
        record["provenance"] |= {"git_commit": HOSTILE, "config_hash": hash_of(record["settings"])}
        records.append(record)
    broken = {**make_record(), "provenance": {"data_origin": HOSTILE}}
    (folder / "all.jsonl").write_text("\n".join(map(json.dumps, [*records, broken])))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("form", ["terminal", "latex", "markdown", "csv"])
def test_tables(group, capsys, form):
    for words in (["table", "show"], ["compare", "show", "run_group=table"]):
        capsys.readouterr()
        assert main([*words, f"format={form}"]) == 0
        out = capsys.readouterr().out
        assert "37.00 ± 0.00" in out or "37.00 $\\pm$ 0.00" in out or "37.0" in out
        assert all(sign == "\n" or sign.isprintable() for sign in out)
        lines = [line.strip() for line in out.splitlines() if not line.startswith("%")]
        assert not any(line.startswith(("\\input", "<script", "=cmd")) for line in lines)
        assert form != "latex" or not any("\\input" in line for line in lines)
        assert form != "markdown" or "<script" not in out


@pytest.mark.slow
def test_report_import_and_publish(group, capsys):
    assert main(["report", "run_group=table", "samples=0"]) == 0
    page = re.sub(rf"(\[[^][]*,){NO_BREAK}([^][]*\])", r"\1 \2", (group / "report.html").read_text())  # intervals
    assert page.count("<script") == 1, "that of the report itself"
    assert all(sign == "\n" or sign.isprintable() for sign in page)
    for words in (["import", str(group), "into=again"], ["publish", "run_group=table", "name=x", "dirty=true"]):
        capsys.readouterr()
        assert main(words) == 0
        assert all(sign == "\n" or sign.isprintable() for sign in capsys.readouterr().out)
