"""Blocks on the cost of attentions alone, from the published records of `lra bench attention`."""

from docs.blocks.markdown import joined, percent, table
from docs.blocks.published import bench
from lra.base.text import MISSING
from lra.tools.bench.record import PASS_TITLES, PASSES, BenchCell, BenchPass
from lra.tools.bench.summary import (
    FUSED,
    LRA_LENGTHS,
    MATH,
    crossover,
    median_of,
    pass_of,
    points_of,
    product_share,
    slower_at_lra_lengths,
)
from lra.tools.bench.tables import significant

MEBIBYTE = 2**20
FULL = (MATH, FUSED)
METHODS = ("full math", "full fused", "linformer", "longformer", "nystrom (num_landmarks=32)", "nystrom")
PAPERS_TABLE_1 = {  # MB and ms of full and of Nyström attention with 64 landmarks
    512: ((54, 0.8), (35, 0.7)),
    1024: ((186, 2.4), (63, 1.3)),
    2048: ((685, 10.0), (118, 2.7)),
    4096: ((2620, 32.9), (229, 5.9)),
    8192: ((10233, 155.4), (450, 12.3)),
}
PEERS = (  # ours, and the package
    ("nystrom", "nystrom-attention"),
    ("nystrom", "transformers"),
    ("linformer", "linformer "),
    ("performer", "performer-pytorch"),
    ("performer (protocol=clean)", "performer-pytorch"),
    ("local (block_length=128, neighbour_blocks=1)", "local-attention"),
    ("reformer", "reformer-pytorch"),
)


def _cells(name: str) -> dict[tuple[str, int], BenchCell]:
    return {(cell["method"], cell["length"]): cell for cell in bench(name)["cells"]}


def forward() -> str:
    """Memory and time of a forward pass for one sequence, beside the paper's."""
    batch, cells = bench("bench_attention")["settings"]["batch"], _cells("bench_attention")

    def of_one(method: str, length: int) -> str:
        measured = pass_of(cells[method, length], "forward")
        if measured is None:
            return MISSING
        bytes_of_one, seconds = measured["peak_bytes"] / batch, median_of(measured) / batch
        return f"{significant(bytes_of_one / MEBIBYTE)} / {significant(seconds * 1e3)}"

    def speed_up(reference: str, length: int) -> str:
        full, mine = (pass_of(cells[method, length], "forward") for method in (reference, "nystrom"))
        if full is None or mine is None:
            return MISSING
        return f"{full['peak_bytes'] / mine['peak_bytes']:.1f}× / {median_of(full) / median_of(mine):.1f}×"

    rows = []
    for length, ((memory, seconds), (own_memory, own_seconds)) in PAPERS_TABLE_1.items():
        papers = f"{memory / own_memory:.1f}× / {seconds / own_seconds:.1f}×"
        ours = (of_one(method, length) for method in METHODS)
        rows.append((f"{length:,}", *ours, *(speed_up(reference, length) for reference in FULL), papers))
    columns = (
        "n",
        *METHODS[:4],
        "nystrom, 32 landmarks",
        "nystrom, 64",
        "speed-up over full (math)",
        "over full (fused)",
    )
    return table((*columns, "the paper's, over full (math)"), rows)


def crossovers() -> str:
    """From which lengths on attentions are cheaper than exact attention, and how Nyström's cost grows."""
    record, cells = bench("bench_attention"), _cells("bench_attention")
    last = max(points_of(record, "nystrom", "both"))
    first, settings = last // 16, record["settings"]
    inputs_and_output = 4 * settings["batch"] * last * settings["heads"] * settings["head_dim"] * 4
    rows: dict[str, list[str]] = {
        "slower than full (fused) at the benchmark's lengths": [],
        "length from which `nystrom` is faster than full (fused)": [],
        "length from which `nystrom` needs less memory than full (fused)": [],
        f"growth of the time of `nystrom` from {first:,} to {last:,} tokens ({last // first}× the length)": [],
        f"memory of `nystrom` at {last:,} tokens, with output and gradients, over that of its inputs and output": [],
    }
    for name in PASSES:
        slower = slower_at_lra_lengths(record, name)
        lengths = [length for method, length in cells if method == "nystrom"]
        less = [n for n in lengths if _needs_less(*(pass_of(cells[each, n], name) for each in ("nystrom", FUSED)))]
        points = points_of(record, "nystrom", name)
        values = (
            "; ".join(f"{method} at {joined(f'{n:,}' for n in at)}" for method, at in slower.items()) or "none",
            str(crossover(record, "nystrom", name) or MISSING),
            f"{min(less):,}" if less else "none",
            f"{median_of(points[last]) / median_of(points[first]):.0f}×",
            f"{points[last]['peak_bytes'] / inputs_and_output:.2f}×",
        )
        for row, value in zip(rows.values(), values, strict=True):
            row.append(value)
    return table(("", *(PASS_TITLES[name] for name in PASSES)), [(said, *row) for said, row in rows.items()])


def _needs_less(mine: BenchPass | None, other: BenchPass | None) -> bool:
    return mine is not None and other is not None and mine["peak_bytes"] < other["peak_bytes"]


def peers() -> str:
    """How many times as long the same methods take in other packages."""
    cells, parity = _cells("bench_peers"), {each["peer"]: each for each in bench("bench_peers")["parity"]}
    rows = []
    for ours, package in PEERS:
        peer = _peer(package)
        ratios = (f"{_both(cells[peer, n]) / _both(cells[ours, n]):.1f}×" for n in LRA_LENGTHS)
        rows.append(
            (ours, peer, *ratios, f"{parity[peer]['error']:.0e}" if "error" in parity[peer] else "not the same")
        )
    columns = ("ours", "other package", *(f"{length:,}" for length in LRA_LENGTHS))
    return table((*columns, "error of the output (float64)"), rows)


def _peer(package: str) -> str:
    """The name of a package with its version."""
    (peer,) = {method for method, _ in _cells("bench_peers") if method.startswith(package)}
    return peer


def _both(cell: BenchCell) -> float:
    return median_of(cell["both"])


def product_shares() -> str:
    """The rate of each attention as a share of that of plain products."""
    cells = _cells("bench_attention")
    lengths, shares = (1024, 4096), {}
    for method in dict.fromkeys(method for method, _ in cells):
        measured = [pass_of(cells.get((method, length)), "both") for length in lengths]
        of_method = [product_share(each) for each in measured if each is not None]
        if method != MATH and "(" not in method and "+" not in method and len(of_method) == 2 and all(of_method):
            shares[method] = [share for share in of_method if share is not None]
    highest_first = sorted(shares.items(), key=lambda item: -item[1][-1])
    rows = [(f"`{method}`", *map(percent, both)) for method, both in highest_first]
    return table(("tokens of a sequence", *(f"{length:,}" for length in lengths)), rows)
