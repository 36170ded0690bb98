"""Every measured number in the README comes from a committed record."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from lra import compose
from lra.cli import main
from lra.data.manifest import SPLITS
from lra.results.cells import make_cell
from lra.results.floor import above_floor
from lra.results.plateau import leaving_step
from lra.results.reading import parse_record
from lra.results.reference import paper_accuracy
from lra.results.statistics import binomial_error, discoveries
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
    gain = outcome["test_accuracy"] - outcome["majority_rate"]
    errors = gain / binomial_error(outcome["test_accuracy"], outcome["test_examples"])
    assert f"{errors:.0f} standard errors above the majority class" in " ".join(
        (ROOT / "README.md").read_text().split()
    )


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


def protocol_name(identity: dict) -> str:
    """The protocol's name; records of version 1 have its switches beside it."""
    protocol = identity["protocol"]
    return protocol if isinstance(protocol, str) else protocol["name"]


def test_the_full_runs_are_their_records():
    text = (ROOT / "README.md").read_text()
    records = [json.loads(line) for line in (ROOT / "runs/published/listops.jsonl").read_text().splitlines()]
    assert records
    for record in records:
        identity, outcome, cost = record["identity"], record["outcome"], record["cost"]
        assert (identity["size"], outcome["steps"]) == ("full", 5000)
        assert "-dirty" not in record["provenance"]["git_commit"]
        paper = paper_accuracy(identity["attention"], identity["task"])
        cells = (
            f"`{identity['attention']}`, `{protocol_name(identity)}`",
            str(identity["seed"]),
            f"{100 * outcome['best_dev_accuracy']:.2f} %",
            f"{100 * outcome['test_accuracy']:.2f} %",
            f"{paper:.2f} %",
            f"{100 * outcome['majority_rate']:.2f} %",
            f"{cost['train_seconds'] / 3600:.1f} h",
        )
        assert f"| {' | '.join(cells)} |" in text
    lines = (ROOT / "runs/published/listops_earlier.jsonl").read_text().splitlines()
    earlier = {record["identity"]["seed"]: record for record in map(json.loads, lines)}
    ended = {seed: f"ended at {100 * record['outcome']['test_accuracy']:.2f} %" for seed, record in earlier.items()}
    assert earlier[0]["cost"]["device"] == "cpu (2 threads)"
    assert f"an earlier run, with two threads, {ended.pop(0)}" in " ".join(text.split())
    for seed, end in ended.items():
        assert f"An earlier run of seed {seed} {end}" in " ".join(text.split())


def test_the_mean_of_nystroms_seeds_is_that_of_the_table():
    text = " ".join((ROOT / "README.md").read_text().split())
    lines = (ROOT / "runs/published/listops.jsonl").read_text().splitlines()
    cell = make_cell([r for r in map(json.loads, lines) if r["identity"]["attention"] == "nystrom"], "paper")
    assert (cell.count, cell.converged, cell.inside) == (5, 4, False)
    assert f"So the mean of the five, {cell.mean:.2f} ± {cell.std:.2f}, is out of the band of two points" in text


SHORT = ("run_group=published/short_table.jsonl", "size=short")


def markdown(words, monkeypatch, capsys) -> list[str]:
    """The lines that a command prints about published records."""
    monkeypatch.setenv("LRA_RUNS_DIR", str(ROOT / "runs"))
    capsys.readouterr()
    assert main([*words, "format=markdown"]) == 0
    return capsys.readouterr().out.splitlines()


def test_when_the_full_runs_leave_the_plateau_is_in_their_curves():
    text = " ".join((ROOT / "README.md").read_text().split())
    steps: dict[str, list[str]] = {}
    for record in map(json.loads, (ROOT / "runs/published/listops.jsonl").read_text().splitlines()):
        step, identity = leaving_step(record), record["identity"]
        if step is not None:
            steps.setdefault(identity["attention"], []).append(f"{step:,}")
            if identity["attention"] == "nystrom":
                assert re.search(rf"seed {identity['seed']} (?:is above 25 % )?from step {step:,} on", text)
    *first, last = steps["linformer"]
    assert f"Linformer's seeds are above 25 % from steps {', '.join(first)} and {last} on" in text
    assert f"that of full attention from step {', '.join(steps['full'])} on" in text


def test_the_mean_of_linformers_seeds_is_that_of_the_table():
    lines = (ROOT / "runs/published/listops.jsonl").read_text().splitlines()
    cell = make_cell([r for r in map(json.loads, lines) if r["identity"]["attention"] == "linformer"], "paper")
    assert (cell.count, cell.converged, cell.inside) == (3, 3, True)
    said = (
        f"The mean of Linformer's three seeds, {cell.mean:.2f} ± {cell.std:.2f}, and the one seed of full attention are"
    )
    assert said in " ".join((ROOT / "README.md").read_text().split())


