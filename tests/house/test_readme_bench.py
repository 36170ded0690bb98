"""The cost of attentions in the README is that of the committed records of `lra bench attention`."""

from __future__ import annotations

from pathlib import Path

import pytest

from lra.bench.record import BENCH_RECORD, BenchCell, BenchRecord
from lra.bench.record_file import read_bench
from lra.bench.summary import median_of, pass_of, product_share
from lra.bench.tables import significant

ROOT = Path(__file__).resolve().parents[2]


def bench(name: str) -> tuple[BenchRecord, dict[tuple[str, int], BenchCell]]:
    path = ROOT / "runs/published" / name
    record = read_bench(path, BENCH_RECORD)
    assert "-dirty" not in str(record["settings"]["git_commit"])
    return record, {(cell["method"], cell["length"]): cell for cell in record["cells"]}


def per_instance(cells, method: str, length: int) -> str:
    """MiB and milliseconds of a forward pass for one of its sequences."""
    measured = pass_of(cells[method, length], "forward")
    if measured is None:
        return "–"
    return f"{significant(measured['peak_bytes'] / 2**20 / 8)} / {significant(median_of(measured) * 1e3 / 8)}"


def advantage(cells, reference: str, length: int) -> str:
    full, mine = (pass_of(cells[method, length], "forward") for method in (reference, "nystrom"))
    if full is None or mine is None:
        return "–"
    return f"{full['peak_bytes'] / mine['peak_bytes']:.1f}× / {median_of(full) / median_of(mine):.1f}×"


PAPERS_TABLE_1 = {  # MB and ms of full and of Nyström attention with 64 landmarks
    512: ((54, 0.8), (35, 0.7)),
    1024: ((186, 2.4), (63, 1.3)),
    2048: ((685, 10.0), (118, 2.7)),
    4096: ((2620, 32.9), (229, 5.9)),
    8192: ((10233, 155.4), (450, 12.3)),
}


@pytest.mark.parametrize("length", PAPERS_TABLE_1)
def test_the_table_of_cost_is_that_of_the_record_beside_the_papers(length):
    record, cells = bench("bench_attention.json")
    assert record["settings"]["batch"] == 8
    methods = ("full math", "full fused", "linformer", "longformer", "nystrom (num_landmarks=32)", "nystrom")
    (memory, seconds), (own_memory, own_seconds) = PAPERS_TABLE_1[length]
    row = [
        f"{length:,}",
        *(per_instance(cells, method, length) for method in methods),
        *(advantage(cells, reference, length) for reference in ("full math", "full fused")),
        f"{memory / own_memory:.1f}× / {seconds / own_seconds:.1f}×",
    ]
    assert f"| {' | '.join(row)} |" in (ROOT / "README.md").read_text()


@pytest.mark.parametrize(
    "ours, package",
    [
        ("nystrom", "nystrom-attention"),
        ("nystrom", "transformers"),
        ("linformer", "linformer "),
        ("performer", "performer-pytorch"),
        ("performer (protocol=clean)", "performer-pytorch"),
        ("local (block_length=128, neighbour_blocks=1)", "local-attention"),
        ("reformer", "reformer-pytorch"),
    ],
)
def test_the_ratios_to_other_packages_are_those_of_the_record(ours, package):
    record, cells = bench("bench_peers.json")
    (peer,) = {method for method, _ in cells if method.startswith(package)}
    ratios = [
        f"{median_of(cells[peer, n]['both']) / median_of(cells[ours, n]['both']):.1f}×" for n in (1024, 2048, 4096)
    ]
    assert f"| {ours} | {peer} | {' | '.join(ratios)} |" in (ROOT / "docs/results.md").read_text()
    assert max(each.get("error", 0) for each in record["parity"]) < 1e-14


@pytest.mark.parametrize(
    "method", ["full fused", "linformer", "nystrom", "landmark", "performer", "skyformer", "bigbird", "longformer",
               "local", "reformer", "double_softmax", "cosformer", "linear"]
)  # fmt: skip
def test_the_shares_of_plain_products_are_those_of_the_record(method):
    _, cells = bench("bench_attention.json")
    shares = [product_share(cells[method, length]["both"]) for length in (1024, 4096)]
    name = "`full`, fused" if method == "full fused" else f"`{method}`"
    row = f"| {name} | {' | '.join(f'{100 * share:.0f} %' for share in shares)} |"
    assert row in (ROOT / "docs/performance.md").read_text()
    assert (min(shares) >= 0.5) == (method in ("full fused", "linformer"))


def test_growth_and_memory_of_nystrom_attention_are_those_of_the_record():
    _, cells = bench("bench_attention.json")
    short, long = (cells["nystrom", length]["both"] for length in (4096, 65_536))
    text = " ".join((ROOT / "README.md").read_text().split())
    assert f"takes {median_of(long) / median_of(short):.0f} times as long for 16 times as many tokens" in text
    inputs_and_outputs = 4 * 8 * 65_536 * 64 * 4
    assert f"{long['peak_bytes'] / inputs_and_outputs:.2f} times the size of its inputs and its output" in text
    needs_less = [
        n
        for (method, n), cell in cells.items()
        if method == "nystrom"
        and cell.get("both")
        and cells["full fused", n].get("both")
        and cell["both"]["peak_bytes"] < cells["full fused", n]["both"]["peak_bytes"]
    ]
    assert f"it needs less memory from {min(needs_less):,} tokens on" in text


def test_what_the_aims_beside_other_packages_would_ask_for_is_that_of_the_record():
    _, cells = bench("bench_peers.json")
    text = " ".join((ROOT / "docs/performance.md").read_text().split())
    for ours, packages, times, said in (
        ("nystrom", ("nystrom-attention", "transformers"), 3, "Nyström attention would have to run at {} to {} of"),
        ("performer", ("performer-pytorch",), 2, "and Performer at {} to {}."),
    ):
        peers = [method for method, length in cells if length == 1024 and method.startswith(packages)]
        shares = [
            times * cells[ours, length]["both"]["product_seconds"] / median_of(cells[peer, length]["both"])
            for peer in peers
            for length in (1024, 2048, 4096)
        ]
        assert said.format(f"{min(shares):.0%}", f"{max(shares):.0%}").replace("%", " %") in text
