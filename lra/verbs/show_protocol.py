"""`lra show protocol`: show the protocols' switches, and the deviations from the released code that none changes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from lra.base.arguments import as_typed
from lra.types import UserError

if TYPE_CHECKING:
    from pathlib import Path

    from omegaconf import DictConfig


FORMATS = ("terminal", "markdown")
KEPT = "Deviations from the released code under every protocol"


def show_protocol(cfg: DictConfig) -> None:
    """Print every switch with its meaning and its value in each protocol, what the protocol sets for each task, if it
    has models and recipes of its own, and its deviations from the code that it follows.

    Raises:
        UserError: for an unknown format.
    """
    name = cfg.protocol.name
    own = own_deviations(name)
    kept: list[tuple[str, ...]] = [Departure._fields, *(DEPARTURES if own is None else own)]
    parts = [("Switches", switch_table())]
    size = cfg.size.name
    if by_task := task_table(name, size):
        parts.append((f"What protocol={name} sets for each task at size={size}", by_task))
    parts.append((KEPT if own is None else f"Deviations of protocol={name} from its authors' code", kept))
    if cfg.format == "markdown":
        print("\n\n".join(f"### {title}\n\n{markdown(rows)}" for title, rows in parts))
    elif cfg.format == "terminal":
        from lra.results.tables import TextTable
        from lra.terminal.console import make_console
        from lra.terminal.fit_table import print_text_table

        console = make_console()
        parts[0] = (f"protocol.SWITCH=VALUE sets one by itself; this is protocol={name}", parts[0][1])
        for title, (columns, *rows) in parts:
            print_text_table(
                console, TextTable(title=title, columns=columns, rows=list(map(list, rows)), prose=columns)
            )
            console.print()
    else:
        raise UserError(f"format={cfg.format} is not known here; choose one of {', '.join(FORMATS)}")


def switch_table() -> list[tuple[str, ...]]:
    """Build a header, and rows: a switch and what it is about, then each of its values, its protocols, its meaning."""
    from omegaconf import OmegaConf

    from lra.base.paths import conf_dir, conf_dirs

    files = [path for folder in conf_dirs() for path in sorted((folder / "protocol").glob("*.yaml"), key=_in_order)]
    protocols: dict[str, Any] = {path.stem: OmegaConf.to_container(OmegaConf.load(path)) for path in files}
    rows: list[tuple[str, ...]] = [("switch, values", "protocol", "meaning")]
    for switch, text in re.findall(r"^(\w+): [^#\n]+# (.+)$", (conf_dir() / "protocol/paper.yaml").read_text(), re.M):
        about, _, meanings = text.partition("; ")
        rows.append((switch, "", about))
        values = {as_typed(protocol[switch]): "" for protocol in protocols.values() if switch in protocol}
        for value, meaning in (values | dict(each.split(": ", 1) for each in meanings.split(" | "))).items():
            having = [name for name, keys in protocols.items() if switch in keys and as_typed(keys[switch]) == value]
            rows.append((f"  {value}", ", ".join(having), meaning))
    return rows


def _in_order(path: Path) -> tuple[int, str]:
    from lra.results.protocol_and_size import PROTOCOLS

    return PROTOCOLS.index(path.stem) if path.stem in PROTOCOLS else len(PROTOCOLS), path.stem


def task_table(protocol: str, size: str) -> list[tuple[str, ...]]:
    """Build a header and a row for each option that a protocol sets in models, recipes and mixers of its own, if any.

    Its tasks are those of which it has a recipe, and of this size if it has such recipes. Options of the model and of
    mixers are those that differ from protocol=paper's, of the recipe all, and with a mixer `(MIXER)` what differs from
    attention's.
    """
    from lra.base.paths import conf_dirs, conf_names
    from lra.runs.flatten_settings import flatten
    from lra.settings.config import load_config, plain, tasks_with_recipe

    files = [path.stem for folder in conf_dirs() for path in (folder / "protocol" / protocol).glob("*_*.yaml")]
    known = tasks_with_recipe(protocol, size) or [
        path.stem for folder in conf_dirs() for path in (folder / "recipe" / protocol).glob("*.yaml")
    ]
    if not known:
        return []
    tasks = [task for task in conf_names("task") if task in known]
    mixers = [mixer for mixer in conf_names("mixer") if any(f"{mixer}_{task}" in files for task in tasks)]
    rows: dict[str, list[str]] = {}
    of_attention: dict[str, list[str]] = {}
    for mixer in ("", *mixers):
        words, groups = ([f"mixer={mixer}"], ("model", "recipe", "mixer")) if mixer else ([], ("model", "recipe"))
        papers = load_config("train", ["protocol=paper", *words])
        before = flatten({group: plain(papers[group]) for group in groups if group != "recipe"})
        found: dict[str, list[str]] = {}
        for place, task in enumerate(tasks):
            cfg = load_config("train", [f"task={task}", f"size={size}", f"protocol={protocol}", *words])
            for key, text in flatten({group: plain(cfg[group]) for group in groups}).items():
                found.setdefault(key, [""] * len(tasks))[place] = text
        for key, texts in found.items():
            told = set(texts) == {before.get(key)} or texts == of_attention.get(key)
            if not told and not key.endswith("_partial_"):
                rows[f"{key} ({mixer})" if mixer else key] = texts
        of_attention = of_attention or found
    return [("option", *tasks), *((key, *texts) for key, texts in rows.items())]


def own_deviations(protocol: str) -> list[Departure] | None:
    """Read the deviations of a protocol from `conf/protocol/PROTOCOL/deviations.yaml`; None without this file."""
    import yaml

    from lra.base.paths import conf_dirs

    for folder in conf_dirs():
        if (path := folder / "protocol" / protocol / "deviations.yaml").is_file():
            return [Departure(**row) for row in yaml.safe_load(path.read_text("utf-8"))]
    return None


def markdown(rows: list[tuple[str, ...]]) -> str:
    """Build a Markdown table from a header and rows."""
    lines = [" | ".join(cell.replace("  ", "&emsp;") for cell in row) for row in rows]
    return "\n".join(f"| {line} |" for line in (lines[0], " | ".join("---" for _ in rows[0]), *lines[1:]))


class Departure(NamedTuple):
    """One row of the table: its subject, the released code's way, ours, and the reason."""

    what: str
    released: str
    ours: str
    why: str


