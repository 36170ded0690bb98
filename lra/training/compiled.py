"""Compile a model with torch's compiler: which modes there are, and what each is for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lra.types import UserError

if TYPE_CHECKING:  # importing torch is slow, and checking the settings does not need it
    from torch import nn

# Modes that record the kernels of a forward or backward pass as a CUDA graph, which one call launches.
GRAPH_MODES = ("reduce-overhead", "max-autotune")


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
