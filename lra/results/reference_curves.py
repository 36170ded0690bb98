"""Reference curves: the dev curves of published runs with a run's own settings and data, and its place among them."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from lra.results.convergence import convergence_step
from lra.runs.collect import collect
from lra.runs.flatten_settings import hash_of
from lra.runs.schema import DevCurve, Record

PUBLISHED = "published"  # the folder of published records below that of runs
STOP_IF_STUCK = "stop_if_stuck"  # a callback that may end a run early, but does not change its curve up to there
NO_CURVE: DevCurve = {"step": [], "accuracy": []}
LEAST_SEEDS = 3  # of the reference, before a run can be late


class Place(NamedTuple):
    """Where a run is among its reference seeds, in words; empty without such seeds.

    `late` is the last step of a run that has not converged, as a multiple of that at which the slowest reference seed
    had; 0 for a run that has, or if a reference seed has not (the run may resemble it), or with fewer than
    `LEAST_SEEDS`.
    """

    text: str = ""
    late: float = 0.0


def published_curves(runs: Path) -> list[Record]:
    """Read the published records with a dev curve below the folder of runs."""
    records = collect(runs / PUBLISHED).records
    return [record for record in records if {"dev_curve", "dev_examples"} <= record["outcome"].keys()]


def hash_without_stop(settings: Mapping[str, object]) -> str:
    """Hash settings as those of a run that `stop_if_stuck` does not end."""
    callbacks = settings.get("callbacks")
    left = {name: callbacks[name] for name in callbacks if name != STOP_IF_STUCK} if isinstance(callbacks, dict) else {}
    others = {group: options for group, options in settings.items() if group != "callbacks"}
    return hash_of({**others, **({"callbacks": left} if left else {})})


def references_of(
    published: Iterable[Record], settings_hash: str, data_sha256: Mapping[str, str], seed: int
) -> list[Record]:
    """Choose the published runs with the same settings and data, and other seeds."""
    same = [record for record in published if record["provenance"]["config_hash"] == settings_hash]
    same = [record for record in same if record["provenance"]["data_sha256"] == data_sha256]
    return [record for record in same if record["identity"]["seed"] != seed]


def place_among(curve: DevCurve, references: Sequence[Record]) -> Place:
    """Place the dev passes of a run, finished or not, among its reference seeds, by when each converged."""
    if not references or not curve["step"]:
        return Place()
    example, last = references[0], curve["step"][-1]
    own = convergence_step({**example, "outcome": {**example["outcome"], "dev_curve": curve}})
    steps = [step for record in references if (step := convergence_step(record)) is not None]
    before = [step for step in steps if step <= (last if own is None else own)]
    counted = f"{len(before)} of {len(references)} reference seeds had"
    if own is not None:
        return Place(f"converged at step {own:,}; {counted} by then")
    by = f" by step {max(before):,}; this run has not" if before else "; nor has this run"
    late = last / max(steps) if len(steps) == len(references) >= LEAST_SEEDS else 0.0
    return Place(f"{counted} converged{by} at {last:,}", late)


def place_of(record: Record, published: Iterable[Record]) -> str:
    """Place a finished run, in words."""
    settings_hash, data = hash_without_stop({**record["settings"]}), record["provenance"]["data_sha256"]
    references = references_of(published, settings_hash, data, record["identity"]["seed"])
    return place_among(record["outcome"].get("dev_curve", NO_CURVE), references).text
