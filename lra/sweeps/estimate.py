"""What a cell will cost, from a few of its steps, measured in a process of its own."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

from omegaconf import DictConfig

from lra.sweeps.grid import Cell
from lra.types import UserError

STEPS = 2


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Cost of a run on this machine.

    Attributes:
        step_seconds, eval_seconds: of a training step, and of one evaluation batch.
        peak_memory_bytes: of a process that does both.
        source: `measured`, or `upper bound` when sequences of full length stood in for data that is not prepared yet.
    """

    step_seconds: float
    eval_seconds: float
    peak_memory_bytes: float
    source: str

    def seconds(self, cfg: DictConfig, *, done_steps: int = 0) -> float:
        """Of what is left of a run: training, dev passes, the test."""
        recipe, data = cfg.recipe, cfg.task.data
        share = 1 - done_steps / recipe.steps
        passes = share * max(recipe.steps / recipe.eval_every, 1)
        batches = passes * data.get("dev", data.test) / recipe.batch_size + data.test / recipe.batch_size
        return float(share * recipe.steps * self.step_seconds + batches * self.eval_seconds)


def measure(cell: Cell) -> Estimate:
    """Run a few steps of a cell in a child process.

    Raises:
        UserError: when it cannot be trained at all; the line is the child's.
    """
    done = subprocess.run(
        [sys.executable, "-m", "lra.commands.estimate", *cell.words], capture_output=True, text=True, check=False
    )
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or [f"exit code {done.returncode}"]
        raise UserError(lines[-1])
    return Estimate(**json.loads(done.stdout.splitlines()[-1]))


def measure_here(cfg: DictConfig) -> Estimate:
    """Run a few steps in this process."""
    import torch

    from lra import build
    from lra.data.store import MANIFEST
    from lra.training import bench
    from lra.training.counting import clock
    from lra.training.run import prepare_machine
    from lra.training.telemetry import peak_memory_bytes

    machine = build.build_machine(cfg)
    prepare_machine(machine)
    spec, device = build.build_spec(cfg), torch.device("cuda" if machine.accelerator == "gpu" else "cpu")
    module = build.build_module(cfg, spec).to(device).train()
    optimizer = module.make_optimizer()
    parts = cfg.trainer.accumulate_grad_batches
    prepared = (build.store_dir(cfg) / MANIFEST).exists()
    if prepared:
        batches = bench.batches_of(build.build_datamodule(cfg, spec), device)
        found = [next(batches) for _ in range(STEPS + 1)]
    else:
        found = [_full_batch(spec, cfg.recipe.batch_size // parts, device, masked=cfg.task.mask_zero)] * (STEPS + 1)
    times = [bench.bare_step(module, optimizer, batch).total * parts for batch in found]
    begun = clock(device)
    with torch.inference_mode():
        module.eval()(found[0])
    return Estimate(
        step_seconds=statistics.median(times[1:]),
        eval_seconds=(clock(device) - begun) * parts,
        peak_memory_bytes=peak_memory_bytes(device),
        source="measured" if prepared else "upper bound",
    )


def _full_batch(spec: Any, size: int, device: Any, *, masked: bool) -> Any:
    """Random tokens, every sequence of full length."""
    import torch

    from lra.types import Batch

    shape = (size, spec.num_sequences, spec.seq_len)
    tokens = torch.randint(1, spec.vocab_size, shape, device=device)
    label = torch.randint(spec.num_classes, (size,), device=device)
    return Batch(tokens, tokens != 0 if masked else None, label)
