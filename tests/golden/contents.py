"""What a change of structure may not move: hashes of settings, parameter counts, options of verbs, published tables.

Each function makes the text of one file of this folder anew, from the code as it is. The files are in the history, so a
commit that moves a number shows it; `make renew ONLY=golden` writes them.
"""

import io
import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from functools import partial
from pathlib import Path

from hydra.errors import ConfigCompositionException
from omegaconf.errors import OmegaConfBaseException

from lra.base.probes import probe_named
from lra.cli import VERBS, main
from lra.from_config import build_model
from lra.runs.record import parse_record
from lra.settings.compose import load_config
from lra.settings.which_run import config_hash
from lra.terminal.errors import explain
from lra.types import UserError

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(__file__).parent
SIZES = ("full", "short")
COLUMNS = 200
AGE = r"\b\d+ (s|min|h|d|weeks|months|years)\b(?=  )"  # as in `lra show runs`
GROUPS_OF_VERB = {  # what each published file is for, besides the table of accuracies
    "short_tune": ("tune show",),
    "short_search": ("tune show",),
    "short_s4_search": ("tune show",),
    "short_landmarks": ("sweep landmarks show",),
    "short_landmarks_listops": ("sweep landmarks show",),
    "short_landmarks_listops_600": ("sweep landmarks show",),
    "short_landmarks_no_skip": ("sweep landmarks show",),
    "short_window": ("sweep window show",),
    "capacity": ("sweep capacity show",),
}


def choices(group: str) -> list[str]:
    """The files of a config group."""
    return sorted(path.stem for path in (ROOT / "conf" / group).glob("*.yaml"))


def methods() -> list[str]:
    """Every attention, and every mixer other than attention, as an override."""
    mixers = [f"mixer={name}" for name in choices("mixer") if name != "attention"]
    return [f"attention={name}" for name in choices("attention")] + mixers


def cells_of(task: str) -> str:
    """Hash and number of parameters of each method under each protocol at each size, a line each.

    Probes have one size, and are published under one protocol.
    """
    lines = []
    of_probe = probe_named(task)
    for protocol in ["clean"] if of_probe else choices("protocol"):
        for size in SIZES[:1] if of_probe else SIZES:
            for method in methods():
                words = [f"task={task}", f"protocol={protocol}", f"size={size}", method]
                lines.append(f"{' '.join(words[1:])}: {_hash_and_parameters(words)}\n")
    return "".join(lines)


def _hash_and_parameters(words: list[str]) -> str:
    import torch  # after lra, which says how its threads wait

    try:
        cfg = load_config("train", words)
        with torch.device("meta"):
            model = build_model(cfg)
    except (UserError, ConfigCompositionException, OmegaConfBaseException) as error:
        return f"refused: {explain(error)}"
    return f"{config_hash(cfg)} {sum(weight.numel() for weight in model.parameters())}"


def options_of(verb: str) -> str:
    """What `lra VERB --cfg job` prints; the verbs over many runs refuse it."""
    subcommand = {"show": "model", "bench": "step", "sweep": "landmarks"}.get(verb)
    return _printed([verb, *([subcommand] if subcommand else []), "--cfg", "job"])


def tables_of(file: str) -> str:
    """What the verbs over many runs print of one published file: each line typed, then its output."""
    group = f"run_group=published/{file}.jsonl"
    typed = [["show", "runs", group]]
    for size, protocol, tasks in _contents(file):
        where = [group, f"size={size}", f"protocol={protocol}"]
        typed.append(["table", "show", *where, "notes=all", "format=markdown"])
        for task in tasks:
            here = [*where, f"task={task}", "notes=all", "format=markdown"]
            typed.append(["compare", "show", *here])
            for verb in GROUPS_OF_VERB.get(file, ()):
                typed.append([*verb.split(), *here])
    return "\n".join(f"$ lra {' '.join(words)}\n{_printed(words)}" for words in typed)


def _contents(file: str) -> list[tuple[str, str, list[str]]]:
    """Size, protocol and tasks of the records of a published file."""
    path = ROOT / "runs/published" / f"{file}.jsonl"
    tasks: dict[tuple[str, str], set[str]] = {}
    for line in path.read_text().splitlines():
        names = parse_record(line, path.name)["identity"]
        tasks.setdefault((names["size"], names["protocol"]), set()).add(names["task"])
    return [(size, protocol, sorted(found)) for (size, protocol), found in sorted(tasks.items())]


def _printed(words: list[str]) -> str:
    """What a command prints; the age of a run, which grows, and the checkout's place are left out."""
    out = io.StringIO()
    with _environment(LRA_RUNS_DIR=str(ROOT / "runs"), COLUMNS=str(COLUMNS)), redirect_stdout(out):
        code = main(words)
    text = out.getvalue()
    if words[:2] == ["show", "runs"]:
        text = re.sub("─+", "─", re.sub(" {2,}", "  ", re.sub(AGE, "AGE", text)))  # an age's width moves the columns
    lines = [line.rstrip() for line in text.replace(str(ROOT), "CHECKOUT").splitlines()]
    if code:
        lines.append(f"exit code {code}")
    return "".join(f"{line}\n" for line in lines)


@contextmanager
def _environment(**values: str) -> Iterator[None]:
    before = {name: os.environ.get(name) for name in values}
    os.environ |= values
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def files() -> dict[str, Callable[[], str]]:
    """Every golden file, by its path below this folder, with what makes its text."""
    made: dict[str, Callable[[], str]] = {}
    for task in choices("task"):
        made[f"cells/{task}.txt"] = partial(cells_of, task)
    for verb in VERBS:
        if (ROOT / "conf" / f"{verb}.yaml").is_file():
            made[f"options/{verb}.yaml"] = partial(options_of, verb)
    for path in sorted((ROOT / "runs/published").glob("*.jsonl")):
        if '"identity"' in path.read_text().partition("\n")[0]:
            made[f"tables/{path.stem}.md"] = partial(tables_of, path.stem)
    return made
