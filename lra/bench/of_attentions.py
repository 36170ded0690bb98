"""`lra bench attention`: measure what is missing, keep the record, and show tables and a figure."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from lra.bench.bench_overrides import methods_to_measure, read_words
from lra.terminal.console import work_progress
from lra.types import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from omegaconf import DictConfig
    from rich.console import Console

    from lra.attention.base import AttentionBackend, AttentionDims
    from lra.bench.inputs import BenchShape
    from lra.bench.methods import BenchMethod
    from lra.bench.peers import Peer
    from lra.bench.record import BenchCell, BenchRecord, BenchSettings

os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # else torch's profiler writes two lines to stderr; read at its import


def bench_attention(words: list[str]) -> None:
    """Do what `lra bench attention WORDS` asks for.

    Raises:
        UserError: for the first wrong word.
    """
    from lra.bench.inputs import BenchShape
    from lra.bench.parity import parity_of
    from lra.bench.record import BENCH_RECORD, begin_record, record_path
    from lra.bench.record_file import read_bench, write_bench
    from lra.bench.show_record import show_bench
    from lra.terminal.console import make_console
    from lra.training.machine import Machine, prepare_machine

    cfg, chosen = read_words(words)
    if cfg.show is not None:
        path = Path(cfg.show).expanduser()
        record = read_bench(path, BENCH_RECORD) if path.is_file() else None
        if record is None or not {cell["length"] for cell in record["cells"]} & set(cfg.n):
            fault = f"show={cfg.show} is no file" if record is None else f"{cfg.show} has none of the lengths n="
            raise UserError(f"{fault}; type: lra bench attention show=runs/published/bench_attention.json n=2048")
        show_bench(record, path, cfg, make_console())
        return
    packed = cfg.device == "cpu" if cfg.packed == "auto" else str(cfg.packed).lower() == "true"
    peers = peers_to_measure() if cfg.against == "pypi" else []
    methods = methods_to_measure(chosen, packed=packed, peers=peers)
    methods += [peer.method() for peer in peers]
    machine = Machine(
        accelerator="gpu" if cfg.device == "cuda" else "cpu",
        devices=1,
        precision="32-true",
        accumulate_grad_batches=1,
        threads=cfg.threads,
    )
    prepare_machine(machine)
    shape = BenchShape(
        batch=cfg.batch, heads=cfg.heads, head_dim=cfg.head_dim, length=2, dtype=cfg.dtype, device=cfg.device
    )
    settings = _settings(cfg, methods, packed=packed, device=_device(cfg.device))
    path = record_path(Path(cfg.paths.runs) / "bench", settings)
    record, console = begin_record(path, settings, again=cfg.n if cfg.force else ()), make_console()
    if peers and (cfg.force or not record["parity"]):
        record["parity"] = [parity_of(peer, shape, ours_of(peer)) for peer in peers]
        write_bench(path, BENCH_RECORD, record)
    measure_missing(record, path, cfg, methods, shape, console)
    show_bench(record, path, cfg, console)


def _settings(cfg: DictConfig, methods: list[BenchMethod], *, packed: bool, device: str) -> BenchSettings:
    from lra.runs.machine import git_commit, versions

    return {
        "batch": cfg.batch,
        "heads": cfg.heads,
        "head_dim": cfg.head_dim,
        "dtype": cfg.dtype,
        "device": device,
        "packed": packed,
        "backward": cfg.backward,
        "repeats": cfg.repeats,
        "cell_seconds": float(cfg.cell_seconds),
        "methods": [{"name": each.name, "kind": each.kind, "settings": each.settings} for each in methods],
        "git_commit": git_commit(),
        "versions": versions(),
    }


def peers_to_measure() -> list[Peer]:
    """Return the attentions of other packages, all of them installed."""
    from lra.bench.peers import PEERS, check_installed

    check_installed(PEERS)
    return list(PEERS)


def ours_of(peer: Peer) -> Callable[[AttentionDims], AttentionBackend] | None:
    """Build the function that makes our method with a peer's maths; None if there is none."""
    from lra import build
    from lra.settings.config import load_config

    if not peer.ours:
        return None
    make: Callable[[AttentionDims], AttentionBackend] = build.build_method(load_config("train", peer.ours))
    return make


def _device(device: str) -> str:
    import torch

    return torch.cuda.get_device_name() if device == "cuda" else f"cpu ({torch.get_num_threads()} threads)"


def measure_missing(
    record: BenchRecord, path: Path, cfg: DictConfig, methods: list[BenchMethod], shape: BenchShape, console: Console
) -> None:
    """Measure the lengths that the record lacks, in growing order, and write it after each round of turns.

    Raises:
        Stopped: after a signal; the record keeps what has been measured.
    """
    from lra.base.signals import Stopped
    from lra.bench.measure import Bench, BenchPlan
    from lra.bench.record import BENCH_RECORD
    from lra.bench.record_file import write_bench

    missing = sorted(set(cfg.n) - set(record["whole"]))
    plan = BenchPlan(backward=cfg.backward, repeats=cfg.repeats, cell_seconds=cfg.cell_seconds)
    with work_progress(console, sum(missing) * len(methods) * cfg.repeats) as advance:
        bench = Bench(methods, shape, plan, lambda method, length: advance(f"L = {length:,}  {method}", length))
        bench.remember(record["cells"])
        for length in missing:

            def keep(cells: list[BenchCell], length: int = length) -> None:
                record["cells"] = [cell for cell in record["cells"] if cell["length"] != length] + cells
                write_bench(path, BENCH_RECORD, record)

            try:
                bench.measure_length(length, keep)
            except Stopped as stopped:
                stopped.kept = (
                    f"{len(record['whole'])} of {len(cfg.n)} lengths are finished, in {path}. The same command goes on"
                    " from there."
                )
                raise
            record["whole"] = sorted({*record["whole"], length})
            write_bench(path, BENCH_RECORD, record)
            if not console.is_terminal and (cfg.format == "terminal" or cfg.out):  # else stdout is the table alone
                console.print(f"measured: L = {length:,}")
