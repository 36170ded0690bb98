"""The paper's own settings, and how a run differs from them: only runs without a difference are compared with it.

`paper_settings.json` holds them as data beside the reference numbers, and not what `conf/` composes at the moment:
they are facts of the paper, so a change of a default must not make other runs "the paper's". A test composes
`lra train task=T attention=A protocol=paper size=full` and compares, so that neither can change alone;
`python -m tests.results.make_paper_settings` writes the file anew.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lra.results.reference import REFERENCES, TEST_EXAMPLES, paper_accuracy
from lra.results.schema import Record
from lra.results.settings import NOT_RECORDED, Flat, branches, flat

FILE = Path(__file__).with_name("paper_settings.json")
PRECISIONS = ("32-true", "16-mixed")  # ours, and the released runs' own
FREE = ("trainer.accelerator", "trainer.compile")  # a run may differ in these: they move rounding and dropout's draws
# Switches of a protocol that act by themselves. The others act through the attention, the model and the task, where
# their values stand and are compared: so a switch of Performer says nothing about a run of Nyström.
ACTING_ALONE = ("name", "test_last_batch")


@functools.cache
def _parts() -> dict[str, Any]:
    parts: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return parts


def paper_settings(task: str, attention: str) -> dict[str, Any] | None:
    """Settings of the paper's run, as `lra.config.settings` gives them; None where the paper has no such cell."""
    parts = _parts()
    if task not in parts["task"] or attention not in parts["attention"]:
        return None
    chosen = {group: parts[group] for group in ("protocol", "model", "size", "trainer")}
    return chosen | {
        "task": parts["task"][task],
        "recipe": parts["recipe"][task],
        "attention": parts["attention"][attention],
    }


def departures(record: Record) -> list[str]:
    """What sets a run apart from the paper's, in words; none for a run of the paper's own settings and data.

    The precision may be ours (float32; the released runs' was fp16), the machine any. What was not recorded is not
    taken for the paper's; it comes last, whole groups of settings first.
    """
    identity, origin = record["identity"], record["provenance"]["data_origin"]
    if identity["size"] != "full":
        return [f"size={identity['size']}"]
    if origin == "stand-in":
        return ["stand-in data"]
    papers = paper_settings(identity["task"], identity["attention"])
    if papers is None:
        return ["not in the paper"]
    mine, theirs = _compared(record["settings"]), _compared(papers)
    free = {*FREE, *(("trainer.precision",) if mine.get("trainer.precision") in PRECISIONS else ())}
    said = [
        f"{key}={word}" + (f" for {theirs[key]}" if key in theirs else "")
        for key, word in mine.items()
        if key not in free and theirs.get(key) != word
    ]
    examples, tested = TEST_EXAMPLES[identity["task"]], record["outcome"]["test_examples"]
    if tested != examples:
        said.append(f"{tested:,} test examples for {examples:,}")
    missing = branches((key for key in theirs if key not in mine and key not in free), mine)
    return said + [
        f"{key} {NOT_RECORDED}" for key in sorted(missing, key=lambda key: (key.count("."), "._" in key, key))
    ]


def in_short(reasons: Sequence[str], *, most: int) -> str:
    """Departures for a reader: the first few of what is different, and of what was not recorded."""
    suffix = f" {NOT_RECORDED}"
    different = [reason for reason in reasons if not reason.endswith(suffix)]
    missing = [reason.removesuffix(suffix) for reason in reasons if reason.endswith(suffix)]
    parts = [_few(different, most)] if different else []
    return "; ".join(parts + ([f"{NOT_RECORDED}: {_few(missing, most)}"] if missing else []))


def _few(words: Sequence[str], most: int) -> str:
    more = len(words) - most
    return ", ".join(words[:most]) + (f" and {more} more" if more > 0 else "")


def _compared(settings: Mapping[str, Any]) -> Flat:
    """What of some settings decides whether they are the paper's."""
    protocol = {key: value for key, value in settings["protocol"].items() if key in ACTING_ALONE}
    return flat({**settings, "protocol": protocol})


def beside(record: Record, reference: str) -> float | None:
    """The published accuracy, in percent, that a run may be compared with; None if there is none.

    The paper's stands beside runs of its own settings alone. Those of other sources are of other settings in any case,
    and stand for information beside whole runs of the paper's model on the task's data.
    """
    identity = record["identity"]
    if reference == "paper":
        return None if departures(record) else paper_accuracy(identity["attention"], identity["task"])
    papers = paper_settings(identity["task"], identity["attention"])
    whole = identity["size"] == "full" and record["provenance"]["data_origin"] != "stand-in"
    if not whole or papers is None or record["settings"].get("model") != papers["model"]:
        return None
    return REFERENCES[reference].get(identity["attention"], {}).get(identity["task"])
