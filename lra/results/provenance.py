"""What belongs under every table: where the data came from, on what it was computed."""

from __future__ import annotations

from lra.results.collect import Record


def provenance_notes(records: list[Record]) -> list[str]:
    """Lines about the records of one task; none for no records."""
    if not records:
        return []
    task = records[0]["identity"]["task"]
    origins = sorted({record["provenance"]["data_origin"] for record in records})
    machines = sorted({f"{record['cost']['device']}, {record['cost']['precision']}" for record in records})
    notes = [f"data: {', '.join(origins)}; {'; '.join(machines)}; tested with the checkpoint that was best on dev."]
    if any(record["identity"].get("dev_split") == "test" for record in records):
        notes.append("The dev split is the test split, as the paper's.")
    if "stand-in" in origins:
        notes.append(f"The data only stand in for {task}: no result of that task.")
    return notes
