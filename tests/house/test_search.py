"""The search over learning rates in docs/numbers.md is its committed records."""

from __future__ import annotations

from pathlib import Path

from lra.results.reading import parse_record

ROOT = Path(__file__).resolve().parents[2]
RATES = (5e-4, 1e-3, 2e-3)
FILES = ("short_search", "short_table")  # the table's own runs are those at the chosen rate


def rows() -> list[str]:
    """The table's lines: best dev accuracies of seed 0."""
    found: dict[tuple[str, str], dict[float, str]] = {}
    for name in FILES:
        file = f"{name}.jsonl"
        for line in (ROOT / "runs/published" / file).read_text().splitlines():
            record = parse_record(line, file)
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
