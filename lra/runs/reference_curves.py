"""The place of a run among the published runs with its settings and data, by when each converged."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from lra.runs.collection import Collection, collect
from lra.runs.convergence import convergence_step, has_judged_curve, step_of_curve
from lra.runs.groups import PUBLISHED_FOLDER
from lra.runs.schema import DevCurve, Record

NO_CURVE: DevCurve = {"step": [], "accuracy": []}


def published_curves(runs: Path, settings_hash: str = "", *, known: Collection | None = None) -> list[Record]:
    """Read the published records with a dev curve below the folder of runs: all, or those of settings with a hash.

    They are chosen from `known`, if all published records have been read already.
    """
    published = (known or collect(runs / PUBLISHED_FOLDER, containing=settings_hash)).records
    return [record for record in published if has_judged_curve(record)]


def references_of(
    published: Iterable[Record], settings_hash: str, data_sha256: Mapping[str, str], seed: int
) -> list[Record]:
    """Choose the published runs with the same settings and data, and other seeds."""
    same = [record for record in published if record.config_hash == settings_hash]
    of_data = [record for record in same if record.provenance["data_sha256"] == data_sha256]
    return [record for record in of_data if record.seed != seed]


def place_among(curve: DevCurve, references: Sequence[Record]) -> str:
    """Word where the dev passes of a run, finished or not, are among its reference seeds, by when each converged.

    Empty without reference seeds or without a dev pass.
    """
    if not references or not curve["step"]:
        return ""
    example, last = references[0], curve["step"][-1]
    own = step_of_curve(curve, example)
    steps = [step for record in references if (step := convergence_step(record)) is not None]
    before = [step for step in steps if step <= (last if own is None else own)]
    counted = f"{len(before)} of {len(references)} reference seeds had"
    if own is not None:
        return f"converged at step {own:,}; {counted} by then"
    by = f" by step {max(before):,}; this run has not" if before else "; nor has this run"
    return f"{counted} converged{by} at {last:,}"


def place_of(record: Record, published: Iterable[Record]) -> str:
    """Place a finished run, in words."""
    provenance = record.provenance
    references = references_of(published, provenance["config_hash"], provenance["data_sha256"], record.seed)
    return place_among(record.outcome.get("dev_curve", NO_CURVE), references)
