"""Count what of a source is left out, with the reason, for the manifest; ask where it is more than a little."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from data_prep.source import Request
from lra.base.printed_commands import override
from lra.types import UserError

ASKED_FROM = 0.01  # fraction of a source's examples; of more than it, `verify=false` has to answer
WHOLE_SIZE = "full"  # other sizes take a part of the examples by their meaning


@dataclass(frozen=True)
class LeftOut:
    """Examples of a source that are left out.

    Attributes:
        count: their number.
        why: what they are, such as `reviews whose names are not ID_RATING.txt`.
    """

    count: int
    why: str


def check_left_out(request: Request, path: Path, read: int, parts: Iterable[LeftOut]) -> None:
    """Ask about a source of which more than 1 % is left out.

    Args:
        request: the user's request; `verify=false` answers.
        path: the archive or folder.
        read: number of the examples that are read.
        parts: the others, by reason.

    Raises:
        UserError: with the number and the reasons.
    """
    parts = [part for part in parts if part.count]
    count = sum(part.count for part in parts)
    if request.verify and count > ASKED_FROM * (read + count):
        reasons = "; ".join(f"{part.why}: {part.count:,}" for part in parts)
        answer = override("verify", False)
        line = (
            f"{path}: {count:,} of {read + count:,} examples would be left out: {reasons}; is a part of it missing? To"
            f" go on without them: {answer}"
        )
        raise UserError(line, kind="left_out", key=str(path), value=count, right=answer)


def left_out_facts(parts: Iterable[LeftOut]) -> dict[str, object]:
    """Return what the manifest's `source` records of the examples that are left out: nothing where there are none."""
    counted = [asdict(part) for part in parts if part.count]
    return {"left_out": counted} if counted else {}


def beyond_size(request: Request, there: Mapping[str, int], taken: Mapping[str, int]) -> list[LeftOut]:
    """Count the examples of each split that the full size has no place for; they are recorded, not asked about.

    A source with more than the benchmark is asked about by its counts, and another size is what the user wants.

    Args:
        request: the user's request.
        there: number of examples of each split in the source.
        taken: number of them in the store.
    """
    if request.size != WHOLE_SIZE:
        return []
    return [
        LeftOut(there[split] - taken[split], f"{split} examples beyond the {taken[split]:,} of size={WHOLE_SIZE}")
        for split in taken
    ]
