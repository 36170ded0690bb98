"""What the README says of the full runs is in their committed records."""

from __future__ import annotations

import re

from lra.results.cells import make_cell
from lra.results.plateau import convergence_step
from lra.results.reference import paper_accuracy
from tests.house.published import records
from tests.house.test_floors import ROOT


def test_the_full_runs_are_their_records():
    text = (ROOT / "README.md").read_text()
    runs = records("listops")
    assert runs
    for record in runs:
        identity, outcome, cost = record["identity"], record["outcome"], record["cost"]
        assert (identity["size"], outcome["steps"]) == ("full", 5000)
        assert "-dirty" not in record["provenance"]["git_commit"]
        paper = paper_accuracy(identity["attention"], identity["task"])
        cells = (
            f"`{identity['attention']}`, `{identity['protocol']}`",
            str(identity["seed"]),
            f"{100 * outcome['best_dev_accuracy']:.2f} %",
            f"{100 * outcome['test_accuracy']:.2f} %",
            f"{paper:.2f} %",
            f"{100 * outcome['majority_rate']:.2f} %",
            f"{cost['train_seconds'] / 3600:.1f} h",
        )
        assert f"| {' | '.join(cells)} |" in text
    earlier = {record["identity"]["seed"]: record for record in records("listops_earlier")}
    ended = {seed: f"ended at {100 * record['outcome']['test_accuracy']:.2f} %" for seed, record in earlier.items()}
    assert earlier[0]["cost"]["device"] == "cpu (2 threads)"
    assert f"an earlier run, with two threads, {ended.pop(0)}" in " ".join(text.split())
    for seed, end in ended.items():
        assert f"An earlier run of seed {seed} {end}" in " ".join(text.split())


def test_the_mean_of_nystroms_seeds_is_that_of_the_table():
    text = " ".join((ROOT / "README.md").read_text().split())
    cell = make_cell([r for r in records("listops") if r["identity"]["attention"] == "nystrom"], "paper")
    assert (cell.count, cell.converged, cell.inside) == (5, 4, False)
    assert cell.of_two_kinds
    low, high = min(cell.accuracies), max(cell.accuracies)
    assert f"the median of the five is {cell.median:.2f}, their range {low:.2f} to {high:.2f}" in text
    assert f"the mean of the five, {cell.mean:.2f}, is outside the ±2-point tolerance" in text


def test_when_the_full_runs_leave_the_plateau_is_in_their_curves():
    text = " ".join((ROOT / "README.md").read_text().split())
    steps: dict[str, list[str]] = {}
    for record in records("listops"):
        step, identity = convergence_step(record), record["identity"]
        if step is not None:
            steps.setdefault(identity["attention"], []).append(f"{step:,}")
            if identity["attention"] == "nystrom":
                assert re.search(rf"seed {identity['seed']} (?:is above 25 % )?from step {step:,} on", text)
    for name, said in (("linformer", "Linformer's seeds are above 25 % from"), ("full", "full attention's from")):
        *first, last = steps[name]
        assert f"{said} steps {', '.join(first)} and {last} on" in text


def test_the_means_of_linformers_and_full_attentions_seeds_are_those_of_the_table():
    means = []
    for name in ("linformer", "full"):
        cell = make_cell([r for r in records("listops") if r["identity"]["attention"] == name], "paper")
        assert (cell.count, cell.converged, cell.inside) == (3, 3, True)
        means.append(f"{cell.mean:.2f} ± {cell.std:.2f}")
    said = f"The means of Linformer's three seeds, {means[0]}, and of full attention's three, {means[1]}, are"
    assert f"{said} within it" in " ".join((ROOT / "README.md").read_text().split())
