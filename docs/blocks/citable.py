"""Blocks on what may be cited: what each published file of runs is, from which data, on what machine."""

from docs.blocks.markdown import ends, joined, table
from docs.blocks.published import LOST, PUBLISHED, records
from lra.base.probes import probe_named
from lra.runs.published_numbers import deviations_from_paper
from lra.runs.schema import Record

NO_RUNS = ("busy_machine", "data", "setup", "speed", "time_series")  # files of other measurements
GIB = 2**30


def benchmark() -> str:
    """The runs of full size with the paper's settings: what may be cited as the benchmark's."""
    rows = []
    for name in _files():
        for (task, attention), members in _by_method(_of_size(name, full=True)).items():
            rows.append((f"`{name}`", task, f"`{attention}`", *_numbers(members, of_each=True)))
    columns = ("file", "task", "method", "seeds", "data", "hours of a run", "GiB", "commits")
    return table(columns, rows)


def others() -> str:
    """The other runs, by file: what may not."""
    rows = []
    for name in _files():
        members = _of_size(name, full=False)
        if members:
            tasks = joined(sorted({each.task for each in members}))
            methods = len({each.method for each in members})
            kind = "probes" if probe_named(members[0].task) else _sizes(members)
            rows.append((f"`{name}`", kind, tasks, str(methods), *_numbers(members, of_each=False)))
    columns = ("file", "what", "tasks", "methods", "seeds", "data", "hours in all", "GiB", "commits")
    return table(columns, rows)


def commits_of(members: list[Record]) -> str:
    """Name the commits of some runs that are in the history, and count the others."""
    commits = {record.provenance["git_commit"] for record in members}
    kept, lost = ", ".join(sorted(str(commit)[:8] for commit in commits - {*LOST})), commits & {*LOST}
    return joined(part for part in (kept, f"{len(lost)} squashed" if lost else "") if part)


def _files() -> list[str]:
    return [path.stem for path in sorted(PUBLISHED.glob("*.jsonl")) if path.stem not in NO_RUNS]


def _of_size(name: str, *, full: bool) -> list[Record]:
    """The records of a file that are the benchmark's tasks at full size with the paper's settings, or all others."""

    def is_full(record: Record) -> bool:
        of_the_benchmark = record.size == "full" and not probe_named(record.task)
        return of_the_benchmark and not deviations_from_paper(record)

    return [record for record in records(name) if is_full(record) is full]


def _sizes(members: list[Record]) -> str:
    sizes = sorted({record.size for record in members})
    return joined("other settings" if size == "full" else f"`size={size}`" for size in sizes)


def _by_method(members: list[Record]) -> dict[tuple[str, str], list[Record]]:
    groups: dict[tuple[str, str], list[Record]] = {}
    for record in members:
        groups.setdefault((record.task, record.method), []).append(record)
    return groups


def _numbers(members: list[Record], *, of_each: bool) -> tuple[str, str, str, str, str]:
    """Seeds, origin of the data, hours, the largest memory and the commits of some runs."""
    seeds = {record.seed for record in members}
    origins = {record.data_origin for record in members}
    hours = [record.train_seconds / 3600 for record in members]
    return (
        str(len(seeds)),
        joined(sorted(origins)),
        ends(hours, ".1f") if of_each else f"{sum(hours):.1f}",
        f"{max(record.cost['peak_memory_bytes'] for record in members) / GIB:.1f}",
        commits_of(members),
    )