DEPARTURES = (
    Departure(
        "dev passes",
        "a fixed number of batches from an endless, reshuffled stream: examples may be missed or repeated",
        "every example of the dev split once",
        "passes are comparable, and selecting the checkpoint is less noisy",
    ),
    Departure(
        "test split",
        "its last batch is left out if it is smaller",
        "every example",
        "the accuracy is that of the whole split (test_last_batch=dropped: as released)",
    ),
    Departure(
        "precision",
        "float16 autocast with a gradient scaler, attention in float32",
        "float32 throughout",
        "runs on every machine and repeats bit for bit on a CPU (trainer.precision=16-mixed: as released)",
    ),
    Departure(
        "length of Text",
        "the preparation script cuts reviews at 1,000 bytes; the model's configuration says 4,000",
        "4,000 bytes",
        "the paper calls the task Text (4K) (text_length=1000: as released)",
    ),
    Departure(
        "white space around reviews",
        "removed by the TFDS dataset that the code reads",
        "kept as in the archive",
        "it makes no difference in practice",
    ),
    Departure(
        "ids of ListOps' symbols",
        "in the order of a Python set, which changes from process to process",
        "fixed, 1 to 15",
        "with other ids a restored checkpoint scores at chance",
    ),
    Departure(
        "brackets of ListOps",
        "closing ones most likely lost: until 4 March 2021 the benchmark's tokenizer dropped them",
        "kept",
        "everybody has trained so since (listops_brackets=dropped: as released)",
    ),
    Departure(
        "dev split of Image",
        "the last tenth in TFDS's hashed order",
        "the last tenth in the archive's order",
        "it can be reproduced without TFDS; size and distribution are the same",
    ),
    Departure(
        "order of Text's test split",
        "TFDS's hashed order, which mixes the labels",
        "the archive's: all negative reviews first, so nearly all batches have one label",
        "it needs no TFDS; it matters where the examples of a batch share a constant (protocol=paper)",
    ),
    Departure(
        "splits of Pathfinder",
        "80/10/10 after a shuffle without a seed",
        "80/10/10 after a seeded shuffle",
        "the same on every machine",
    ),
    Departure(
        "random numbers",
        "without a seed",
        "seed=0, 1, …: weights, order and dropout",
        "a run can be repeated, and seeds compared",
    ),
    Departure(
        "linear attention",
        "without its paper's normaliser, and not in the paper's table",
        "attention=linear is its paper's",
        "each attention follows its paper (lra show attentions prints where not)",
    ),
)
