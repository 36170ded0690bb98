"""Rewrite records of versions before 0.1.0 as 0.1.0 writes them: with every setting, and the hash of all of them.

    python runs/published/before_0_1_0/rewrite.py FILE.jsonl …

Until then a setting that came later was neither recorded nor hashed at the value that acts as the code did before it;
`VALUES` has those settings with these values. `REMOVED` are settings without which the code acts as with these values.
A record's numbers stay as they are. `hashes.json` has, for each published record, its hash before and after.

A record of before version 2 of the schema keeps its hash, which covers settings that it does not hold. A record that is
already rewritten stays as it is.
"""

import json
import sys
from pathlib import Path
from typing import Any

from lra.base.files import replace_text
from lra.runs.settings_hash import hash_of

HASHES = Path(__file__).with_name("hashes.json")
# Keys: a class that a group names in `_target_`, a config group, or a choice of a config group.
VALUES: dict[str, dict[str, Any]] = {
    "lra.attention.nystrom.NystromAttention": {
        "landmark_rule": "segment_means",
        "landmark_source": "both",
        "kmeans_steps": 3,
        "coarse_landmarks": 0,
        "pinv_ridge": 1e-3,
        "masking": "all",
        "exact_when_short": True,
        "value_skip_form": "convolution",
    },
    "lra.model.classifier.SequenceClassifier": {
        "packed": "auto",
        "attention_dtype": "float32",
        "head": "hidden",
        "norm": "layer",
        "norm_place": "before",
        "inputs": "tokens",
        "positions": "learned",
        "vocab_size": None,
        "token_std": 0.02,
        "embedding_dropout": True,
        "tied_dropout": False,
    },
    "lra.mixers.s4d.S4D": {
        "copies": None,
        "step_form": "exp",
        "backward": "with_present",
        "inner_dropout": False,
    },
    "protocol": {
        "listops_brackets": "kept",
        "pixels": "tokens",
        "text_symbols": "bytes",
        "end_token": False,
        "padding": "task",
    },
    "task=listops": {"listops_brackets": "kept", "vocabulary": 18},
    "task=text": {"vocabulary": 134, "least_count": 15},
    "task=retrieval": {"vocabulary": 98, "least_count": 1},
    "task=image": {"pixel_mean": 0.4807843137254902, "pixel_std": 0.23921568627450981},
    "task=pathfinder": {"pixel_mean": 0.0, "pixel_std": 1.0},
    "task=pathx": {"pixel_mean": 0.0, "pixel_std": 1.0},
}
VALUES["attention=nystrom"] = VALUES["lra.attention.nystrom.NystromAttention"]  # version 1 did not record the class
REMOVED: dict[str, dict[str, Any]] = {"lra.attention.nystrom.NystromAttention": {"causal": False}}


def rewritten(record: dict[str, Any]) -> dict[str, Any]:
    """Copy a record, with the settings and the hash of 0.1.0.

    Raises:
        SystemExit: when the hash of a record of version 2 or later is not that of its settings, or a removed setting
            has a value that the code does not have.
    """
    settings = {name: _with_all(name, group) for name, group in record["settings"].items()}
    before = record["provenance"]["config_hash"]
    if hash_of(record["settings"]) != before and record.get("migrated_from") != 1:
        raise SystemExit(f"the settings of a record do not have its hash, {before}")
    after = before if record.get("migrated_from") == 1 else hash_of(settings)
    return {**record, "settings": settings, "provenance": {**record["provenance"], "config_hash": after}}


def _with_all(name: str, group: dict[str, Any]) -> dict[str, Any]:
    target = str(group.get("_target_"))
    later = {}
    for key in (target, name, f"{name}={group.get('name')}"):
        later |= VALUES.get(key, {})
    removed = REMOVED.get(target, {})
    wrong = [key for key, value in removed.items() if group.get(key, value) != value]
    if wrong:
        raise SystemExit(f"{name}.{wrong[0]}={group[wrong[0]]} is no setting of 0.1.0")
    kept = {key: value for key, value in group.items() if key not in removed}
    return {**kept, **{key: value for key, value in later.items() if key not in kept}}


def main(files: list[str]) -> None:
    """Rewrite the records of some files in place, and add their hashes to `hashes.json`."""
    hashes: dict[str, str] = json.loads(HASHES.read_text()) if HASHES.exists() else {}
    for file in files:
        lines = []
        for line in Path(file).read_text("utf-8").splitlines():
            record = json.loads(line)
            if "settings" in record and "provenance" in record:  # other files hold measurements
                now = rewritten(record)
                before, after = (each["provenance"]["config_hash"] for each in (record, now))
                if before != after:
                    hashes[before] = after
                line = line if now == record else json.dumps(now)
            lines.append(line + "\n")
        replace_text(Path(file), "".join(lines))
    replace_text(HASHES, json.dumps(dict(sorted(hashes.items())), indent=0) + "\n")


if __name__ == "__main__":
    main(sys.argv[1:])
