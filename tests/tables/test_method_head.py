"""The head of the column that names rows: `attention` where all of them are, `method` where one is none."""

import copy
from typing import Any

import pytest
from rich.console import Console

from lra.run import Run
from lra.runs.record import validated
from lra.runs.settings_hash import hash_of
from lra.tables.accuracy_table import accuracy_table
from lra.tables.comparison import contenders
from lra.tables.comparison_table import comparison_table
from lra.verbs.train_summary import print_summary
from tests.tables.records import make_record


def of_s4d() -> dict[str, Any]:
    """A record of a mixer, which stands where other records have an attention."""
    record = copy.deepcopy(make_record())
    record["identity"]["attention"] = "s4d"
    del record["settings"]["attention"]
    record["settings"]["mixer"] = {"name": "s4d", "states": 64}
    return rehashed(record)


def of_own_model() -> dict[str, Any]:
    """A record of a whole model of the user's own, which may or may not use the attention that was chosen."""
    record = copy.deepcopy(make_record())
    record["identity"]["attention"] = "gru"
    record["settings"]["model"] |= {"name": "gru", "_target_": "mine.Gru"}
    return rehashed(record)


def rehashed(record: dict[str, Any]) -> dict[str, Any]:
    record["provenance"]["config_hash"] = hash_of(record["settings"])
    return record


ATTENTIONS = [make_record(), make_record(attention="full")]
CASES = {
    "attentions": (ATTENTIONS, "attention"),
    "nothing yet": ([], "attention"),
    "a mixer": ([*ATTENTIONS, of_s4d()], "method"),
    "an own model": ([*ATTENTIONS, of_own_model()], "method"),
}


@pytest.mark.parametrize("records, head", CASES.values(), ids=CASES)
def test_a_column_of_rows_has_a_head_that_is_true_of_all(records, head):
    records = [validated(record, "here") for record in records]
    table = accuracy_table(records, reference="paper")
    side_by_side = comparison_table(records, contenders(records), title="")
    assert (table.columns[0], side_by_side.columns[0]) == (head, head)
    if records:
        assert table.to_csv().startswith(f"{head},task,")
        assert side_by_side.to_csv().startswith(f"{head},task,")


@pytest.mark.parametrize(
    "record, head", [(make_record(), "attention"), (of_s4d(), "method"), (of_own_model(), "method")]
)
def test_a_finished_runs_table_too(record, head, tmp_path, capsys):
    print_summary(Console(width=120), Run(tmp_path), validated(record, "here"), tmp_path)
    heads = next(line for line in capsys.readouterr().out.splitlines() if "test accuracy" in line)
    assert heads.split()[0] == head