SPREAD = "Standard deviation of the rows' means"
LONGER = ("run_group=published/short_longer.jsonl", "size=short", "task=pathfinder")
LANDMARKS = ("sweep", "landmarks", "show", "run_group=published/short_landmarks.jsonl", "size=short", "task=pathfinder")


@pytest.mark.parametrize(
    "words, place",
    [
        (("table", "show", *SHORT), ROOT / "README.md"),
        (("table", "show", *LONGER), RESULTS),
        (("compare", "show", "task=listops", *SHORT), RESULTS),
        (LANDMARKS, RESULTS),
    ],
    ids=("table", "longer", "compare", "sweep"),
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
    floor = [line for line in lines if line.startswith("Not above attention=none")]
    assert (len(spread), len(floor), len(orders)) == (2, 2, 2), lines  # of the two tables printed
    for line in spread + floor + orders:
        assert line in text, f"this should stand there: {line}"
    found = re.findall(r"(\w+) [\d.]+ / [\d.]+ = [\d.]+, p = ([\d.e-]+) and ([\d.e-]+)", spread[0])
    assert {task for task, p, _ in found if float(p) < 0.05} == {"listops", "text", "image"}
    assert {task for task, _, p in found if float(p) < 0.05} == {"listops", "text", "image", "pathfinder"}
    readme = " ".join((ROOT / "README.md").read_text().split())
    assert (
        "On all four tasks the differences between the rows are beyond the noise between seeds by a test of ranks"
        in readme
    )
    assert "by the F test they are on ListOps, Text and Image, and not on Pathfinder" in readme


def test_how_many_rows_are_above_the_floor_when_corrected_for_their_number_is_said():
    lines = (ROOT / "runs/published/short_table.jsonl").read_text().splitlines()
    above = above_floor([parse_record(line, "short_table.jsonl") for line in lines])
    said = []
    for task, name in (("listops", "ListOps"), ("image", "Image"), ("pathfinder", "Pathfinder"), ("text", "Text")):
        intervals = above[task].values()
        beyond = discoveries([interval.p for interval in intervals])
        corrected = sum(is_beyond and each.difference > 0 for is_beyond, each in zip(beyond, intervals, strict=True))
        said.append(f"{corrected} {{}} of {name} (in place of {sum(each.low > 0 for each in intervals)})")
    assert said.pop() == "0 {} of Text (in place of 0)"
    said = [said[0].replace("{}", "rows"), *(words.replace("{} ", "") for words in said[1:])]
    text = " ".join(RESULTS.read_text().split())
    assert f"{', '.join(said[:-1])} and {said[-1]} are above `none`" in text


def hours_of(name: str) -> float:
    """Training time of all published records of a file, in hours."""
    lines = (ROOT / "runs/published" / name).read_text().splitlines()
    return sum(record["cost"]["train_seconds"] for record in map(json.loads, lines)) / 3600


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
    assert not [line for line in lines if line.startswith(("Not above attention=none", "Not compared"))]
    assert "All five are above `none` beyond the noise between seeds" in text
    assert f"{hours_of('short_longer.jsonl'):.1f} hours of one core" in text
    said = markdown(("compare", "show", *LONGER), monkeypatch, capsys)
    assert any(line.endswith("beyond noise: 1 of 5 (none).") for line in said)
    first = "attention=linformer,full,nystrom,performer,reformer"
    assert f"`{first}`" in text
    pairs = markdown(("compare", "show", *LONGER, first), monkeypatch, capsys)
    assert any(line.endswith("beyond noise: 2 of 4 (full, reformer).") for line in pairs)
    for name, shown in (("full", "1.16 points [0.56, 1.76]"), ("reformer", "1.87 [0.84, 2.89]")):
        (row,) = (line for line in pairs if line.startswith(f"| {name} "))
        gain, low, high = re.search(r"−([\d.]+) \[−([\d.]+), −([\d.]+)\]", row).groups()
        assert shown.replace(" points", "") == f"{gain} [{high}, {low}]"
        assert shown in text
    means = [float(mean) for mean in re.findall(r"^\| \w+ +\| ([\d.]+) ±", "\n".join(pairs), re.MULTILINE)]
    assert f"their means are at most {max(means) - min(means):.1f} points apart" in text


def test_the_short_tables_records_are_of_one_machine_and_committed_code():
    lines = (ROOT / "runs/published/short_table.jsonl").read_text().splitlines()
    records = [parse_record(line, "short_table.jsonl") for line in lines]
    assert not [record for record in records if "-dirty" in record["provenance"]["git_commit"]]
    assert f"{hours_of('short_table.jsonl'):.0f} hours of one core" in " ".join(
        (ROOT / "README.md").read_text().split()
    )


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
