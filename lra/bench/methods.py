"""What is measured: an attention backend or a mixer, made for one shape and called on shared inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn

from lra.attention.base import AttentionBackend, AttentionDims
from lra.bench.inputs import DTYPES, BenchInputs, BenchShape
from lra.model.mixer import MixerDims, SequenceMixer
from lra.ops.packed.packing import Packing


class UnsuitableShapeError(Exception):
    """A method cannot be measured at a shape; the text says why."""


@dataclass(frozen=True)
class BenchCall:
    """A method ready to be called.

    Attributes:
        forward: computes the output.
        leaves: the inputs and parameters whose gradients a backward pass computes.
    """

    forward: Callable[[], Tensor]
    leaves: list[Tensor]

    def forward_with_gradients_on(self) -> Tensor:
        """Run a forward pass that stores nothing for a backward pass; under `no_grad` torch's counter fails."""
        with_gradient = [leaf for leaf in self.leaves if leaf.requires_grad]
        for leaf in with_gradient:
            leaf.requires_grad_(False)
        try:
            return self.forward()
        finally:
            for leaf in with_gradient:
                leaf.requires_grad_(True)

    def run(self, gradient: Tensor | None) -> tuple[Tensor, ...]:
        """Run a forward pass; with a gradient of the output also a backward pass."""
        if gradient is None:
            with torch.no_grad():
                return (self.forward(),)
        out = self.forward()
        out.backward(gradient)
        gradients = [leaf.grad for leaf in self.leaves if leaf.grad is not None]
        for leaf in self.leaves:
            leaf.grad = None
        return out, *gradients


@dataclass(frozen=True, kw_only=True)
class BenchMethod:
    """A method to measure.

    Attributes:
        name: its name in tables; unique among the methods that are measured together.
        kind: `attention`, `mixer` (with its projections inside) or `peer` (of another package).
        settings: name and knobs, for the record.
        prepare: makes the method for the inputs' shape.
    """

    name: str
    kind: Literal["attention", "mixer", "peer"]
    settings: dict[str, Any]
    prepare: Callable[[BenchInputs], BenchCall]


def built(module: nn.Module, shape: BenchShape) -> nn.Module:
    """Move a module to the shape's device and dtype, in evaluation mode: no dropout."""
    return module.to(device=shape.device, dtype=DTYPES[shape.dtype]).eval()


def attention_dims(shape: BenchShape) -> AttentionDims:
    """Make the dimensions that a backend for `shape` is built from."""
    return AttentionDims(num_heads=shape.heads, head_dim=shape.head_dim, max_seq_len=shape.length)


def call_backend(backend: AttentionBackend, inputs: BenchInputs, *, packed: bool) -> BenchCall:
    """Call an attention backend as the encoder does: on packed tokens, or on the padded form."""
    leaves = [inputs.planes_PTD, *backend.parameters()]
    if packed:
        packing = Packing(None, batch=inputs.shape.batch, length=inputs.shape.length)
        return BenchCall(lambda: backend.forward_packed(inputs.planes_PTD, packing), leaves)
    return BenchCall(lambda: backend(*inputs.by_head(), None), leaves)


def call_mixer(mixer: SequenceMixer, inputs: BenchInputs) -> BenchCall:
    """Call a mixer on `[B, L, D]`, with its own projections."""
    return BenchCall(lambda: mixer(inputs.x_BLD, None), [inputs.x_BLD, *mixer.parameters()])


def attention_method(
    name: str, settings: dict[str, Any], make: Callable[[AttentionDims], AttentionBackend], *, packed: bool
) -> BenchMethod:
    """Make the method of an attention backend."""

    def prepare(inputs: BenchInputs) -> BenchCall:
        backend = built(make(attention_dims(inputs.shape)), inputs.shape)
        assert isinstance(backend, AttentionBackend)
        return call_backend(backend, inputs, packed=packed)

    return BenchMethod(name=name, kind="attention", settings=settings, prepare=prepare)


def mixer_method(name: str, settings: dict[str, Any], make: Callable[[MixerDims], SequenceMixer]) -> BenchMethod:
    """Make the method of a mixer."""

    def prepare(inputs: BenchInputs) -> BenchCall:
        shape = inputs.shape
        dims = MixerDims(
            width=shape.width, num_heads=shape.heads, head_dim=shape.head_dim, max_seq_len=shape.length, dropout=0.0
        )
        mixer = built(make(dims), shape)
        assert isinstance(mixer, SequenceMixer)
        return call_mixer(mixer, inputs)

    return BenchMethod(name=name, kind="mixer", settings=settings, prepare=prepare)
