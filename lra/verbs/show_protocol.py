"""`lra show protocol`: show the protocols' switches, and the deviations from the released code that none changes."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from rich.console import Console

from lra.base.option_types import as_typed, check_choice
from lra.base.paths import conf_dir, conf_dirs, conf_names
from lra.runs.flat_settings import flatten
from lra.runs.published_numbers import PROTOCOLS
from lra.settings.command_options import Show
from lra.settings.compose import load_config
from lra.settings.protocol_files import tasks_with_recipe
from lra.terminal.fit_table import print_text_table
from lra.terminal.text_table import TextTable

FORMATS = ("terminal", "markdown")
KEPT = "Deviations from the released code under every protocol"


@dataclass(frozen=True)
class ShownProtocol:
    """The tables of a protocol: of each its title, and its head and rows.

    Attributes:
        name: the protocol.
        parts: the tables; the first one has the switches.
        format: terminal or markdown.
    """

    name: str
    parts: list[tuple[str, list[tuple[str, ...]]]]
    format: str

    def show(self, console: Console) -> None:
        """Print the tables."""
        if self.format == "markdown":
            print("\n\n".join(f"### {title}\n\n{markdown(rows)}" for title, rows in self.parts))
            return
        first = f"protocol.SWITCH=VALUE sets one by itself; this is protocol={self.name}"
        for number, (title, (columns, *rows)) in enumerate(self.parts):
            shown = title if number else first
            table = TextTable(title=shown, columns=columns, rows=list(map(list, rows)), prose=columns)
            print_text_table(console, table)
            console.print()


def show_protocol(cfg: Show) -> ShownProtocol:
    """Collect every switch with its meaning and its value in each protocol, what the protocol sets for each task, if it
    has models and recipes of its own, and its deviations from the code that it follows.

    Raises:
        WrongValueError: for an unknown format.
    """
    check_choice("format", cfg.format, FORMATS)
    name = cfg.protocol.name
    own = [] if name == "paper" else deviations(name)
    kept = own or deviations("paper")
    parts = [("Switches", switch_table())]
    size = cfg.size.name
    if by_task := task_table(name, size):
        parts.append((f"What protocol={name} sets for each task at size={size}", by_task))
    parts.append((f"Deviations of protocol={name} from its authors' code" if own else KEPT, kept))
    return ShownProtocol(name, parts, cfg.format)


def switch_table() -> list[tuple[str, ...]]:
    """Build a header, and rows: a switch and what it is about, then each of its values, its protocols, its meaning."""
    files = [path for folder in conf_dirs() for path in sorted((folder / "protocol").glob("*.yaml"), key=_in_order)]
    protocols: dict[str, Any] = {path.stem: yaml.safe_load(path.read_text("utf-8")) for path in files}
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
    return PROTOCOLS.index(path.stem) if path.stem in PROTOCOLS else len(PROTOCOLS), path.stem


def task_table(protocol: str, size: str) -> list[tuple[str, ...]]:
    """Build a header and a row for each option that a protocol sets in models, recipes and mixers of its own, if any.

    Its tasks are those of which it has a recipe, and of this size if it has such recipes. Options of the model and of
    mixers are those that differ from protocol=paper's, of the recipe all, and with a mixer `(MIXER)` what differs from
    attention's.
    """
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
        overrides, groups = ([f"mixer={mixer}"], ("model", "recipe", "mixer")) if mixer else ([], ("model", "recipe"))
        papers = load_config("train", ["protocol=paper", *overrides])
        before = flatten({group: papers.plain(group) for group in groups if group != "recipe"})
        found: dict[str, list[str]] = {}
        for index, task in enumerate(tasks):
            cfg = load_config("train", [f"task={task}", f"size={size}", f"protocol={protocol}", *overrides])
            for key, text in flatten({group: cfg.plain(group) for group in groups}).items():
                found.setdefault(key, [""] * len(tasks))[index] = text
        for key, texts in found.items():
            told = set(texts) == {before.get(key)} or texts == of_attention.get(key)
            if not told and not key.endswith("_partial_"):
                rows[f"{key} ({mixer})" if mixer else key] = texts
        of_attention = of_attention or found
    return [("option", *tasks), *((key, *texts) for key, texts in rows.items())]


def deviations(protocol: str) -> list[tuple[str, ...]]:
    """Read the table of a protocol's deviations, its head first, from `conf/protocol/PROTOCOL/deviations.yaml`.

    Each has its subject, the released code's way, ours, and the reason. Empty without this file.
    """
    files = [folder / "protocol" / protocol / "deviations.yaml" for folder in conf_dirs()]
    rows: list[dict[str, str]] = next((yaml.safe_load(file.read_text("utf-8")) for file in files if file.is_file()), [])
    return [tuple(row) for row in rows[:1]] + [tuple(row.values()) for row in rows]


def markdown(rows: list[tuple[str, ...]]) -> str:
    """Build a Markdown table from a header and rows."""
    lines = [" | ".join(cell.replace("  ", "&emsp;") for cell in row) for row in rows]
    return "\n".join(f"| {line} |" for line in (lines[0], " | ".join("---" for _ in rows[0]), *lines[1:]))
