"""Blocks on installing, on the data, and on the example of a time series."""

from docs.blocks.markdown import table
from docs.blocks.published import measurements
from lra.base.text import MISSING
from lra.data.manifest import SPLITS


def setup() -> str:
    """What `make setup` takes."""
    rows = [
        (
            record["torch"],
            record["python"].rpartition(".")[0],
            f"{record['seconds'] / 60:.0f}",
            f"{record['megabytes'] / 1000:.1f} GB",
        )
        for record in measurements("setup")
    ]
    return table(("build of torch", "Python", "minutes", "`.venv`"), rows)


def stores() -> str:
    """The data that was prepared here."""
    rows = []
    for made in measurements("data"):
        minutes, splits = made["seconds"] / 60, made["splits"]
        counts = [f"{splits[split]['count']:,}" if split in splits else MISSING for split in SPLITS]
        size = f"{made['store_bytes'] / 2**20:.0f} MiB"
        rows.append(
            (f"`{made['task']}`", " / ".join(counts), size, f"{minutes:.0f}" if minutes >= 10 else f"{minutes:.1f}")
        )
    return table(("task", "examples: train / dev / test", "store", "minutes"), rows)


def time_series() -> str:
    """The forecasts of the example."""
    found = measurements("time_series")
    rows = []
    for what in dict.fromkeys(record["what"] for record in found):
        seeds = sorted((record for record in found if record["what"] == what), key=lambda record: record["seed"])
        simple = (f"{seeds[0][key]:.2f}" for key in ("persistence", "linear"))
        rows.append(
            (f"`{what.removeprefix('forecast ')}`", *simple, ", ".join(f"{each['encoder']:.2f}" for each in seeds))
        )
    return table(("samples", "last value", "linear autoregression, order 60", "encoder, each seed"), rows)
