"""What is measured: an attention backend or a mixer, made for one shape and called on shared inputs.

Letters: B sequences, L positions, T = B·L tokens, H heads, E dims per head, D = H·E.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn

from lra.attention.base import AttentionBackend, AttentionDims
from lra.model.mixer import MixerDims, SequenceMixer
from lra.ops.packing import Packing
from lra.packed.attention_forms import attend_packed

Module = TypeVar("Module", bound=nn.Module)
DTYPES = {name: getattr(torch, name) for name in ("float32", "float64", "bfloat16", "float16")}


@dataclass(frozen=True, kw_only=True)
class BenchShape:
    """Shape (B = `batch`, H = `heads`, E = `head_dim`, L = `length`), dtype (of `DTYPES`) and device of inputs."""

    batch: int
    heads: int
    head_dim: int
    length: int
    dtype: str
    device: str

    @property
    def width(self) -> int:
        """D."""
        return self.heads * self.head_dim

    @property
    def attention_dims(self) -> AttentionDims:
        """The dimensions that a backend for this shape is built from."""
        return AttentionDims(num_heads=self.heads, head_dim=self.head_dim, max_seq_len=self.length)


class BenchInputs:
    """Queries, keys and values of one shape, drawn from N(0, 1), all positions real; their gradients are asked for."""

    def __init__(self, shape: BenchShape):
        generator = torch.Generator().manual_seed(0)
        drawn_PTD = torch.randn(3, shape.batch * shape.length, shape.width, generator=generator)
        self.shape = shape
        self.planes_PTD = drawn_PTD.to(device=shape.device, dtype=DTYPES[shape.dtype]).requires_grad_()

    @cached_property
    def x_BLD(self) -> Tensor:
        """The queries as the input of a mixer."""
        return self._unpacked()[0].detach().requires_grad_()

    @cached_property
    def joined_BLD(self) -> Tensor:
        """Queries, keys and values side by side, `[B, L, 3·D]`, as one projection would give them."""
        return self._unpacked().permute(1, 2, 0, 3).flatten(2).contiguous().detach().requires_grad_()

    def by_head(self) -> tuple[Tensor, Tensor, Tensor]:
        """View queries, keys and values as `[B, H, L, E]`."""
        split_PBLHE = self._unpacked().unflatten(3, (self.shape.heads, self.shape.head_dim))
        q_BHLE, k_BHLE, v_BHLE = split_PBLHE.transpose(2, 3).unbind(0)
        return q_BHLE, k_BHLE, v_BHLE

    def leaves(self) -> list[Tensor]:
        """Return the tensors of those layouts that have been used, whose gradients can be asked for."""
        return [self.planes_PTD, *(self.__dict__[name] for name in ("x_BLD", "joined_BLD") if name in self.__dict__)]

    def _unpacked(self) -> Tensor:
        planes_PBLD: Tensor = self.planes_PTD.unflatten(1, (self.shape.batch, self.shape.length))
        return planes_PBLD


class UnsuitableShapeError(Exception):
    """A method cannot be measured at a shape; the text says why."""


@dataclass(frozen=True)
class BenchCall:
    """A method ready to be called: `forward` computes the output.

    `leaves` are the inputs and parameters whose gradients a backward pass computes.
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
    """A method to measure, with the settings that the record gets; `prepare` makes it for the inputs' shape.

    Its name is unique in a bench. A mixer has its projections inside; a peer is of another package.
    """

    name: str
    kind: Literal["attention", "mixer", "peer"]
    settings: dict[str, Any]
    prepare: Callable[[BenchInputs], BenchCall]


def on_device(module: Module, shape: BenchShape) -> Module:
    """Move a module to the shape's device and dtype, in evaluation mode: no dropout."""
    return module.to(device=shape.device, dtype=DTYPES[shape.dtype]).eval()


def call_backend(backend: AttentionBackend, inputs: BenchInputs, *, packed: bool) -> BenchCall:
    """Call an attention backend as the encoder does: on packed tokens, or on the padded form."""
    leaves = [inputs.planes_PTD, *backend.parameters()]
    if packed:
        packing = Packing(None, batch=inputs.shape.batch, length=inputs.shape.length)
        return BenchCall(lambda: attend_packed(backend, inputs.planes_PTD, packing), leaves)
    return BenchCall(lambda: backend(*inputs.by_head(), None), leaves)


def attention_method(
    name: str, settings: dict[str, Any], make: Callable[[AttentionDims], AttentionBackend], *, packed: bool
) -> BenchMethod:
    """Make the method of an attention backend."""

    def prepare(inputs: BenchInputs) -> BenchCall:
        backend = on_device(make(inputs.shape.attention_dims), inputs.shape)
        return call_backend(backend, inputs, packed=packed)

    return BenchMethod(name=name, kind="attention", settings=settings, prepare=prepare)


def mixer_method(name: str, settings: dict[str, Any], make: Callable[[MixerDims], SequenceMixer]) -> BenchMethod:
    """Make the method of a mixer on `[B, L, D]`, with its own projections."""

    def prepare(inputs: BenchInputs) -> BenchCall:
        shape = inputs.shape
        dims = MixerDims(
            width=shape.width, num_heads=shape.heads, head_dim=shape.head_dim, max_seq_len=shape.length, dropout=0.0
        )
        mixer = on_device(make(dims), shape)
        return BenchCall(lambda: mixer(inputs.x_BLD, None), [inputs.x_BLD, *mixer.parameters()])

    return BenchMethod(name=name, kind="mixer", settings=settings, prepare=prepare)
