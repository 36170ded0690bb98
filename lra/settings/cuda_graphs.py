"""Which training steps can be recorded as CUDA graphs: by `compile=reduce-overhead`, and by `trainer.cuda_graph`."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from lra.runs.schema import TARGET, is_ours, own_model
from lra.settings.run_config import AUTO, RunConfig

# Options of attentions whose training step no graph can record: the values that it has, why, and one without it.
NOT_IN_GRAPHS: Mapping[str, tuple[Callable[[object], bool], str, object]] = {
    "pinv": (lambda value: value == "exact", "waits for the GPU's singular values", "iterative"),
    "redraw_every": (bool, "draws other features between steps", 0),
}


class Obstacle(NamedTuple):
    """Why a step cannot be recorded: a setting with its value, what that does, and what to type in its place."""

    setting: str
    does: str
    right: str


def attention_obstacle(cfg: RunConfig) -> Obstacle | None:
    """Find an option of the attention that keeps every kind of CUDA graph from recording a step."""
    attention = cfg.attention if cfg.mixes_by_attention and cfg.has("attention") else {}
    for name, (prevents, does, without) in NOT_IN_GRAPHS.items():
        if prevents(attention.get(name)):
            return Obstacle(f"attention.{name}={attention[name]}", does, f"attention.{name}={without}")
    return None


def obstacle(cfg: RunConfig) -> Obstacle | None:
    """Find a setting with which `trainer.cuda_graph=true` cannot record a step; None: there is none."""
    trainer, parts = cfg.trainer, cfg.batch_parts
    if trainer.accelerator == "cpu":
        return Obstacle("trainer.accelerator=cpu", "has no CUDA graphs", "trainer=gpu")
    if cfg.compile:
        return Obstacle(f"compile={cfg.compile}", "makes graphs of its own", "compile=false")
    if trainer.precision == "16-mixed":
        does = "scales the loss by what the last step has found"
        return Obstacle("trainer.precision=16-mixed", does, "trainer.precision=bf16-mixed")
    if parts > 1:
        does = "adds gradients up, which the graph of the next part overwrites"
        return Obstacle(f"trainer.accumulate_grad_batches={parts}", does, f"trainer.accumulate_grad_batches={AUTO}")
    if cfg.num_processes > 1:
        does = "exchanges gradients within the backward pass"
        return Obstacle(f"trainer.devices={trainer.devices}", does, "trainer.devices=1")
    if cfg.value("trainer.detect_anomaly"):
        return Obstacle("trainer.detect_anomaly=true", "reads every gradient", "trainer.detect_anomaly=false")
    return attention_obstacle(cfg)


def records_step(cfg: RunConfig) -> bool:
    """Tell whether a run records its training step as a CUDA graph.

    With `auto` a class of the user's own is not recorded: what it does in Python at each step would happen once.
    """
    if cfg.trainer.cuda_graph != AUTO:
        return bool(cfg.trainer.cuda_graph)
    ours = own_model(cfg.model) is None and is_ours(cfg.mixer_settings[TARGET])
    return ours and obstacle(cfg) is None
