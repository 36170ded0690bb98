"""Where results come from: marks and notes on the origin of the data, device, precision and settings not recorded."""

from collections.abc import Iterable

from lra.results.reference import TASKS
from lra.runs.flatten_settings import NOT_RECORDED
from lra.runs.schema import Record

LATER_GROUPS = ("model", "recipe")  # that older records lack
TESTED = "tested with the best checkpoint by dev accuracy"
KEYS = {"task": ("data", "dev_split"), "trainer": ("accelerator",)}
MARKS = {"official": "", "unverified": "†", "pickle": "¶", "generated": "‡", "stand-in": "§", "own": ""}
MEANINGS = {
    "unverified": "† data not from the published archive",
    "pickle": "¶ data from the pickles of the Nyströmformer repository",
    "generated": "‡ data made by our own generator",
    "stand-in": "§ placeholder data: no result of that task",
}


def provenance_notes(records: list[Record]) -> list[str]:
    """Word the notes for the records of one task; no notes without records."""
    if not records:
        return []
    task = records[0]["identity"]["task"]
    origins = sorted({record["provenance"]["data_origin"] for record in records})
    devices = sorted({record["cost"]["device"] for record in records})
    placeholder = f" (placeholder data, not those of {task}: no result of that task)" if "stand-in" in origins else ""
    notes = [f"data: {', '.join(origins)}{placeholder}."]
    notes.append(f"Device: {'; '.join(devices)}, {', '.join(precisions(records))}; {TESTED}.")
    if any(record["settings"]["task"].get("dev_split") == "test" for record in records):
        whose = ", as the paper's" if task in TASKS else ""
        notes.append(f"The dev split is the test split{whose}.")
    return notes + search_notes(records) + unrecorded_notes(records)


def search_notes(records: Iterable[Record]) -> list[str]:
    """Word a note about the searches that have chosen options of the records; no note if there was none."""
    settings = [record["settings"]["tuned"] for record in records if "tuned" in record["settings"]]
    searches = sorted({(each["budget"], each["space"], each["seed"]) for each in settings})
    texts = [f"{budget} trials of each method in the space {space}, seed {seed}" for budget, space, seed in searches]
    return [f"Tuned: the best configuration by dev accuracy of {'; of '.join(texts)}."] if texts else []


def precisions(records: list[Record]) -> list[str]:
    """List the precisions of the records."""
    trainers = [record["settings"].get("trainer") for record in records]
    return sorted({NOT_RECORDED if trainer is None else trainer["precision"] for trainer in trainers})


def unrecorded_notes(records: list[Record]) -> list[str]:
    """Word a note about settings that older records do not hold; no note if all records hold them."""
    lacking: dict[tuple[str, ...], int] = {}
    for record in records:
        missing = tuple(_missing(record))
        if missing:
            lacking[missing] = lacking.get(missing, 0) + 1
    counts = [f"{count} of {len(records)} records lack {', '.join(missing)}" for missing, count in lacking.items()]
    return [f"Settings that were {NOT_RECORDED}: {'; '.join(counts)}."] if counts else []


def _missing(record: Record) -> list[str]:
    settings = record["settings"]
    groups = [group for group in LATER_GROUPS if group not in settings]
    held = {"task": settings["task"].keys(), "trainer": settings.get("trainer", {}).keys()}
    return groups + [f"{group}.{key}" for group, keys in KEYS.items() for key in keys if key not in held[group]]


def without_stand_ins(records: Iterable[Record]) -> list[Record]:
    """Leave out runs of `size=full` on placeholder data."""
    return [
        record
        for record in records
        if record["identity"]["size"] != "full" or record["provenance"]["data_origin"] != "stand-in"
    ]


def origin_notes(records: list[Record], *, left_out: int) -> list[str]:
    """Say what the marks of some records mean, and how many runs were left out."""
    origins = sorted({record["provenance"]["data_origin"] for record in records} & set(MEANINGS), key=[*MEANINGS].index)
    notes = [f"{'; '.join(MEANINGS[origin] for origin in origins)}."] if origins else []
    return notes + ([f"{left_out} records on placeholder data are left out."] if left_out else [])
