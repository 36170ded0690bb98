"""Blocks on the short table and on the longer Pathfinder: accuracies, and which differences are significant."""

from collections.abc import Callable, Iterable, Iterator

from docs.blocks.markdown import joined, prose, table, table_printed, verdict
from docs.blocks.published import accuracy, cells, printed, records
from lra.base.spread import binomial_error
from lra.base.text import MISSING, number
from lra.runs.published_numbers import PAPER
from lra.runs.schema import Record
from lra.tables.statistics.significance import RULE
from lra.tables.task_statistics import NO_ATTENTION, above_no_attention, agreement_by_task, separation_by_task

TABLE = "table show run_group=published/short_table.jsonl size=short"
LONGER = (
    "compare show task=pathfinder run_group=published/short_longer.jsonl size=short"
    " attention=linformer,full,nystrom,performer,reformer,none"
)
COMPARE = "compare show task=listops run_group=published/short_table.jsonl size=short"


def hours() -> str:
    """The hours of the short table."""
    took = sum(record.train_seconds for record in records("short_table")) / 3600
    return prose(f"The runs took {took:.0f} hours of one core in all; `lra table plan` estimates yours.")


def differences() -> str:
    """What the short table can tell apart, with names."""
    found = records("short_table")
    text = [record for record in found if record.task == "text"]
    others = [record for record in text if record.method != "linformer"]
    rows = [*_differences(found), *_differences(others, " without `linformer`")]
    return _differences_table(rows)


def longer_differences() -> str:
    """The same for the longer Pathfinder."""
    found = records("short_longer")
    mixing = [record for record in found if record.method != NO_ATTENTION]
    return _differences_table([*_differences(found), *_differences(mixing, f" without `{NO_ATTENTION}`")])


def _differences(found: list[Record], said: str = "") -> Iterator[tuple[str, ...]]:
    above = above_no_attention(found)
    for task, spread in separation_by_task(found).items():
        yield (
            f"{task}{said}",
            f"{spread.between:.2f} / {spread.within:.2f}",
            f"{spread.pairs} of {spread.compared}",
            f"{spread.best}, {spread.worst}",
            number(max(above[task].points.values()), sign=True) if task in above else MISSING,
            str(above[task]) if task in above else MISSING,
        )


def _differences_table(rows: Iterable[tuple[str, ...]]) -> str:
    columns = ("task", "between-method SD / between-seed SD", "pairs that differ significantly", "best, worst")
    return table((*columns, f"best − `{NO_ATTENTION}`", f"significantly above `{NO_ATTENTION}`"), rows)


def orders() -> str:
    """Whether the tables order attentions as published ones do."""
    rows = [
        (f"{said}{task}", whose, *_order(found, task, whose))
        for said, found in (("", records("short_table")), ("longer ", records("short_longer")))
        for whose in ("paper", "google")
        for task in agreement_by_task(found, reference=whose)
        if not said or whose == "paper"
    ]
    return table(("task", "`reference=`", "attentions", "τ [95 % of resampled seeds]", "p"), rows)


def _order(found: list[Record], task: str, whose: str) -> tuple[str, str, str]:
    order = agreement_by_task(found, reference=whose)[task]
    tau = f"{order.tau:+.2f}" + ("" if order.low is None else f" [{order.low:+.2f}, {order.high:+.2f}]")
    return str(order.attentions), tau.replace("-", "−"), verdict(order.p_value, ".2f")


def compared(command: str) -> Callable[[], str]:
    """A block with methods compared with the first of them, and how many of the differences are significant."""

    def block() -> str:
        (said,) = (line.removesuffix(RULE) for line in printed(command).splitlines() if line.endswith(RULE))
        return f"{table_printed(command)()}\n\n{prose(said)}"

    return block


def text_longer() -> str:
    """Seed 0 of the short Text, of more steps and of longer reviews."""
    chosen = [record for record in records("short_table") if record.task == "text"]
    kinds = [chosen, records("short_text_longer"), records("short_text_1000")]
    found = [{each.method: each for each in kind if each.seed == 0} for kind in kinds]
    names = sorted({name for kind in found[1:] for name in kind})
    rows = []
    for kind in found:
        first = next(iter(kind.values()))
        error = binomial_error(first.test_accuracy, first.outcome["test_examples"])
        settings = first.settings["task"].get("data", {})
        rows.append(
            (
                f"{settings['max_length']:,}",
                f"{first.steps:,}",
                *(f"{accuracy(kind[name]):.2f}" if name in kind else MISSING for name in names),
                f"{100 * error:.1f}",
            )
        )
    paper = [number(PAPER.get(name, {}).get("text")) for name in names]
    rows.append(("4,000: the paper's", "20,000", *paper, MISSING))
    return table(("bytes of a review", "steps", *(f"`{name}`" for name in names), "standard error of a test"), rows)


def spread_of_seeds() -> str:
    """By how much seeds of equal settings differ."""
    words = []
    for said, name, task in (("full ListOps", "listops", "listops"), ("short Pathfinder", "short_table", "pathfinder")):
        rows = cells([record for record in records(name) if record.task == task])
        apart = {row: max(cell.accuracies) - min(cell.accuracies) for row, cell in rows.items()}
        most = max(apart, key=apart.__getitem__)
        words.append(f"{apart[most]:.1f} points on the {said} (`{most}`)")
    return prose(f"Two runs with the same settings and other seeds differ by up to {joined(words)}.")
