"""The settings of a protocol with models and recipes of its own, and published accuracies beside runs of exactly them.

`PROTOCOL_settings.json` has them for each task. As those of the paper, they are facts: they are not read from `conf/`,
and a test compares the file with the configuration. `python -m tests.results.make_s4_settings` writes it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from lra.results.reference import REFERENCE_STDS, REFERENCES
from lra.runs.schema import Record

SETS_BY_TASK = ("model", "mixer")  # groups in which such a protocol sets options for each task
NOT_SET = ("model.positions",)  # which depend on the mixer
PRECISION = "32-true"


def family_settings(protocol: str, task: str) -> Mapping[str, Any] | None:
    """Return the settings of the method whose accuracies are published; None for another protocol or task."""
    settings: Mapping[str, Any] | None = _file(protocol).get(task)
    return settings


@functools.cache
def _file(protocol: str) -> Mapping[str, Any]:
    path = Path(__file__).with_name(f"{protocol}_settings.json")
    known: Mapping[str, Any] = {}
    if protocol in REFERENCES and protocol != "paper" and path.is_file():
        known = json.loads(path.read_text(encoding="utf-8"))
    return known


def published_in_family(record: Record, reference: str) -> tuple[float | None, float | None]:
    """Return the accuracy, in percent, and its standard deviation over seeds that a source has for a run's settings.

    Both are None unless the settings are the source's, but for the machine and for the initialisation, which names the
    source's row, as `s4d (init=inv)`; and if the data is no stand-in.
    """
    task, settings = record["identity"]["task"], cast(dict[str, Any], record["settings"])
    theirs = family_settings(reference, task)
    if theirs is None or record["provenance"]["data_origin"] == "stand-in" or "mixer" not in settings:
        return None, None
    init = settings["mixer"].get("init")
    expected = {**theirs, "mixer": {**theirs["mixer"], "init": init}}
    if {**settings, "trainer": None} != {**expected, "trainer": None}:
        return None, None
    if settings["trainer"].get("precision") != PRECISION:
        return None, None
    method = record["identity"]["attention"] + ("" if init == theirs["mixer"]["init"] else f" (init={init})")
    accuracy, std = (table[reference].get(method, {}).get(task) for table in (REFERENCES, REFERENCE_STDS))
    return accuracy, std
