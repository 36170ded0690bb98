"""Blocks of the first page: what backs each claim, what commands print, where the reproduction stands, the methods."""

import contextlib
import io
import re
import statistics
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from docs.blocks import pretraining
from docs.blocks.citable import commits_of
from docs.blocks.markdown import ends, joined, prose, some_columns, table
from docs.blocks.published import ROOT, cells, measurements, records
from docs.blocks.short_seconds import largest_difference
from lra.base.paths import DESCRIPTION, NO_OPTION_KEYS
from lra.base.text import MISSING, for_markdown, number
from lra.run import Run
from lra.runs.files import METRICS
from lra.runs.published_numbers import PAPER, TASKS, TOLERANCE_POINTS
from lra.runs.schema import Record
from lra.tables.task_statistics import separation_by_task
from lra.tools.verbs import new
from lra.verbs.show_choices import METHODS, choices
from lra.verbs.train_summary import DEV_ACCURACY, print_summary

FIRST_LINES = 4  # of the demo's output: the rest has its dev accuracies, and what to type next
CELLS = sum(map(len, PAPER.values()))  # of the paper's table
PRINTED_WIDTH = 90  # letters of a code block of the site at 1,400 pixels

SOURCE = re.compile(r"(?P<authors>.+), (?P<venue>[^,]+ \d{4}), arXiv (?P<paper>\d+\.\d+)")
REMARK = re.compile(r"(?P<key>\w+): .*?\s+# (?P<remark>.+)")
DOCSTRING = re.compile(r'\n *"""[^"]*"""(\n(?=\n))?')
JOBS = (  # of each: the command, the columns that are shown, and what it is with a legend
    (
        "sweep landmarks show run_group=published/short_landmarks.jsonl size=short task=pathfinder",
        ("landmarks", "accuracy (%)", "s/step", "attention"),
        "*accuracy*: mean ± standard deviation (seeds), or median [lowest, highest] where some seeds did not converge."
        " *exact*: without landmarks. *attention*: relative error of the attention matrix.",
    ),
    (
        "compare show sweep=probes task=recall run_group=published/probes.jsonl"
        " attention=nystrom,full,linformer mixer=s4d",
        ("method", "accuracy (%)", "Δ over seeds", "verdict"),
        "*Δ*: difference from the first row in points, with a 95 % interval; bold: the highest. *N would*: if the true"
        " difference is as large as the measured one, N seeds of each row find it with a probability of 80 %.",
    ),
)


def promise() -> str:
    """What the project is for, with what exact attention has reached, and what a reader asks first."""
    full = cells(records("listops"))["full"]
    controls = [f"`{name}`" for (_, name), file in _all_methods().items() if _is_control(file)]
    said = prose(
        f"`lra` puts attentions side by side in one encoder: {len(_all_methods()) - len(controls)} published methods,"
        f" {len(controls)} controls ({joined(controls)}), and yours. It trains them on the Long Range Arena and on"
        " small generated [probes](docs/probes.md), and says with seeds and intervals what differs, and what so many"
        " seeds cannot tell."
        " It follows the code of the Nyströmformer paper (Xiong et al., AAAI 2021): with exact attention the paper has"
        f" {number(PAPER['full']['listops'])} % on ListOps, `lra` {mean_in_words(full.accuracies)}."
    )
    return f"{said}\n\n{_in_short()}"


def _in_short() -> str:
    """Answers to what a reader asks first: what for, what was shown, how to add one's own, how sure it is."""
    here = list(cells(records("listops")).values())
    within = [cell for cell in here if cell.inside]
    near_majority = sum(cell.converged == 0 for cell in within)
    separations = separation_by_task(records("probes")).values()
    told_apart, pairs = sum(each.pairs for each in separations), sum(each.compared for each in separations)
    lines = (
        "**What for**: reproduce the paper's table, sweep landmarks, compare attentions: [one command"
        " each](#three-jobs).",
        f"**Shown so far**: on {len(separations)} probes {told_apart} of {pairs} pairs of methods were told apart."
        f" Of the paper's {CELLS} accuracies {len(here)} were measured again, all on ListOps: [{len(within)} are"
        f" near](#what-has-been-reproduced), {near_majority} of them at the majority class, here as there.",
        "**Yours**: `lra new attention mine`, `pip install -e mine`; then `lra examine attention=mine`, one to two"
        " hours of [probes, short tasks, costs and errors](#your-own-attention).",
        "**How sure**: differences are [tested over seeds](docs/numbers.md#how-a-verdict-is-made), all pairs of a task"
        " together; attentions equal their authors' code, gradients too, or [say where"
        " not](docs/your_attention.md#where-they-differ-from-their-papers). Not run yet: four of the paper's five tasks"
        " at full size, and [any GPU](docs/clusters.md).",
    )
    return "\n".join(f"- {line}" for line in lines)


