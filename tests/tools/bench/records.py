"""Made-up bench records with known numbers."""

from lra.tools.bench.record import BenchPass, BenchRecord


def measured(seconds: float, *, peak: int = 2**20) -> BenchPass:
    return {
        "seconds": [0.9 * seconds, seconds, 1.2 * seconds],
        "peak_bytes": peak,
        "flops": 100,
        "product_seconds": seconds / 4,
    }


def bench_record(times: dict[str, dict[int, float | str]], *, backward: bool = False, batch: int = 1) -> BenchRecord:
    """A record with the median seconds of each method at each length, or with the words why it was left out."""
    cells = []
    for length in sorted({length for mine in times.values() for length in mine}):
        for name, mine in times.items():
            value = mine[length]
            cell = {"method": name, "length": length}
            if isinstance(value, str):
                cell["left_out"] = value
            else:
                passes = ("forward", "both") if backward else ("forward",)
                cell |= {which: measured(value * (1 + place)) for place, which in enumerate(passes)}
            cells.append(cell)
    return {
        "schema_version": 1,
        "what": "bench attention",
        "settings": {
            "batch": batch,
            "heads": 2,
            "head_dim": 32,
            "dtype": "float32",
            "device": "cpu (1 threads)",
            "packed": True,
            "backward": backward,
            "repeats": 3,
            "cell_seconds": 60.0,
            "methods": [{"name": name, "kind": "attention", "settings": {"name": name}} for name in times],
            "git_commit": None,
            "versions": {},
        },
        "cells": cells,
        "whole": sorted({cell["length"] for cell in cells}),
        "parity": [],
    }
