"""Allowed values of the settings: tables of numbers and words."""

from __future__ import annotations

from lra.cli_support.number_rules import real, share, whole
from lra.config import AUTO
from lra.training.compiled import GRAPH_MODES

MOST_SEED = 2**32 - 1  # the largest seed that numpy's generators take
NUMBERS = {
    "seed": whole(0, least=0, most=MOST_SEED),
    "recipe.batch_size": whole(32),
    "recipe.steps": whole(5000, least=2),  # the schedule ends at a rate of 0
    "recipe.eval_every": whole(50),
    "recipe.warmup_fraction": share(0.2, above=True),
    "recipe.schedule.steps": whole(5000, least=2),
    "recipe.schedule.warmup_fraction": share(0.2, above=True),
    "recipe.optimizer.lr": real(1e-4, above=True),
    "recipe.optimizer.eps": real(1e-6, above=True),  # 0 would divide a gradient of 0 by 0
    "recipe.optimizer.weight_decay": real(0.01),
    "model.num_layers": whole(2),
    "model.width": whole(64),
    "model.num_heads": whole(2),
    "model.head_dim": whole(32),
    "model.feed_forward": whole(128),
    "model.head_hidden": whole(128),
    "protocol.batch_constant_examples": whole(128, null=True),
    "model.dropout": share(0.1),
    "attention.attention_dropout": share(0.1),
    "attention.num_landmarks": whole(64),
    "attention.pinv_iterations": whole(6),
    "attention.pinv_rtol": share(1e-4),
    "attention.pinv_ridge": share(1e-3, above=True),
    "attention.kmeans_steps": whole(3),
    "attention.coarse_landmarks": whole(0, least=0),
    "attention.value_skip_taps": whole(35, least=0),
    "attention.projections": whole(256),
    "attention.features": whole(256),
    "attention.redraw_every": whole(0, least=0),
    "attention.num_hashes": whole(2),
    "attention.chunk_length": whole(64),
    "attention.block_length": whole(64),
    "attention.neighbour_blocks": whole(1, least=0),
    "attention.window": whole(256, least=2),
    "attention.global_tokens": whole(1, least=0),
    "attention.window_blocks": whole(3),
    "attention.global_blocks": whole(2, least=0),
    "attention.random_blocks": whole(3, least=0),
    "attention.regularisation": real(0.1, above=True),
    "mixer.states": whole(64, least=2),
    "mixer.step_least": real(0.001, above=True),
    "mixer.step_most": real(0.1, above=True),
    "mixer.averages": whole(16),
    "mixer.parameter_groups.dynamics.weight_decay": real(0.01),
    "mixer.parameter_groups.dynamics.lr_fraction": real(0.25, above=True),
    "trainer.accumulate_grad_batches": whole(2, word=AUTO),
    "trainer.devices": whole(2, most=1024),
    "trainer.max_steps": whole(10, null=True),
    "trainer.threads": whole(2, null=True),  # lra.training.machine.Machine checks the upper bound
    "callbacks.log_every_steps": whole(10),
    "callbacks.checkpoint_every_seconds": real(60),
    **{f"task.data.{name}": whole(256) for name in ("seq_len", "max_length", "min_length", "side", "drawn_side")},
    **{f"task.data.{name}": whole(256) for name in ("train", "dev", "test", "images")},
    "task.data.data_seed": whole(0, least=0, most=MOST_SEED),
    "workers": whole(2, most=1024),  # lra table, sweep, compare
    "steps": whole(10),  # lra bench
    "top": whole(5),  # lra fill-mask
    "dev_batches": whole(10),  # lra bench
    **{name: whole(number) for name, number in (("batch", 8), ("heads", 2), ("head_dim", 32), ("repeats", 9))},
    "threads": whole(2, null=True),  # these and the next: lra bench attention
    "cell_seconds": real(60, above=True),
    "predictions": whole(3, least=0),  # lra train, evaluate
    "examples": whole(3, least=0),  # lra show data; lra diagnose, which refuses 0
    "sequences": whole(8),  # lra diagnose
    "samples": whole(2, least=0),  # lra report
}
PAIRS = {"recipe.optimizer.betas": share(0.9)}
KINDS: dict[type, str] = {  # what a value of a type is called
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a word",
    list: "a list",
    dict: "a group of settings",
}
WORDS: dict[str, tuple[str | bool | None, ...]] = {
    "finished": ("refuse", "show"),
    "compile": (False, True, *GRAPH_MODES),
    "trainer.accelerator": ("cpu", "gpu"),
    "trainer.precision": ("32-true", "tf32", "bf16-mixed", "16-mixed", "64-true"),
    "debug.profiler": ("simple", "advanced", None),
    "dtype": ("float32", "float64", "bfloat16", "float16"),  # these and the next: lra bench attention
    "device": ("cpu", "cuda"),
    "against": ("pypi", None),
}
