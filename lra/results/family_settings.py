"""The settings of a protocol with models and recipes of its own, for published accuracies beside runs of exactly them.

`PROTOCOL_settings.json` has them for each task. As those of the paper, they are facts: they are not read from `conf/`,
and a test compares the file with the configuration. `python -m tests.results.make_s4_settings` writes it.
"""

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from lra.runs.schema import Record

FAMILIES = ("s4",)  # protocols with such a file
SETS_BY_TASK = ("model", "mixer")  # groups in which such a protocol sets options for each task
NOT_SET = ("model.positions",)  # which depend on the mixer
PRECISION = "32-true"


def family_settings(protocol: str, task: str) -> Mapping[str, Any] | None:
    """Return the settings of the method whose accuracies are published; None for another protocol or task."""
    settings: Mapping[str, Any] | None = _file(protocol).get(task)
    return settings


@functools.cache
def _file(protocol: str) -> Mapping[str, Any]:
    known: Mapping[str, Any] = {}
    if protocol in FAMILIES:
        known = json.loads(Path(__file__).with_name(f"{protocol}_settings.json").read_text(encoding="utf-8"))
    return known


def method_in_family(record: Record, reference: str) -> str | None:
    """Name the row of a source's table that a run's settings are those of, such as `s4d (init=inv)`.

    None unless the settings are the source's, but for the machine and for the initialisation, which names the row; and
    if the data is no stand-in.
    """
    settings = cast(dict[str, Any], record["settings"])
    theirs = family_settings(reference, record["identity"]["task"])
    if theirs is None or record["provenance"]["data_origin"] == "stand-in" or "mixer" not in settings:
        return None
    init = settings["mixer"].get("init")
    expected = {**theirs, "mixer": {**theirs["mixer"], "init": init}}
    if {**settings, "trainer": None} != {**expected, "trainer": None}:
        return None
    if settings["trainer"].get("precision") != PRECISION:
        return None
    return record["identity"]["attention"] + ("" if init == theirs["mixer"]["init"] else f" (init={init})")