def own_attention() -> str:
    """The class that `lra new attention mine` writes, without docstrings."""
    with tempfile.TemporaryDirectory() as scratch:
        code = (new.main(["attention", "mine", f"to={scratch}"]).folder / "mine/mine.py").read_text("utf-8")
    shown = code[code.index("class ") :].partition("\n\n\n")[0]
    return f"```python\n{DOCSTRING.sub('', shown)}\n```"


def mean_in_words(accuracies: Sequence[float]) -> str:
    """`36.77 ± 0.16 % over 3 seeds`."""
    spread = f"{number(statistics.mean(accuracies))} ± {number(statistics.stdev(accuracies))} %"
    return f"{spread} over {len(accuracies)} seeds"


def _demo_output(record: Record) -> str:
    """What the demo prints at its end, made from its record; without the places of its files."""
    out = io.StringIO()
    folder = Path("runs/demo/listops/nystrom") / f"paper-short-300steps-{record.config_hash}" / "seed0"
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        folder.mkdir(parents=True)
        curve = record.outcome["dev_curve"]
        passes = [f"{step},{accuracy}" for step, accuracy in zip(curve["step"], curve["accuracy"], strict=True)]
        (folder / METRICS).write_text("\n".join([f"step,{DEV_ACCURACY}", *passes, ""]))
        print_summary(Console(file=out, width=PRINTED_WIDTH), Run(folder), record, Path("runs"))
    printed, _, _ = out.getvalue().partition("learning curve")
    lines = [line.rstrip() for line in printed.rstrip().splitlines()]
    return "\n".join(["```", *lines[:FIRST_LINES], "```"])


def first_run() -> str:
    """What the demo prints, minutes and size of the first run."""
    setup = {record["torch"]: record for record in measurements("setup")}
    (demo,) = records("demo")
    cpu, cuda = (f"{setup[build]['megabytes'] / 1000:.1f} GB" for build in ("cpu", "cuda"))
    took = prose(
        f"The set-up takes about {setup['cpu']['seconds'] / 60:.0f} minutes, mostly downloads, and {cpu} of disk,"
        f" {cuda} where there is an NVIDIA GPU."
    )
    return f"{_demo_output(demo)}\n\n{took}"


def machines_differ() -> str:
    """How far another machine may differ."""
    return prose(
        "The same seed gives bit-identical results on the same machine with the same code and number of threads. Other"
        " machines and versions round differently: repeated short runs differed by at most"
        f" {largest_difference('listops'):.2f} points on ListOps and {largest_difference('pathfinder'):.2f} on"
        " Pathfinder, where some seeds converge late."
    )


def jobs() -> str:
    """The three jobs, each with its command and some columns of the table that it prints."""
    parts = []
    for command, columns, legend in JOBS:
        parts += [f"```\nlra {command}\n```", some_columns(command, columns), prose(legend)]
    return "\n\n".join(parts)


