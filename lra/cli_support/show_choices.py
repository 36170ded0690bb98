"""`lra show tasks` and `lra show attentions`: what can be chosen, read from the configuration and the prepared data."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

    from omegaconf import DictConfig

OF_THE_FILE = ("name", "_target_", "_partial_", "parameter_groups")  # no knobs
SOURCE = re.compile(r"\(([^()]+ \d{4}[^()]*)\)")
COST = re.compile(r"Cost in L: (.+?)\.?$")
DIFFERS = re.compile(r"^# Differs from its paper: (.+)$", re.MULTILINE)


def show_attentions() -> None:
    """Print each attention and mixer: source, cost, knobs, switches of the protocol, differences from its paper."""
    from lra.cli_support.console import make_console
    from lra.cli_support.narrow import print_text_table
    from lra.results.tables import TextTable

    rows = [row for group in ("attention", "mixer") for row in _rows(group)]
    columns = ("choice", "knobs", "by the protocol", "cost in L", "source")
    optional = ("source", "by the protocol")
    table = TextTable(title="Attentions and mixers", columns=columns, rows=rows, optional=optional, prose=columns)
    console = make_console()
    print_text_table(console, table)
    console.print("\nWhere they differ from their papers:")
    for choice, text in differences().items():
        console.print(f"{choice}: {text}", soft_wrap=not console.is_terminal)


def differences() -> dict[str, str]:
    """Say of each attention or mixer, such as `attention=bigbird`, how it differs from its paper, where it does."""
    files = {f"{group}={name}": path for group in ("attention", "mixer") for name, path in _files(group).items()}
    found = {choice: DIFFERS.search(path.read_text(encoding="utf-8")) for choice, path in files.items()}
    return {choice: there[1] for choice, there in found.items() if there}


def _rows(group: str) -> Iterator[list[str]]:
    from lra.config import ATTENTION

    for name, path in _files(group).items():
        if (group, name) == ("mixer", ATTENTION):  # stands for the attentions
            continue
        knobs, about = _knobs(path), _about(path)
        own = [f"{key}={value}" for key, value in knobs.items() if "${" not in value]
        switches = [value.removeprefix("${").removesuffix("}") for value in knobs.values() if "${" in value]
        yield [
            f"{group}={name}",
            "; ".join(own) or "–",
            "; ".join(switches) or "–",
            *(_first(pattern, about) for pattern in (COST, SOURCE)),
        ]


def _files(group: str) -> dict[str, Path]:
    from lra.paths import conf_dirs, conf_names

    places = [folder / group for folder in conf_dirs()]
    return {
        name: next(place / f"{name}.yaml" for place in places if (place / f"{name}.yaml").exists())
        for name in conf_names(group)
    }


def _knobs(path: Path) -> dict[str, str]:
    """The knobs in a file with their values as they are written, interpolations unresolved."""
    from omegaconf import OmegaConf

    written = OmegaConf.to_container(OmegaConf.load(path), resolve=False)
    assert isinstance(written, dict)
    return {str(key): _as_typed(value) for key, value in written.items() if key not in OF_THE_FILE}


def _as_typed(value: Any) -> str:
    from lra.results.settings import in_words

    return value if isinstance(value, str) else in_words(value)


def _about(path: Path) -> str:
    """The comment on a file's first line; empty without one."""
    line = path.read_text(encoding="utf-8").split("\n", 1)[0]
    return line.removeprefix("#").strip() if line.startswith("#") else ""


def _first(pattern: re.Pattern[str], text: str) -> str:
    there = pattern.search(text)
    return there[1] if there else "–"


def show_tasks(size: str, data: Path) -> None:
    """Print each task: what it is, classes, length, examples, whether its data is prepared, its terms.

    Args:
        size: the size of all tasks.
        data: folder of the prepared data.
    """
    from lra.cli_support.console import make_console
    from lra.cli_support.narrow import print_text_table
    from lra.results.tables import TextTable

    rows = [_task_row(name, path, size, data) for name, path in _files("task").items()]
    table = TextTable(
        title=f"Tasks, size={size}; metric: accuracy over every test example",
        columns=("task", "classes", "length", "train / dev / test", "data here", "terms", "what"),
        rows=rows,
        optional=("what", "terms"),
        prose=("data here", "terms", "what"),
    )
    print_text_table(make_console(), table)


def _task_row(name: str, path: Path, size: str, data: Path) -> list[str]:
    from lra.config import store_dir
    from lra.data.manifest import MANIFEST, SPLITS, read_manifest

    cfg = _with_task(name, path, size)
    cfg.paths = {"data": str(data)}
    spec, sized = cfg.task.spec, cfg.task.sizes.get(size)
    counts = "–" if sized is None else " / ".join(map(_count, (sized.get(split) for split in SPLITS)))
    if sized is not None and "images" in sized:
        counts = f"{sized.images:,} together"
    folder, here = store_dir(cfg), f"no; lra prepare task={name} size={size}"
    if sized is None:
        here = f"it has no size={size}"
    elif (folder / MANIFEST).exists():
        manifest = read_manifest(folder)
        here = f"yes, {manifest['origin']}"
        counts = " / ".join(
            _count(manifest["splits"][split]["count"] if split in manifest["splits"] else None) for split in SPLITS
        )
    length = "–" if sized is None else f"{spec.seq_len:,}"
    terms = re.search(r"^# Terms: (.+?)\.?$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return [
        name,
        str(spec.num_classes),
        f"{spec.num_sequences} × {length}" if spec.num_sequences > 1 else length,
        counts,
        here,
        terms[1] if terms else "–",
        _about(path),
    ]


def _with_task(name: str, path: Path, size: str) -> DictConfig:
    """Read a task's file, whose numbers refer to the size; a file with a defaults list of its own is composed."""
    from omegaconf import OmegaConf

    from lra.config import load_config, without_defaults

    task = without_defaults(path)
    if task is None:
        return load_config("show", [f"task={name}", f"size={size}"])
    return OmegaConf.create({"task": task, "size": {"name": size}, "paths": None})


def _count(count: int | None) -> str:
    return "–" if count is None else f"{count:,}"
