"""Speed as ratios within one process: the fast step against the paper's way, the harness against the bare step."""

from __future__ import annotations

import statistics
import time

import numpy as np
import pytest
import torch
from rich.console import Console
from torch.nn.functional import cross_entropy

from lra import build
from lra.data.writer import write_store
from lra.training.curves import CurveLogger, read_curves
from lra.training.run import fit
from lra.types import Batch
from tests.reference.model import PlainClassifier

pytestmark = pytest.mark.slow


@pytest.fixture
def threads():
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def step_seconds(model, batch, optimizer) -> float:
    began = time.perf_counter()
    cross_entropy(model(batch.tokens, batch.valid), batch.label).backward()
    optimizer.step()
    optimizer.zero_grad()
    return time.perf_counter() - began


def listops_batch(count: int):
    """Lengths as ListOps has them, contents at random: no prepared data needed."""
    rng = np.random.default_rng(0)
    tokens = torch.from_numpy(rng.integers(1, 16, (count, 1, 2048)))
    tokens[torch.arange(2048) >= torch.from_numpy(rng.integers(500, 2000, count))[:, None, None]] = 0
    return Batch(tokens, tokens != 0, torch.from_numpy(rng.integers(0, 10, count)))


def test_a_nystrom_step_takes_at_most_half_of_the_papers_way(threads):
    cfg = build.load_config("train")
    fast, plain = build.build_model(cfg), PlainClassifier(vocab=32, length=2048, classes=10)
    plain.take_weights(fast)
    batch = listops_batch(32)
    torch.testing.assert_close(
        fast.eval()(batch.tokens, batch.valid), plain.eval()(batch.tokens, batch.valid), rtol=1e-4, atol=1e-5
    )
    seconds: dict[str, list[float]] = {"fast": [], "plain": []}
    made = {
        name: (m.train(), torch.optim.AdamW(m.parameters(), 1e-4)) for name, m in (("fast", fast), ("plain", plain))
    }
    for _ in range(6):
        for name, (model, optimizer) in made.items():
            seconds[name].append(step_seconds(model, batch, optimizer))
    ratio = statistics.median(p / f for p, f in zip(seconds["plain"][1:], seconds["fast"][1:], strict=True))
    fast_seconds, plain_seconds = (statistics.median(seconds[name]) for name in ("fast", "plain"))
    print(f"fast {fast_seconds:.3f} s, plain {plain_seconds:.3f} s: {ratio:.2f}x")
    assert ratio >= 2


def test_the_harness_costs_under_five_percent_of_a_step(threads, tmp_path, monkeypatch):
    """At ListOps shape: Lightning, logging, data loading, without dev passes, against a bare loop, in turn."""
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path))
    cfg = build.load_config("train")
    spec = build.build_spec(cfg)
    rng = np.random.default_rng(0)
    examples = [([rng.integers(1, 16, n)], n % 10) for n in rng.integers(500, 2000, 64).tolist()]
    splits = {"train": examples, "dev": examples[:1], "test": examples[:1]}
    facts = {
        "origin": "generated",
        "builder": "listops/full/1.0.0",
        "asked": {"settings": build.plain(cfg.task.data), "source": "auto"},
    }
    how = {"dtype": np.uint8, "max_length": 2000, "first_id": 0, "started": 0.0}
    write_store(build.store_dir(cfg), spec, splits, facts=facts, **how)
    ratios = []
    for turn in range(2):
        datamodule, module = build.build_datamodule(cfg, spec), build.build_module(cfg, spec)
        model, optimizer = module.model, torch.optim.AdamW(module.model.parameters(), 1e-4)
        batch = next(iter(datamodule.train_dataloader()))
        bare = [step_seconds(model.train(), batch, optimizer) for _ in range(5)]
        curves = tmp_path / f"{turn}.csv"
        fit(
            module,
            datamodule,
            folder=tmp_path / str(turn),
            machine=build.build_machine(cfg),
            steps=cfg.recipe.steps,
            eval_every=10**6,
            max_steps=13,
            log_every_steps=3,
            checkpoint_every_seconds=60,
            loggers=[CurveLogger(curves, resume_step=0)],
            console=Console(quiet=True),
            profiler=None,
        )
        harness = [1 / row["steps_per_second"] for row in read_curves(curves)[1:]]
        bare += [step_seconds(model.train(), batch, optimizer) for _ in range(5)]
        ratios.append(statistics.median(harness) / statistics.median(bare))
    print(f"harness over bare: {statistics.median(ratios):.3f}")
    assert statistics.median(ratios) < 1.05
