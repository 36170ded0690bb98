"""Blocks of the first page: what backs each claim, what commands print, where the reproduction stands, the methods."""

import contextlib
import io
import re
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from docs.blocks.costs import faster_than
from docs.blocks.markdown import prose, table, table_printed
from docs.blocks.published import cells, measurements, records
from docs.blocks.short_seconds import largest_difference
from lra.base.paths import DESCRIPTION, NO_OPTION_KEYS
from lra.base.text import MISSING, number
from lra.runs.files import METRICS
from lra.runs.published_numbers import PAPER, TASKS
from lra.runs.schema import Record
from lra.verbs.show_choices import METHODS, choices
from lra.verbs.train_summary import DEV_ACCURACY, print_summary

PRINTED_WIDTH = 90  # letters of a code block of the site at 1,400 pixels

SOURCE = re.compile(r"(?P<authors>.+), (?P<venue>[^,]+ \d{4}), arXiv (?P<paper>\d+\.\d+)")
JOBS = (
    "table show run_group=published/listops.jsonl task=listops attention=full",
    "sweep landmarks show run_group=published/short_landmarks.jsonl size=short task=pathfinder",
    "compare show run_group=published/short_table.jsonl size=short task=image attention=nystrom,full mixer=s4d",
)


def why() -> str:
    """Numbers of the claims above it."""
    short = records("short_table")
    methods, tasks, seeds = (len({each["identity"][key] for each in short}) for key in ("attention", "task", "seed"))
    faster, package = faster_than("nystrom", "transformers")
    return prose(
        f"In numbers: {len(short)} short runs compare {methods} methods on {tasks} tasks with {seeds} seeds each."
        f" Nyström attention is {faster} faster than that of {package} (CPU, forward and backward)."
    )


def _demo_output(record: Record) -> str:
    """What the demo prints at its end, made from its record; without the places of its files."""
    out = io.StringIO()
    folder = Path("runs/demo/listops/nystrom") / f"paper-short-300steps-{record['provenance']['config_hash']}" / "seed0"
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        folder.mkdir(parents=True)
        curve = record["outcome"]["dev_curve"]
        passes = [f"{step},{accuracy}" for step, accuracy in zip(curve["step"], curve["accuracy"], strict=True)]
        (folder / METRICS).write_text("\n".join([f"step,{DEV_ACCURACY}", *passes, ""]))
        print_summary(Console(file=out, width=PRINTED_WIDTH), folder, record, Path("runs"))
    printed, _, _ = out.getvalue().partition("learning curve")
    lines = "\n".join(line.rstrip() for line in printed.rstrip().splitlines())
    return f"```\n{lines}\n```"


def first_run() -> str:
    """What the demo prints, minutes and size of the first run, and how far another machine may differ."""
    setup = {record["torch"]: record for record in measurements("setup")}
    (demo,) = records("demo")
    cpu, cuda = (f"{setup[build]['megabytes'] / 1000:.1f} GB" for build in ("cpu", "cuda"))
    took = prose(
        f"A first set-up takes about {setup['cpu']['seconds'] / 60:.0f} minutes, mostly downloads, and {cpu} of disk."
        f" With an NVIDIA GPU, the CUDA build of torch is installed, and `.venv` takes {cuda}. The demo trains for"
        f" {demo['cost']['train_seconds'] / 60:.0f} to 2 minutes on two CPU cores. The same seed gives bit-identical"
        " results on the same machine with the same code and number of threads. Other machines and versions round"
        f" differently: repeated short runs differed by at most {largest_difference('listops'):.2f} points on ListOps"
        f" and {largest_difference('pathfinder'):.2f} on Pathfinder, where some seeds converge late."
    )
    return f"{_demo_output(demo)}\n\n{took}"


def jobs() -> str:
    """The commands of the three jobs, each with the table that it prints."""
    return "\n\n".join(f"```\nlra {command}\n```\n\n{table_printed(command)()}" for command in JOBS)


def standing() -> str:
    """The paper's table: ours and the paper's accuracy of each cell."""
    ours = {task: cells([each for each in records("listops") if each["identity"]["task"] == task]) for task in TASKS}
    rows = [
        (f"`{name}`", *(f"{ours[task].get(name, MISSING)} / {number(paper[task])}" for task in TASKS))
        for name, paper in PAPER.items()
    ]
    return table(("attention", *TASKS), rows)


def methods() -> str:
    """Each attention and mixer: its name, its paper, its cost, its options."""
    of_all = {(group, name): file for group in METHODS for name, file in choices(group).items()}
    options = {key: ", ".join(f"`{option}`" for option in _options(key[0], file)) for key, file in of_all.items()}
    owners = {listed: name for (_, name), listed in options.items()}
    rows = []
    for (group, name), file in of_all.items():
        listed = options[group, name] or MISSING
        own = listed if owners[options[group, name]] == name or listed == MISSING else f"those of `{owners[listed]}`"
        rows.append((f"`{group}={name}`", file["display"], _paper(file), file["cost"], own))
    return table(("override", "method", "paper", "cost in the length L", "options"), rows)


def _options(group: str, file: dict[str, Any]) -> list[str]:
    """The options of a method that no protocol sets."""
    others = (*NO_OPTION_KEYS, *DESCRIPTION[group], "parameter_groups")
    return [key for key, value in file.items() if key not in others and "${protocol." not in str(value)]


def _paper(file: dict[str, Any]) -> str:
    """The venue and year of a method's paper, which link to it."""
    if "source" not in file:
        return MISSING
    found = SOURCE.fullmatch(file["source"])
    assert found is not None, f"{file['name']}: source"
    return f"[{found['venue']}](https://arxiv.org/abs/{found['paper']})"
