"""The published records were rewritten by the script beside them: what it did can be undone and done again."""

import json
import runpy

import pytest

from lra.runs.settings_hash import hash_of
from tests.conftest import ROOT

PUBLISHED = ROOT / "runs/published"
SCRIPT = PUBLISHED / "before_0_1_0/rewrite.py"
FIRST = [json.loads(path.read_text("utf-8").partition("\n")[0]) for path in sorted(PUBLISHED.glob("*.jsonl"))]
HASHES = json.loads((SCRIPT.parent / "hashes.json").read_text())  # old to new
REWRITTEN = {*HASHES.values()}
BEGINNINGS = [  # of files of records, which others are not, that a version before 0.1.0 began
    first
    for first in FIRST
    if "provenance" in first and ("migrated_from" in first or first["provenance"]["config_hash"] in REWRITTEN)
]


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(str(SCRIPT))


def as_before(record: dict, values: dict) -> dict:
    """The record of the same run by a version before 0.1.0: without the later settings at the values of before."""
    settings = {}
    for name, group in record["settings"].items():
        keys = (str(group.get("_target_")), name, f"{name}={group.get('name')}")
        later = {setting: value for key in keys for setting, value in values.get(key, {}).items()}
        settings[name] = {key: value for key, value in group.items() if key not in later or value != later[key]}
    return {**record, "settings": settings, "provenance": {**record["provenance"], "config_hash": hash_of(settings)}}


@pytest.mark.parametrize("record", BEGINNINGS, ids=lambda record: record["identity"]["run_group"])
def test_a_record_of_before_becomes_the_published_one(record, script):
    if "migrated_from" in record:
        pytest.skip("its hash covers what it does not hold")
    before = as_before(record, script["VALUES"])
    assert before["settings"] != record["settings"]
    assert script["rewritten"](before) == record
    assert HASHES[before["provenance"]["config_hash"]] == record["provenance"]["config_hash"]
    assert script["rewritten"](record) == record


def test_a_record_whose_hash_is_not_that_of_its_settings_is_refused(script):
    record = next(record for record in BEGINNINGS if "migrated_from" not in record)
    wrong = {**record, "provenance": {**record["provenance"], "config_hash": "00000000"}}
    with pytest.raises(SystemExit, match="00000000"):
        script["rewritten"](wrong)


def test_each_hash_of_before_has_one_of_now():
    assert len(REWRITTEN) == len(HASHES)
    assert not set(HASHES) & REWRITTEN
    assert len(BEGINNINGS) > len(FIRST) / 2
