"""Compile a model with torch's compiler."""

from __future__ import annotations

from typing import TYPE_CHECKING

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
