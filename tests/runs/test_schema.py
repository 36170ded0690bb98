"""What is no record is named in one line and left out, whatever is wrong with it; the good ones beside are shown."""

import copy
import json
import subprocess
import sys

import pytest

from lra.cli import main
from lra.runs.collection import collect
from lra.runs.record import READS_EARLIER, OtherVersionError, parse_record, validated
from lra.types import UserError
from tests.conftest import ROOT
from tests.tables.records import from_version_1, make_record

OPTIONAL = {
    "outcome.test_correct", "outcome.confusion", "outcome.test_loss", "approximation", "approximation.sequences",
    "provenance.git_commit", "provenance.wandb_id", "provenance.data_check", "provenance.data_source", "migrated_from",
}  # fmt: skip
MAY_BE_NULL = {"provenance.git_commit", "provenance.wandb_id"}
DEPTH = 2  # sections and their fields; settings below them are free, but for the hash


def whole():
    record = make_record()
    record["outcome"]["test_loss"] = 1.5
    record["approximation"] = {"pinv_residual": 0.1, "attention_error": 0.2, "sequences": 16}
    record["provenance"] |= {"wandb_id": "ab12", "data_check": "sha256", "data_source": {}}
    return record


def fields(record, prefix=""):
    """Every section, and every field of one."""
    for key, value in record.items():
        yield f"{prefix}{key}", value
        if isinstance(value, dict) and prefix.count(".") < DEPTH - 1:
            yield from fields(value, f"{prefix}{key}.")


def changed(record, key, value=None, *, drop=False):
    record = copy.deepcopy(record)
    node = record
    *path, last = key.split(".")
    for part in path:
        node = node[part]
    if drop:
        del node[last]
    else:
        node[last] = value
    return record


def wrong_values(key, value):
    """A value of each wrong kind, and numbers out of every range."""
    yield from ([], "", {}, True, 1.5, "x" * 300, [[[]]])
    if isinstance(value, int | float):
        yield from (-1, float("nan"), float("inf"), 10**400, -1e300, str(value))


def damages(record):
    free = (
        "settings.",
        "provenance.versions",
        "provenance.data_sha256",
    )
    for key, value in fields(record):
        if key not in OPTIONAL:
            yield f"{key} missing", changed(record, key, drop=True)
        if key not in MAY_BE_NULL:
            yield f"{key} null", changed(record, key)
        for wrong in wrong_values(key, value):
            same_kind = type(wrong) is type(value) or (isinstance(value, float) and isinstance(wrong, int))
            if same_kind and wrong is not True and (not isinstance(wrong, int | float) or 0 <= wrong <= 1e15):
                continue  # it may be a right one
            if key.startswith(free) and isinstance(wrong, dict):
                continue
            yield f"{key}={wrong!r}"[:60], changed(record, key, wrong)


CASES = list(damages(whole()))


def test_there_are_many():
    assert len(CASES) > 400
    assert validated(whole(), "x") == whole()


def test_each_field_missing_null_of_a_wrong_type_or_out_of_range_is_named():
    accepted, unnamed = [], []
    for name, record in CASES:
        try:
            parse_record(json.dumps(record), "here.json")
            accepted.append(name)
        except UserError as error:
            if not str(error).startswith("here.json") or "\n" in str(error) or len(str(error)) > 400:
                unnamed.append((name, str(error)))
    assert not unnamed
    assert not accepted


@pytest.mark.slow
def test_the_good_ones_beside_them_are_shown_by_every_verb(home, tmp_path, capsys):
    group = home / "table"
    group.mkdir(parents=True)
    good = [make_record(attention=name, seed=seed) for name in ("nystrom", "full") for seed in range(2)]
    lines = [json.dumps(record) for record in (*good, *(record for _, record in CASES))]
    (group / "all.jsonl").write_text("\n".join([*lines, '{"identity": {"task"', "[" * 100_000, "\x1b[31m", ""]))
    (group / "folder/result.json").mkdir(parents=True)
    (group / "bytes").mkdir()
    (group / "bytes/result.json").write_bytes(b"\xff\xfe\x00")
    (group / "cut").mkdir()
    (group / "cut/result.json").write_text(json.dumps(make_record())[:-50])
    found = collect(group)
    assert len(found.records) == 4
    assert len(found.problems) == len(CASES) + 6
    assert all(problem.startswith("left out: ") and problem.isprintable() for problem in found.problems)
    commands = {
        ("table", "show", "notes=all"): "37.00 ± 0.00 (2)‡",
        ("compare", "show", "notes=all", "run_group=table"): "37.00 ± 0.00 (2)",
        ("sweep", "landmarks", "show", "notes=all", "run_group=table"): "37.00 ± 0.00 (2)",
        ("publish", "run_group=table", "name=good"): "4 records appended",
        ("import", str(group), "into=again"): "4 runs imported",
    }
    for words, said in commands.items():
        capsys.readouterr()
        assert main(list(words)) == 0, words
        out = capsys.readouterr().out
        assert said in out, words
        assert "cut/result.json" in out, words
    assert main(["report", "run_group=table", "samples=0"]) == 0
    page = (group / "report.html").read_text()
    assert "37.00 ± 0.00 (2)‡" in page
    assert "cut/result.json" in page


