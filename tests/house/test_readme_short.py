"""What the documents say of the short tables is what their commands print of the committed records."""

from __future__ import annotations

import re

import pytest

from lra.cli import main
from lra.results.above_no_attention import above_no_attention
from lra.results.discrimination import discrimination_by_task
from tests.house.published import by_cell, records
from tests.house.test_floors import ROOT

RESULTS = ROOT / "docs/results.md"


SHORT = ("run_group=published/short_table.jsonl", "size=short")


def markdown(words, monkeypatch, capsys) -> list[str]:
    """The lines that a command prints about published records."""
    monkeypatch.setenv("LRA_RUNS_DIR", str(ROOT / "runs"))
    capsys.readouterr()
    assert main([*words, "format=markdown"]) == 0
    return capsys.readouterr().out.splitlines()


SPREAD, ABOVE = "Between-method SD / between-seed SD", "Rows significantly above attention=none"


LONGER = ("run_group=published/short_longer.jsonl", "size=short", "task=pathfinder")


LISTOPS_LANDMARKS = (
    *("sweep", "landmarks", "show", "run_group=published/short_landmarks_listops_600.jsonl", "size=short"),
    *("attention.num_landmarks=1,2,4,8,16,64", "attention.value_skip_taps=35,0", "recipe.steps=600", "task=listops"),
)
LANDMARKS = ("sweep", "landmarks", "show", "run_group=published/short_landmarks.jsonl", "size=short", "task=pathfinder")


@pytest.mark.parametrize(
    "words, place",
    [
        (("table", "show", *SHORT), ROOT / "README.md"),
        (("table", "show", *LONGER), RESULTS),
        (("compare", "show", "task=listops", *SHORT), RESULTS),
        (LANDMARKS, RESULTS),
        (LISTOPS_LANDMARKS, RESULTS),
    ],
    ids=("table", "longer", "compare", "sweep", "listops_sweep"),
)
def test_the_small_tables_are_what_their_commands_print(words, place, monkeypatch, capsys):
    table = [line for line in markdown(words, monkeypatch, capsys) if line.startswith("|")]
    assert len(table) > 3
    assert "\n".join(table) in place.read_text(), "\n".join(["this should stand there:", *table])


def test_what_the_comparison_says_of_many_differences_stands_below_it(monkeypatch, capsys):
    text = " ".join(RESULTS.read_text().replace("\n> ", "\n").split())
    lines = markdown(("compare", "show", *SHORT, "task=listops"), monkeypatch, capsys)
    (said,) = (line for line in lines if "differences over seeds" in line)
    assert said in text, f"this should stand there: {said}"


def test_what_the_short_table_says_about_itself_stands_below_it(monkeypatch, capsys):
    text = " ".join(RESULTS.read_text().replace("\n> ", "\n").split())
    lines = markdown(("table", "show", *SHORT), monkeypatch, capsys)
    lines += markdown(("table", "show", *SHORT, "reference=google"), monkeypatch, capsys)
    spread = [line for line in lines if line.startswith(SPREAD)]
    orders = [line for line in lines if line.startswith("Order of attentions against")]
    floor = [line for line in lines if line.startswith(ABOVE)]
    assert (len(spread), len(floor), len(orders)) == (2, 2, 2), lines  # of the two tables printed
    for line in spread + floor + orders:
        assert line in text, f"this should stand there: {line}"
    found = re.findall(r"(\w+) [\d.]+ / [\d.]+ = [\d.]+, p = ([\d.e-]+) and ([\d.e-]+)", spread[0])
    assert {task for task, p, _ in found if float(p) < 0.05} == {"listops", "text", "image"}
    assert {task for task, _, p in found if float(p) < 0.05} == {"listops", "text", "image", "pathfinder"}


def test_how_many_rows_are_better_than_no_mixing_is_said():
    above = above_no_attention(records("short_table"))
    counts = {task: len(found.above) for task, found in above.items()}
    assert counts["image"] == counts["pathfinder"]
    said = "are {listops} of 16 rows on ListOps, {image} on Image and on Pathfinder, and {text} on Text"
    assert said.format(**counts) in " ".join((ROOT / "README.md").read_text().split())
    text = " ".join(RESULTS.read_text().split())
    assert f"only {counts['image']} of 16 methods are significantly better than `none` there" in text
    points = [above["text"].points[name] for name in above["text"].above]
    assert f"{min(points):.2f} to {max(points):.2f} points above `none`" in text
    cells = by_cell("short_table").items()
    others = [record for (task, name, _), record in cells if task == "text" and name != "linformer"]
    (found,) = discrimination_by_task(others).values()
    assert f"one-way ANOVA p = {found.p_value:.2g}, Kruskal–Wallis p = {found.rank_p_value:.2g}" in text


def hours_of(name: str) -> float:
    """Training time of all published records of a file, in hours."""
    return sum(record["cost"]["train_seconds"] for record in records(name)) / 3600


def test_what_the_longer_pathfinder_says_stands_below_it(monkeypatch, capsys):
    text = " ".join(RESULTS.read_text().replace("\n> ", "\n").split())
    five = "attention=full,linformer,nystrom,performer,reformer"
    lines = markdown(("table", "show", *LONGER), monkeypatch, capsys)
    spread = [line for line in lines if line.startswith(SPREAD)]
    spread += [
        line for line in markdown(("table", "show", *LONGER, five), monkeypatch, capsys) if line.startswith(SPREAD)
    ]
    orders = [line for line in lines if line.startswith("Order of attentions against")]
    assert (len(spread), len(orders)) == (2, 1)
    for line in spread + orders:
        assert line in text, f"this should stand there: {line}"
        chances = re.search(r"p = ([\d.e-]+) and ([\d.e-]+)", line)
        assert not line.startswith(SPREAD) or max(map(float, chances.groups())) < 0.05
    (above,) = (line for line in lines if line.startswith(ABOVE))
    assert "pathfinder 5 of 5 by pooled t" in above
    assert above in text
    assert f"{hours_of('short_longer'):.1f} hours of one core" in text
    said = markdown(("compare", "show", *LONGER), monkeypatch, capsys)
    assert any(line.endswith(": 1 of 5 (none).") for line in said)
    first = "attention=linformer,full,nystrom,performer,reformer"
    assert f"`{first}`" in text
    pairs = markdown(("compare", "show", *LONGER, first), monkeypatch, capsys)
    assert any(line.endswith(": 2 of 4 (full, reformer).") for line in pairs)
    for name, shown in (("full", "1.16 points [0.56, 1.76]"), ("reformer", "1.87 [0.84, 2.89]")):
        (row,) = (line for line in pairs if line.startswith(f"| {name} "))
        gain, low, high = re.search(r"−([\d.]+) \[−([\d.]+), −([\d.]+)\]", row).groups()
        assert shown.replace(" points", "") == f"{gain} [{high}, {low}]"
        assert shown in text
    means = [float(mean) for mean in re.findall(r"^\| \w+ +\| ([\d.]+) ±", "\n".join(pairs), re.MULTILINE)]
    assert f"their means are at most {max(means) - min(means):.1f} points apart" in text


def test_the_short_tables_records_are_of_committed_code():
    assert not [record for record in records("short_table") if "-dirty" in record["provenance"]["git_commit"]]
    assert f"{hours_of('short_table'):.0f} hours of one core" in " ".join((ROOT / "README.md").read_text().split())
