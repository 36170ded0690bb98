"""What tables and summaries say of a record."""

from collections.abc import Iterable

from lra.runs.schema import Record, own_model


def method_column(records: Iterable[Record]) -> str:
    """The head of the column that names rows: `attention` if every row is one, else the field's word for all, `method`.

    A mixer in the attention's place is none, and a model of the user's own need not use the attention that it is given.
    """
    settings = (record.settings for record in records)
    all_attentions = all("attention" in own and not own_model(own.get("model", {})) for own in settings)
    return "attention" if all_attentions else "method"


def steps_text(record: Record) -> str:
    """Word the number of steps, of a run that a callback has ended early `8 of 40`."""
    outcome = record.outcome
    return (f"{outcome['stopped_step']:,} of " if "stopped_step" in outcome else "") + f"{outcome['steps']:,}"


def finished_text(record: Record) -> str:
    """Word the state of a finished run."""
    ended = f", ended at step {steps_text(record)}" if "stopped_step" in record.outcome else ""
    return f"finished, {record.test_accuracy:.2%}{ended}"
