"""The search over learning rates in docs/numbers.md is its committed records."""

from __future__ import annotations

from pathlib import Path

from lra.results.reading import parse_record
from lra.results.schema import Record

ROOT = Path(__file__).resolve().parents[2]
RATES = (5e-4, 1e-3, 2e-3)
FILES = ("short_search", "short_table")  # the table's own runs are those at the chosen rate


def records() -> list[Record]:
    files = [f"{name}.jsonl" for name in FILES]
    return [
        parse_record(line, file) for file in files for line in (ROOT / "runs/published" / file).read_text().splitlines()
    ]


def rows() -> list[str]:
    """The table's lines: best dev accuracies of seed 0."""
    found: dict[tuple[str, str], dict[float, str]] = {}
    for record in records():
        identity, rate = record["identity"], record["settings"]["recipe"]["optimizer"]["lr"]
        if identity["seed"] == 0:
            of_rate = found.setdefault((identity["task"], identity["attention"]), {})
            of_rate[rate] = f"{100 * record['outcome']['best_dev_accuracy']:.2f}"
    complete = {row: of_rate for row, of_rate in found.items() if set(of_rate) == set(RATES)}
    return [f"| {task} | {name} | {' | '.join(of[rate] for rate in RATES)} |" for (task, name), of in complete.items()]


def test_each_row_is_its_records():
    text = (ROOT / "docs/numbers.md").read_text()
    made = rows()
    assert len(made) >= 5
    for row in made:
        assert row in text
    first = made[0]
    assert text[text.rindex("\n\n", 0, text.index(first)) : text.index("\n\n", text.index(first))].count(
        "\n| "
    ) == 1 + len(made)


def test_full_attention_leaves_the_plateau_of_pathfinder_with_more_steps():
    found: dict[tuple[int, int], float] = {}
    for record in records():
        identity, recipe = record["identity"], record["settings"]["recipe"]
        if (identity["task"], identity["attention"], recipe["optimizer"]["lr"]) == ("pathfinder", "full", 5e-4):
            found[recipe["steps"], identity["seed"]] = 100 * record["outcome"]["test_accuracy"]
    short, long = (
        [f"{found[steps, seed]:.1f}" for seed in seeds] for steps, seeds in ((1200, (0, 1, 2)), (2400, (1, 2)))
    )
    text = " ".join((ROOT / "docs/numbers.md").read_text().split())
    assert f"its test accuracies are {short[0]}, {short[1]} and {short[2]} %" in text
    assert f"With 2,400 steps the second and the third seed reach {long[0]} and {long[1]} %" in text


def test_landmarks_do_not_decide_on_short_listops():
    lines = (ROOT / "runs/published/short_landmarks_listops.jsonl").read_text().splitlines()
    found = [parse_record(line, "short_landmarks_listops.jsonl") for line in lines]
    assert {record["identity"]["seed"] for record in found} == {0}
    by_count = {
        record["settings"]["attention"]["num_landmarks"]: record["outcome"]["test_accuracy"] for record in found
    }
    counts, ends = sorted(by_count), [f"{100 * end(by_count.values()):.1f}" for end in (min, max)]
    text = " ".join((ROOT / "docs/results.md").read_text().split())
    said = f"{ends[0]} to {ends[1]} % with {', '.join(map(str, counts[:-1]))} and {counts[-1]} landmarks"
    assert said in text
