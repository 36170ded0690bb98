"""lra bench: time a training step and its parts, or attentions alone.

lra bench step task=listops attention=nystrom
lra bench step task=image attention=full steps=5
lra bench step mixer=s4d                           a mixer in place of an attention
lra bench step task=text debug=profile             the table of operators, and a Chrome trace
lra bench step task=text trace=step.json           the trace alone, for ui.perfetto.dev
lra bench step task=text trainer=gpu               on a GPU, first of all on a new one
lra bench step task=text out=steps.jsonl           all numbers too, as a line of JSON at the end of a file

The word `step` asks for the times of
- a bare step, with the fractions of its forward pass, backward pass and optimizer;
- a step inside `lra train`, dev passes not counted;
- a dev pass, and its forward passes alone.
Then it counts the step's FLOPs (of matrix products and Fourier transforms) and its memory traffic, and compares them
with this machine's best rates. Bare steps and steps in the harness take turns, so that other load slows both.
On a GPU, or in another precision than float32, it also says whether the losses of the first 5 steps equal those of a
CPU in float32: PASS if their relative difference is at most 1e-5, else FAIL, as tf32 and bf16-mixed do: they have fewer
digits. Both train from the same seed on the same batches of 8 examples, uncompiled and without dropout.
Missing data is prepared first.

lra bench attention                                every attention and mixer, 256 to 65,536 tokens
lra bench attention attention=nystrom,linformer n=512,1024,4096
lra bench attention attention=nystrom attention.num_landmarks=32,64 n=1024,4096
lra bench attention mixer=s4d,gated backward=false threads=1
lra bench attention format=markdown out=bench.md   the layout of the paper's Table 1
lra bench attention show=runs/published/bench_attention.json n=2048   a record, without measuring
lra bench attention show=runs/published/bench_attention.json figure=bench.pdf   its figure; figure_columns=1: narrower
lra bench attention against=pypi n=1024,4096       compared with other packages; needs: pip install -e '.[peers]'

The word `attention` asks for each method alone: attentions without projections, mixers with theirs. At each length
all methods take turns, so that other load slows all of them. Exact attention is always among them, with both kernels:
`full math` stores the L × L matrix, as in the paper's measurements; `full fused` does not. If no method is chosen,
Nyström attention is measured with 32 landmarks too, as in the paper's Table 1. Median and quartiles of time
are of forward passes (without gradients) and of forward + backward passes; dropout is off and no position is padding.
The summary has the crossover: the break-even length, from which a method stays as fast as `full fused`, and its 95 %
interval.
Peak memory is what a call allocates beyond inputs and parameters, outputs and gradients included: on a GPU by torch's
allocator, on a CPU by the profiler's list of allocations. What does not fit into memory, or would take longer than
cell_seconds=60, is a cell that says so. The record and a figure go to runs/bench; Ctrl-C keeps the lengths that are
finished, and the same command goes on from there. against=pypi first compares the outputs where both compute the same.
Options: n, batch, heads, head_dim, backward, dtype, device=cuda, threads, packed, repeats, cell_seconds, show, force,
format (terminal, markdown, csv), out, figure, figure_columns; attention=, mixer=, their options and protocol=, as in
a training.
"""

import json
from collections.abc import Sequence

from lra.base.overrides import Overrides
from lra.settings.command_options import BenchStep
from lra.settings.run_config import RunConfig
from lra.terminal.result import Result
from lra.types import UserError

SUBCOMMANDS = ("step", "attention")


def main_reads(arguments: Sequence[str]) -> bool:
    """Tell whether these arguments ask for several methods, whose configurations `main` composes itself."""
    return list(arguments[:1]) == ["attention"]


def main(arguments: Sequence[str]) -> Result:
    """Measure attentions and mixers alone."""
    from lra.tools.bench.attentions import bench_attention

    return bench_attention(list(arguments[1:]))


def to_overrides(arguments: Overrides) -> Overrides:
    """Turn the leading argument into `what=WORD`.

    Raises:
        UserError: when that argument is missing or unknown.
    """
    if not arguments or arguments[0] not in SUBCOMMANDS:
        problem = f"{arguments[0]!r} cannot be measured" if arguments and not arguments[0].has_value else "bench what?"
        raise UserError(f"{problem}; type: lra bench step task=listops attention=nystrom, or: lra bench attention")
    return Overrides([f"what={arguments[0]}", *arguments[1:]])


def run(cfg: RunConfig) -> Result:
    """Prepare machine and data, then measure a training step."""
    import pytorch_lightning as pl
    from rich.text import Text

    from lra.from_config import machine_and_loggers
    from lra.from_config.store import ensure_store
    from lra.terminal.console import check_out, make_console, out_path
    from lra.tools.bench.step import measure_step
    from lra.training.machine import prepare_machine

    console, asked = make_console(), BenchStep.view(cfg)
    check_out(asked.out, "steps.jsonl")
    machine = machine_and_loggers.build_machine(cfg)  # before data is prepared, because it refuses what is not there
    ensure_store(cfg, console)
    prepare_machine(machine)
    pl.seed_everything(cfg.seed, workers=True, verbose=False)
    console.print(
        Text.assemble(
            (f"{cfg.task.name}/{cfg.method_name}", "bold"),
            f"  protocol {cfg.protocol.name}"
            f"  batch {cfg.recipe.batch_size}  {cfg.trainer.precision}  {machine_and_loggers.device_name(cfg)}",
        )
    )
    cost = measure_step(asked, console)
    if asked.out is not None:
        with out_path(asked.out).open("a", encoding="utf-8") as file:
            file.write(json.dumps(cost.as_record(asked)) + "\n")
    return cost
