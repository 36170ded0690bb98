"""Find the blocks of the documents, and write them."""

import functools
import re
from collections.abc import Callable
from pathlib import Path

from docs.blocks import (
    citable,
    costs,
    data,
    diagnosis,
    figures,
    front,
    full_runs,
    known_ranges,
    landmarks,
    pretraining,
    short_s4,
    short_search,
    short_seconds,
    short_table,
    short_tune,
    short_window,
    speed,
    verdict_rule,
)
from docs.blocks import probes as of_probes
from docs.blocks import settings as of_settings
from docs.blocks.markdown import table_printed
from docs.blocks.published import PUBLISHED, ROOT

DOCUMENTS = (ROOT / "README.md", ROOT / "data_prep/README.md", *sorted((ROOT / "docs").glob("*.md")))
BLOCKS: dict[str, Callable[[], str]] = {
    "promise": front.promise,
    "first-run": front.first_run,
    "jobs": front.jobs,
    "standing": front.standing,
    "methods": front.methods,
    "own-attention": front.own_attention,
    "method-costs": front.method_costs,
    "method-options": front.method_options,
    "machines-differ": front.machines_differ,
    "citable": citable.benchmark,
    "not-the-benchmark": citable.others,
    "setup": data.setup,
    "full-runs": full_runs.runs,
    "full-means": full_runs.means,
    "full-converged": full_runs.converged_runs,
    "brackets": full_runs.brackets,
    "short-hours": short_table.hours,
    "short-table": table_printed(short_table.TABLE),
    "short-differences": short_table.differences,
    "short-orders": short_table.orders,
    "short-compare": short_table.compared(short_table.COMPARE),
    "short-seconds": short_seconds.seconds,
    "rule-example": verdict_rule.example,
    "rule-errors": verdict_rule.errors,
    "rule-power": verdict_rule.power_lost,
    "short-search-rates": short_search.rates,
    "short-search-schedules": short_search.schedules,
    "short-s4-search": short_s4.rates,
    "short-s4-hours": short_s4.hours,
    "short-s4-table": table_printed(short_s4.TABLE),
    "short-s4-orders": short_s4.TABLES.orders,
    "short-s4-gains": short_s4.TABLES.gains,
    "text-longer": short_table.text_longer,
    "longer-differences": short_table.longer_differences,
    "longer-compare": short_table.compared(short_table.LONGER),
    "spread-of-seeds": short_table.spread_of_seeds,
    "landmarks-pathfinder": landmarks.pathfinder,
    "landmarks-listops": landmarks.listops,
    "landmarks-others": landmarks.others,
    "tune-best": short_tune.best,
    "tune-converged": short_tune.converged,
    "tune-hours": short_tune.hours,
    "tune-accuracies": short_tune.accuracies,
    "tune-gains": short_tune.TABLES.gains,
    "tune-orders": short_tune.TABLES.orders,
    "window-accuracies": short_window.accuracies,
    "window-ranges": short_window.ranges,
    "known-ranges": known_ranges.accuracies,
    "known-ranges-in-words": known_ranges.in_words,
    "diagnosis": diagnosis.in_words,
    "diagnosis-swaps": diagnosis.swaps,
    "diagnosis-k-means": diagnosis.k_means,
    "cost": costs.forward,
    "cost-crossovers": costs.crossovers,
    "cost-peers": costs.peers,
    "cost-product-shares": costs.product_shares,
    "speed": speed.in_short,
    "speed-steps": speed.steps,
    "speed-full": speed.full,
    "speed-others": speed.others,
    "speed-formula": speed.formula,
    "speed-busy": speed.beside_busy_processes,
    "stores": data.stores,
    "time-series": data.time_series,
    "recipes": of_settings.recipes,
    "protocols": of_settings.protocols,
    "attentions": of_settings.described("attention"),
    "mixers": of_settings.described("mixer"),
    "probes": of_probes.probes,
    "probes-shown": of_probes.shown,
    "probes-before": of_probes.before,
    "probes-mamba2": of_probes.exact_beside_mamba2,
    "probes-accuracies": of_probes.accuracies,
    "probes-landmarks": of_probes.landmarks,
    "probes-capacity": of_probes.capacity,
    "probes-beyond-length": of_probes.beyond_length,
    "pretraining-compared": pretraining.compared,
    "pretraining-means": pretraining.means,
    "pretraining-stages": pretraining.both_stages,
    "deviations": of_settings.deviations,
    **{f"figure-{name}": figures.caption(name) for name in figures.CAPTIONED},
}
BLOCK = re.compile(
    r"(?P<begin>^<!-- numbers: (?P<name>[\w-]+) -->\n).*?(?P<end>^<!-- end -->$)", re.DOTALL | re.MULTILINE
)
MARKER = re.compile(r"^<!-- (numbers: .*|end) -->$", re.MULTILINE)
PICTURE = re.compile(r"!\[[^\]]*\]\(([^)]+)\)")


@functools.cache
def block(name: str) -> str:
    """Make the content of a block.

    Raises:
        KeyError: for a name that no function makes.
    """
    return BLOCKS[name]()


def names_in(text: str) -> list[str]:
    """The names of a document's blocks."""
    found = [match["name"] for match in BLOCK.finditer(text)]
    assert len(MARKER.findall(text)) == 2 * len(found), "a block has no end, or an end has no block"
    return found


def with_blocks(text: str) -> str:
    """A document with today's blocks."""
    return BLOCK.sub(lambda match: f"{match['begin']}{block(match['name'])}\n{match['end']}", text)


def pictures_of_records(document: Path) -> list[Path]:
    """The pictures beside published records that a document shows."""
    shown = [(document.parent / target).resolve() for target in PICTURE.findall(document.read_text())]
    return [path for path in shown if path.parent == PUBLISHED]
