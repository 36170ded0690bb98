"""Compile a model with torch's compiler: which modes there are, and what each is for."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from lra.types import UserError

if TYPE_CHECKING:  # importing torch is slow, and checking the settings does not need it
    from torch import nn

# Modes that record the kernels of a forward or backward pass as a CUDA graph, which one call launches.
GRAPH_MODES = ("reduce-overhead", "max-autotune")
# Options of attentions whose training step no graph can record: the values that it has, why, and one without it.
NOT_IN_GRAPHS: Mapping[str, tuple[Callable[[object], bool], str, object]] = {
    "pinv": (lambda value: value == "exact", "waits for the GPU's singular values", "iterative"),
    "redraw_every": (bool, "draws other features between steps", 0),
}


def compile_model(model: nn.Module, mode: str | bool | None) -> None:
    """Compile a model in place: its forward and its backward pass are one graph each, and a break in one is an error.

    Some attentions draw random numbers for evaluation on the host, which breaks the graph of an evaluation there; a
    module of theirs has a true `draws_on_host`. Their training steps are one graph too, as tests show.

    Each shape of a batch gets graphs of its own: all training batches have one shape, dev and test batches too, and the
    last, smaller batch of these splits has another. Graphs for changing shapes would be slower.

    `mode` is True for torch's default mode, or one of `GRAPH_MODES`; None or False: nothing is compiled.
    """
    if not mode:
        return
    whole = not any(getattr(module, "draws_on_host", False) for module in model.modules())
    model.compile(fullgraph=whole, dynamic=False, mode=None if mode is True else str(mode))


def check_parts(mode: str | bool | None, parts: int) -> None:
    """Refuse CUDA graphs for a batch in parts: the second part's graph overwrites the first part's gradients.

    torch says so with an error, or adds them up wrongly (github.com/pytorch/pytorch, issues 169545 and 96693).

    Raises:
        UserError: when a mode with CUDA graphs meets more than one part.
    """
    if mode in GRAPH_MODES and parts != 1:
        line = (
            f"compile={mode} overwrites the gradients of the parts of trainer.accumulate_grad_batches={parts};"
            " type compile=true"
        )
        raise UserError(line, kind="contradiction", key="compile", value=mode, right="compile=true")


def check_graphs(mode: str | bool | None, attention: Mapping[str, object]) -> None:
    """Refuse CUDA graphs for a training step that waits for the GPU, or that changes between steps.

    Args:
        mode: as for `compile_model`.
        attention: the options of the model's attention; empty without one.

    Raises:
        UserError: when a mode with CUDA graphs meets one of `NOT_IN_GRAPHS`.
    """
    for name, (prevents, why, without) in NOT_IN_GRAPHS.items():
        if mode in GRAPH_MODES and prevents(attention.get(name)):
            right = f"compile=true, or attention.{name}={without}"
            option = f"attention.{name}={attention[name]}"
            line = f"compile={mode} records a step as a CUDA graph, and {option} {why}; type {right}"
            raise UserError(line, kind="contradiction", key="compile", value=mode, right=right)