def standing() -> str:
    """The cells of the paper's table that have been run at full size, and how near the paper they are."""
    every = records("listops")
    of_task = {task: [each for each in every if each.task == task] for task in TASKS}
    rows, near = [], Counter[str]()  # cells within the tolerance, of several seeds and of one
    for task, members in of_task.items():
        for name, cell in cells(members).items():
            seeds = [each for each in members if each.method == name]
            hours = ends((each.train_seconds / 3600 for each in seeds), ".1f")
            assert cell.reference is not None, f"{name} on {task}"
            near["several" if cell.count > 1 else "one"] += bool(cell.inside)
            difference = f"{number(cell.mean - cell.reference, sign=True)}, {'within' if cell.inside else 'outside'}"
            if cell.partly_converged:
                difference += f": of the mean, {number(cell.mean)}"
            converged = f"{cell.converged} of {cell.count}"
            paper = number(cell.reference)
            rows.append((f"`{name}`", str(cell), paper, difference, converged, hours, commits_of(seeds)))
    processors = filter(None, {each.provenance["versions"].get("processor") for each in every})
    devices = {each.cost["device"] for each in every}
    majority = number(100 * every[0].majority_rate, 0)
    said = prose(
        f"**{len(rows)} of the table's {CELLS} cells, all on ListOps, none on Text, Retrieval, Image or"
        f" Pathfinder: {near['several']} within {TOLERANCE_POINTS['listops']:.0f} points of the paper over several"
        f" seeds, {near['one']} more by one seed each.** Test accuracy in percent, as above. A run that did not"
        f" *converge* stayed near the majority class ({majority} % here), and so did the paper's Performer and"
        f" Reformer. Hours of a run on {joined(sorted(devices))}, {joined(sorted(processors))}, beside other work."
        f" Beyond the paper, {pretraining.in_short()}"
    )
    columns = ("attention", "here", "paper", "difference", "converged", "hours", "commits")
    return f"{said}\n\n{table(columns, rows)}"


def methods() -> str:
    """Each attention and mixer of a paper with its year, paper and code, the oldest first."""
    rows: list[tuple[str, ...]] = []
    for (group, name), file in _all_methods().items():
        paper = _paper(file)
        if paper == MISSING:
            continue
        year = paper.split("]")[0][-4:]
        code = file["_target_"].rsplit(".", 1)[0].replace(".", "/") + ".py"
        model = file["display"] + (" (a control)" if _is_control(file) else "")
        rows.append((year, f"{model}, `{group}={name}`", paper, f"[{Path(code).name}]({code})"))
    return table(("year", "model", "paper", "code"), sorted(rows))


def method_costs() -> str:
    """Each attention and mixer: its name, its paper, its cost."""
    rows = [
        (f"`{group}={name}`", file["display"], _paper(file), file["cost"])
        for (group, name), file in _all_methods().items()
    ]
    return table(("override", "method", "paper", "cost in the length L"), rows)


def method_options() -> str:
    """The options of each method that has some, with their defaults and the remarks of its file."""
    parts = []
    for (group, name), file in _all_methods().items():
        path = ROOT / "conf" / group / f"{name}.yaml"
        written, remarks = path.read_text(), _remarks(path)
        own = [option for option in _options(group, file) if f"\n{option}: " in written]
        if own:
            other = "; its other options are those of `nystrom`" if "defaults:\n  - nystrom" in written else ""
            rows = [(f"`{group}.{option}`", _default(file[option]), remarks.get(option, MISSING)) for option in own]
            heading = f"**{file['display']}**, `{group}={name}`{other}"
            parts += [heading, table(("option", "default", "what it is"), rows)]
    return "\n\n".join(parts)


def _default(value: object) -> str:
    return f"`{'null' if value is None else str(value).lower() if isinstance(value, bool) else value}`"


def _remarks(path: Path) -> dict[str, str]:
    """The remark behind each value of a YAML file, as Markdown."""
    found = (REMARK.match(line) for line in path.read_text().splitlines())
    return {line["key"]: for_markdown(line["remark"]) for line in found if line}


def _all_methods() -> dict[tuple[str, str], dict[str, Any]]:
    return {(group, name): file for group in METHODS for name, file in choices(group).items()}


def _options(group: str, file: dict[str, Any]) -> list[str]:
    """The options of a method that no protocol sets."""
    others = (*NO_OPTION_KEYS, *DESCRIPTION[group], "parameter_groups")
    return [key for key, value in file.items() if key not in others and "${protocol." not in str(value)]


def _is_control(file: dict[str, Any]) -> bool:
    """Whether a method is there to compare others with: no paper proposes it."""
    return bool(file.get("source", "ablation").split()[0] == "ablation")


def _paper(file: dict[str, Any]) -> str:
    """The venue and year of a method's paper, which link to it."""
    if "source" not in file:
        return MISSING
    found = SOURCE.fullmatch(file["source"])
    assert found is not None, f"{file['name']}: source"
    return f"[{found['venue']}](https://arxiv.org/abs/{found['paper']})"
