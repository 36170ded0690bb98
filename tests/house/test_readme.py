"""Every measured number in the README comes from a committed record."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from lra import compose
from lra.data.manifest import SPLITS
from lra.results.reading import parse_record
from tests.commands.documented import DOCUMENTS

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs/results.md"


def test_the_demos_row_is_its_record():
    (line,) = (ROOT / "runs/published/demo.jsonl").read_text().splitlines()
    record = json.loads(line)
    outcome, cost = record["outcome"], record["cost"]
    row = (
        f"| `{record['identity']['attention']}` | {outcome['steps']} | {100 * outcome['test_accuracy']:.2f} % |"
        f" 37.15 % | {100 * outcome['majority_rate']:.2f} % | {cost['train_seconds']:.0f} s |"
    )
    assert row in (ROOT / "README.md").read_text()
    assert "-dirty" not in record["provenance"]["git_commit"]
    said = f"{100 * outcome['test_accuracy']:.2f} % (majority-class baseline {100 * outcome['majority_rate']:.2f} %)"
    assert said in " ".join((ROOT / "README.md").read_text().split())


def test_the_rows_of_the_data_are_their_manifests():
    rows = {
        line.split("`")[1]: line for line in (ROOT / "data_prep/README.md").read_text().splitlines() if "| `" in line
    }
    lines = (ROOT / "runs/published/data.jsonl").read_text().splitlines()
    for made in map(json.loads, lines):
        cells = [cell.strip() for cell in rows[made["task"]].split("|")]
        minutes = made["seconds"] / 60
        assert f"{made['store_bytes'] / 2**20:.0f} MiB" in cells
        assert (f"{minutes:.0f}" if minutes >= 10 else f"{minutes:.1f}") in cells
        counts = [f"{made['splits'][split]['count']:,}" if split in made["splits"] else "–" for split in SPLITS]
        assert " / ".join(counts) in cells


def test_the_accuracies_of_shortened_runs_are_their_records():
    text = RESULTS.read_text()
    lines = (ROOT / "runs/published/shortened.jsonl").read_text().splitlines()
    for record in (parse_record(line, "shortened.jsonl") for line in lines):
        identity, outcome = record["identity"], record["outcome"]
        cells = (
            f"`{identity['task']}`",
            f"`{identity['attention']}`, `{identity['protocol']}`",
            str(outcome["steps"]),
            f"{100 * outcome['test_accuracy']:.2f} %",
            f"{100 * outcome['majority_rate']:.2f} %",
            record["provenance"]["data_origin"],
        )
        row = f"| {' | '.join(cells)} |"
        assert row in text
        assert "-dirty" not in record["provenance"]["git_commit"]


def test_the_speeds_are_their_records():
    text = (ROOT / "docs/performance.md").read_text()
    lines = (ROOT / "runs/published/speed.jsonl").read_text().splitlines()
    records = {record["what"]: record for record in map(json.loads, lines)}
    for what, record in records.items():
        assert "-dirty" not in record["git_commit"]
        if what.startswith("step "):
            row = next(line for line in text.splitlines() if line.startswith(f"| `{what.split()[1]}` |"))
            cells = [cell.strip() for cell in row.split("|")]
            assert f"{record['real']:.0%}".replace("%", " %") in cells
            assert [f"{record[key]:.2f} s" for key in ("paper_seconds", "seconds")] == cells[3:5]
            assert f"{record['ratio']:.1f}" == cells[5]
    for length in (2048, 4096):
        for rate in ("0", "0.1"):
            pair = [records[f"full {length} dropout {rate} {form}"]["ratio"] for form in ("real lengths", "all real")]
            assert f"| {length} | {rate} | {pair[0]:.1f} | {pair[1]:.1f} |" in text

    plain = [records[f"nystrom {length} beside its formula"]["ratio"] for length in (256, 512, 1024, 2048, 4096)]
    assert min(plain) >= 1
    said = f"{', '.join(f'{ratio:.1f}' for ratio in plain[:-1])} and {plain[-1]:.1f} times as fast"
    assert said in " ".join(text.split())


def test_the_speeds_of_the_readme_are_their_records():
    text = (ROOT / "README.md").read_text()
    lines = (ROOT / "runs/published/speed.jsonl").read_text().splitlines()
    speed = {record["what"]: record for record in map(json.loads, lines)}
    assert f"takes {speed['step listops']['seconds']:.2f} s with two threads on".replace("0.", ".") in text
    steps = {task: speed[f"step {task}"]["ratio"] for task in ("image", "retrieval")}
    assert (
        f"{steps['image']:.1f} (Image) to {steps['retrieval']:.1f} times (Retrieval, with the lengths of a stand-in)"
        in " ".join(text.split())
    )
    assert {record["ratio"] for what, record in speed.items() if what.startswith("step ")} >= set(steps.values())
    assert round(speed["memory text"]["ratio"]) == 6
    assert "a sixth of the memory" in text
    made = {record["task"]: record for record in map(json.loads, (ROOT / "runs/published/data.jsonl").open())}
    assert f"| {made['listops']['seconds']:.0f} s |" in text
    assert f"| {made['text']['seconds']:.0f} s and {made['image']['seconds']:.0f} s, download" in text


@pytest.mark.parametrize("task", ["listops", "text", "retrieval", "image", "pathfinder"])
def test_the_recipes_are_those_of_the_configuration(task):
    cfg = compose(f"task={task}")
    recipe = cfg.recipe
    warmup = round(recipe.warmup_fraction * recipe.steps)
    row = (
        f"| `{task}` | {cfg.task.data.seq_len:,} | {recipe.steps:,} | {recipe.batch_size} | 1e-4 | {warmup:,} steps |"
        f" {recipe.eval_every} steps |"
    )
    assert recipe.optimizer.lr == 1e-4
    assert row in (ROOT / "docs/reproduce.md").read_text()


def test_what_setting_up_takes_is_its_record():
    text = " ".join((ROOT / "README.md").read_text().split())
    lines = (ROOT / "runs/published/setup.jsonl").read_text().splitlines()
    made = {record["python"].rpartition(".")[0]: record for record in map(json.loads, lines)}
    assert made.keys() == {"3.11", "3.12", "3.13"}
    minutes = {version: f"{record['seconds'] / 60:.0f}" for version, record in made.items()}
    assert f"took {minutes['3.11']} minutes with the CPU build (Python 3.11)" in text
    assert f"and {minutes['3.12']} and {minutes['3.13']} minutes with the CUDA build (3.12, 3.13)" in text
    assert f"({made['3.11']['megabytes'] / 1000:.1f} GB with the CPU build" in text
    sizes = {f"{made[version]['megabytes'] / 1000:.1f} GB" for version in ("3.12", "3.13")}
    assert sizes == {"5.8 GB"}
    assert "then has 5.8 GB" in text


@pytest.mark.parametrize("name", DOCUMENTS)
def test_files_that_a_document_names_are_there(name):
    document = ROOT / name
    for target in re.findall(r"\]\(([\w./-]+)(?:#[\w-]+)?\)", document.read_text()):
        assert (document.parent / target).exists(), target


def test_the_two_commands_at_the_top_are_targets_of_the_makefile():
    top = (ROOT / "README.md").read_text().split("```")[1]
    targets = re.findall(r"^make (\w+)", top, re.MULTILINE)
    assert targets == ["demo", "test"]
    makefile = (ROOT / "Makefile").read_text()
    for target in targets:
        assert re.search(rf"^{target}: setup", makefile, re.MULTILINE)
