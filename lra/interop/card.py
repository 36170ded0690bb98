"""The model card of an exported run: what it is, what it reaches, what it was made from, how it is loaded."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lra.base.text import for_markdown, visible
from lra.results.statistics import binomial_error
from lra.runs.schema import MIXERS, Record

USE = """\
```python
import lra

model = lra.load_exported("{folder}"{trusted})
logits = model(tokens, {mask})  # tokens [B, {sequences}, {length}] → logits [B, {classes}]
```
"""


def model_card(record: Record, config: Mapping[str, Any], *, folder: str, trusted: str | None) -> str:
    """Write the card as Markdown with the header that model hubs read.

    Args:
        record: the run's record.
        config: the settings that the model is built from, see `lra.interop.exported.ExportedConfig`.
        folder: name of the folder that the card stands in.
        trusted: package of the user's own that the model needs; None: none.
    """
    identity, outcome, provenance = record["identity"], record["outcome"], record["provenance"]
    named = f"{identity['attention']} on {identity['task']}"
    method = next(record["settings"][group] for group in MIXERS if group in record["settings"])
    knobs = ", ".join(f"{key}={value}" for key, value in method.items() if key not in ("name", "_target_", "_partial_"))
    error = binomial_error(outcome["test_accuracy"], outcome["test_examples"])
    accuracy = (
        f"{outcome['test_accuracy']:.2%} ± {100 * error:.2f} % (standard error of n = {outcome['test_examples']})"
    )
    rows = {
        "task": f"{identity['task']}, size {identity['size']}",
        "attention": identity["attention"],
        "its settings": knobs or "none",
        "protocol": identity["protocol"],
        "test accuracy": accuracy,
        "majority class": f"{outcome['majority_rate']:.2%}",
        "best dev accuracy": f"{outcome['best_dev_accuracy']:.2%}, at step {outcome['best_step']}",
        "steps": str(outcome["steps"]),
        "seed": str(identity["seed"]),
        "parameters": f"{record['cost']['parameters']:,}",
        "data": f"{provenance['data_origin']}: {_pairs(provenance['data_sha256'])}",
        "versions": _pairs(provenance["versions"]),
        "commit": provenance.get("git_commit") or "not recorded",
        "hash of the settings": provenance["config_hash"],
        "finished": provenance["finished_at"],
    }
    table = [f"| {name} | {for_markdown(visible(value))} |" for name, value in rows.items()]
    task = config["task"]
    use = USE.format(
        folder=visible(folder).replace("\\", "\\\\").replace('"', '\\"'),
        trusted=f', trusted=["{trusted}"]' if trusted else "",
        mask="tokens != 0" if config["mask_zero"] else "None",
        sequences=task["num_sequences"],
        length=task["seq_len"],
        classes=task["num_classes"],
    )
    warning = [] if provenance["data_origin"] == "official" else [_NOT_OFFICIAL.format(provenance["data_origin"]), ""]
    lines = [
        *_header(identity["task"], identity["attention"]),
        f"# {for_markdown(visible(named))}",
        "",
        "A model of the Long Range Arena benchmark harness `lra`: one of several attentions in the same encoder.",
        "",
        *warning,
        "|  |  |",
        "|---|---|",
        *table,
        "",
        "## Use",
        "",
        use,
    ]
    return "\n".join(lines)


_NOT_OFFICIAL = "Its data are not the benchmark's official ones but `{}`: the accuracy is no result of the benchmark."


def _header(task: str, attention: str) -> list[str]:
    tags = json.dumps(["long-range-arena", task, attention])
    return ["---", "library_name: lra", f"tags: {tags}", 'metrics: ["accuracy"]', "---", ""]


def _pairs(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