@pytest.mark.parametrize(
    "text, said",
    [
        ('{"a": NaN}', "is not JSON"),
        ('{"a": 1e999}', "is not JSON"),
        ('{"a": "\\ud800"}', "is not JSON"),
        ("[" * 30 + "]" * 30, "nested deeper than 20"),
        ("3", "is not a record of schema version 3"),
        ('{"schema_version": true}', "is not a record of schema version 3"),
        ('{"schema_version": 0}', "is not a record of schema version 3"),
    ],
)
def test_what_is_not_json_or_no_record(text, said):
    with pytest.raises(UserError, match=r"here\.json.*") as raised:
        parse_record(text, "here.json")
    assert said in str(raised.value)
    assert "move it away and run again" in str(raised.value)


@pytest.mark.parametrize(
    "version, advice", [(4, "update this one"), (2, f"commit {READS_EARLIER} reads"), (1, READS_EARLIER)]
)
def test_a_record_of_another_version_is_told_from_a_broken_one(version, advice):
    with pytest.raises(OtherVersionError, match=f"x is a record of schema version {version}, .*{advice}"):
        validated({**make_record(), "schema_version": version}, "x")


@pytest.mark.parametrize(
    "key, value, said",
    [
        ("settings.model.num_layers", 1, "config_hash"),
        ("identity.task", "text", "settings name it 'listops'"),
        ("outcome.steps", 4999, "settings.recipe.steps=5000"),
        ("outcome.best_step", 5001, "settings.recipe.steps=5000"),
        ("outcome.test_accuracy", 0.9, "test_correct has 0.37"),
        ("outcome.test_examples", 100, "cannot hold"),
        ("provenance.finished_at", "2026-99-01T00:00:00+00:00", "finished_at"),
    ],
)
def test_a_record_that_contradicts_itself_is_refused(key, value, said):
    with pytest.raises(UserError, match="x: ") as raised:
        validated(changed(make_record(), key, value), "x")
    assert said in str(raised.value)


def test_fields_of_later_versions_are_kept_and_not_looked_at():
    record = make_record()
    record["later"] = {"a": 1}
    record["cost"]["watts"] = 20.5
    assert validated(record, "x") == record


def test_settings_that_version_1_did_not_record_stay_missing_though_the_hash_covers_them():
    record = from_version_1(make_record())
    assert "model" not in validated(record, "x")["settings"]
    with pytest.raises(UserError, match="is not that of settings"):
        validated(changed(record, "migrated_from", 2), "x")


@pytest.mark.parametrize("path", sorted((ROOT / "runs/published").glob("*.jsonl")), ids=lambda path: path.stem)
def test_every_published_record_is_read(path):
    found = collect(path)
    assert found.problems == []
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    assert len(found.records) == sum("identity" in line for line in lines)


@pytest.mark.slow
def test_records_are_read_and_tables_made_without_torch_or_hydra():
    code = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('torch', 'hydra', 'omegaconf', 'pytorch_lightning', 'wandb'):\n"
        "            raise ImportError(name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from pathlib import Path\n"
        "from lra.runs.collection import collect\n"
        "from lra.tables.accuracy_table import accuracy_table\n"
        "print(accuracy_table(collect(Path('runs/published')).records, reference='paper').to_markdown())\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert "| nystrom" in done.stdout


def test_a_record_has_a_name_for_what_is_read_often():
    record = validated({**make_record("text", "full", 3, 0.6, protocol="clean")}, "x")
    named = (record.task, record.method, record.seed, record.protocol, record.size, record.run_group)
    assert named == ("text", "full", 3, "clean", "full", "table")
    assert record.test_accuracy == record["outcome"]["test_accuracy"] == pytest.approx(0.6, abs=1e-3)
    assert (record.best_dev_accuracy, record.majority_rate) == (0.6, 0.5)
    assert record.steps == record.settings["recipe"]["steps"]
    assert (record.train_seconds, record.data_origin) == (1800.0, "generated")
    assert record.config_hash == record.provenance["config_hash"]
    assert (record.dev_curve, record.tuned, record.approximation, record.longer) == (None, None, None, {})
    assert record == json.loads(json.dumps(record)), "it is the JSON object"
