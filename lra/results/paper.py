"""Find out how a run's settings differ from the paper's: only a run without differences is compared with the paper.

The paper's settings are in `paper_settings.json`. They are facts, so they are not read from `conf/`: a changed default
there must not redefine which runs are the paper's. A test compares the file with the settings of
`lra train task=T attention=A protocol=paper size=full`, so that neither can change alone.
`python -m tests.results.make_paper_settings` writes the file.
"""

import functools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from lra.results.reference import REFERENCES, TEST_EXAMPLES, paper_accuracy
from lra.runs.flatten_settings import NOT_RECORDED, FlatSettings, branches, flatten
from lra.runs.schema import Record

FILE = Path(__file__).with_name("paper_settings.json")
PRECISIONS = ("32-true", "16-mixed")  # our default, and that of the released code
# A run may differ here: only rounding and random draws change, or it is not certain which of both the paper's runs had.
NOT_COMPARED = ("trainer.accelerator", "trainer.compile", "trainer.fused_optimizer", "task.listops_brackets")
# Keys of a protocol that are compared. All other switches are compared through the settings of the attention, model or
# task that use them, so that a switch of Performer does not matter for a run of Nyström.
ACTING_ALONE = ("name", "test_last_batch")


@functools.cache
def _parts() -> dict[str, Any]:
    parts: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return parts


def paper_settings(task: str, attention: str) -> dict[str, Any] | None:
    """Build the settings of the paper's run in the form of a record; None if the paper has no such run."""
    parts = _parts()
    if task not in parts["task"] or attention not in parts["attention"]:
        return None
    chosen = {group: parts[group] for group in ("protocol", "model", "size", "trainer")}
    return chosen | {
        "task": parts["task"][task],
        "recipe": parts["recipe"][task],
        "attention": parts["attention"][attention],
    }


def paper_attention(attention: str) -> dict[str, Any]:
    """The options that the paper's runs give an attention, which are its defaults; empty for one it does not have."""
    options: dict[str, Any] = _parts()["attention"].get(attention, {})
    return options


def deviations_from_paper(record: Record) -> list[str]:
    """List in words how a run differs from the paper's; the list is empty for the paper's own settings and data.

    The precision may be float32 or the released code's fp16, the machine any. A setting that was not recorded counts
    as a difference; such settings come last, whole groups first.
    """
    identity, origin = record["identity"], record["provenance"]["data_origin"]
    if identity["size"] != "full":
        return [f"size={identity['size']}"]
    if origin == "stand-in":
        return ["stand-in data"]
    papers = paper_settings(identity["task"], identity["attention"])
    if papers is None:
        return ["not in the paper"]
    ours, theirs = _compared(record["settings"]), _compared(papers)
    free = {*NOT_COMPARED, *(("trainer.precision",) if ours.get("trainer.precision") in PRECISIONS else ())}
    differences = [
        f"{key}={value}" + (f" for {theirs[key]}" if key in theirs else "")
        for key, value in ours.items()
        if key not in free and theirs.get(key) != value
    ]
    examples, tested = TEST_EXAMPLES[identity["task"]], record["outcome"]["test_examples"]
    if tested != examples:
        differences.append(f"{tested:,} test examples for {examples:,}")
    missing = branches([key for key in theirs if key not in ours and key not in free], ours)
    return differences + [
        f"{key} {NOT_RECORDED}" for key in sorted(missing, key=lambda key: (key.count("."), "._" in key, key))
    ]


def shorten(reasons: Sequence[str], *, most: int) -> str:
    """Word deviations in short: the first `most` different settings, and the first `most` that were not recorded."""
    suffix = f" {NOT_RECORDED}"
    different = [reason for reason in reasons if not reason.endswith(suffix)]
    missing = [reason.removesuffix(suffix) for reason in reasons if reason.endswith(suffix)]
    parts = [_few(different, most)] if different else []
    return "; ".join(parts + ([f"{NOT_RECORDED}: {_few(missing, most)}"] if missing else []))


def _few(texts: Sequence[str], most: int) -> str:
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {more} more" if more > 0 else "")


def _compared(settings: Mapping[str, Any]) -> FlatSettings:
    """Flatten those settings that decide whether a run is the paper's."""
    protocol = {key: value for key, value in settings["protocol"].items() if key in ACTING_ALONE}
    return flatten({**settings, "protocol": protocol})


def published_accuracy_for(record: Record, reference: str) -> float | None:
    """Return the published accuracy, in percent, to show beside a run; None if there is none.

    The paper's accuracy is shown only for runs with the paper's settings. Other sources have other settings anyway, so
    their accuracies are shown, for information, for all runs of size=full with the paper's model on the task's data.
    """
    identity = record["identity"]
    if reference == "paper":
        return None if deviations_from_paper(record) else paper_accuracy(identity["attention"], identity["task"])
    papers = _parts()
    whole = identity["size"] == "full" and record["provenance"]["data_origin"] != "stand-in"
    if not whole or identity["task"] not in papers["task"] or record["settings"].get("model") != papers["model"]:
        return None
    return REFERENCES[reference].get(identity["attention"], {}).get(identity["task"])
