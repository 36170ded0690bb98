"""Subjects of the contract tests: how to make an attention or a mixer, its inputs, and how to call it.

Letters: B sequences, H heads, L positions, E dims per head, D model width.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from lra.attention.base import AttentionBackend, AttentionDims
from lra.model.mixer import MixerDims, SequenceMixer
from lra.ops.packing import Packing
from lra.packed.attention_forms import attend_packed
from lra.packed.encoder_forms import mix_packed

BATCH, HEADS, HEAD_DIM = 4, 2, 8
WIDTH = HEADS * HEAD_DIM


class Subject(ABC):
    """One attention or mixer, as the tests use it: what makes an instance from the encoder's dimensions, its options.

    `base` is the base class that instances must have; `under_autocast`: mixed precision reaches it.
    """

    base: type[nn.Module]
    under_autocast: bool

    def __init__(self, make: Callable[[Any], nn.Module], options: Mapping[str, Any] | None = None):
        self.make, self.options = make, dict(options or {})

    def instance(self, length: int, *, dtype: torch.dtype = torch.float64, seed: int = 0) -> Any:
        """Make an instance for at most `length` positions, in evaluation mode, with parameters drawn from `seed`.

        They are shifted, as by an optimizer: what begins as zero or as ones would hide which of them is used where.
        """
        torch.manual_seed(seed)
        instance = self.make(self.dims(length)).to(dtype).eval()
        _shift(instance)
        return instance

    def parameters(self, instance: Any) -> dict[str, Tensor]:
        """All parameters that a call computes with, by name."""
        return dict(instance.named_parameters())

    def inputs(self, length: int, *, dtype: torch.dtype = torch.float64) -> tuple[list[Tensor], Tensor]:
        """Draw random inputs of four sequences, and their mask of real positions `[B, L]`.

        The first sequence has no padding, the second is padded at its end, the third has padding between real tokens,
        and the last is all padding.
        """
        torch.manual_seed(length)
        tensors = [torch.randn(*shape, dtype=dtype, requires_grad=True) for shape in self.shapes(length)]
        valid_BL = torch.rand(BATCH, length) < 0.7
        valid_BL[0], valid_BL[1], valid_BL[-1] = True, torch.arange(length) < max(1, length // 2), False
        return tensors, valid_BL

    def mix(self, instance: Any, form: str, tensors: list[Tensor], valid_BL: Tensor | None) -> Tensor:
        """Call the instance as the first call of a pass, on the padded batch or (form `packed`) on packed tokens."""
        instance.train(instance.training)
        if form == "padded":
            return self.mix_padded(instance, tensors, valid_BL)
        packing = Packing(valid_BL, batch=tensors[0].shape[0], length=tensors[0].shape[-2])
        return self.mix_packed(instance, tensors, packing)

    def mix_by_reference(
        self, reference: Callable[..., Tensor], tensors: list[Tensor], valid_BL: Tensor | None
    ) -> Tensor:
        """What `mix_padded` gives, by the reference implementation: `reference(*inputs, valid)`."""
        return self.mix_padded(reference, tensors, valid_BL)

    @abstractmethod
    def dims(self, length: int) -> Any:
        """Return the encoder's dimensions."""

    @abstractmethod
    def shapes(self, length: int) -> list[tuple[int, ...]]:
        """Return the shapes of the inputs; the output has the first one. L is the last axis but one."""

    @abstractmethod
    def over_output(self, valid_BL: Tensor) -> Tensor:
        """Reshape the mask so that it can be multiplied with an input or the output."""

    @abstractmethod
    def mix_padded(self, instance: Callable[..., Tensor], tensors: list[Tensor], valid_BL: Tensor | None) -> Tensor:
        """Call an instance, or its reference implementation, as the encoder does on a padded batch."""

    @abstractmethod
    def mix_packed(self, instance: Any, tensors: list[Tensor], packing: Packing) -> Tensor:
        """Call the instance as the encoder does on packed tokens; return the output padded with zeros."""


class AttentionSubject(Subject):
    """An `AttentionBackend`: queries, keys and values `[B, H, L, E]`, of float32 at least."""

    base = AttentionBackend
    under_autocast = False

    def dims(self, length: int) -> AttentionDims:
        """Return dimensions with two heads."""
        return AttentionDims(num_heads=HEADS, head_dim=HEAD_DIM, max_seq_len=length)

    def shapes(self, length: int) -> list[tuple[int, ...]]:
        """Return the shapes of queries, keys and values."""
        return [(BATCH, HEADS, length, HEAD_DIM)] * 3

    def over_output(self, valid_BL: Tensor) -> Tensor:
        """Reshape the mask to `[B, 1, L, 1]`."""
        return valid_BL[:, None, :, None]

    def mix_padded(self, instance: Callable[..., Tensor], tensors: list[Tensor], valid_BL: Tensor | None) -> Tensor:
        """`forward`."""
        return instance(*tensors, valid_BL)

    def mix_packed(self, instance: AttentionBackend, tensors: list[Tensor], packing: Packing) -> Tensor:
        """`attend_packed`."""
        planes_PTD = torch.stack([packing.pack(x_BHLE.transpose(1, 2).flatten(2)) for x_BHLE in tensors])
        out_BLD = packing.unpack(attend_packed(instance, planes_PTD, packing)[None])[0]
        out_BHLE: Tensor = out_BLD.unflatten(2, (tensors[0].shape[1], -1)).transpose(1, 2)
        return out_BHLE


class MixerSubject(Subject):
    """A `SequenceMixer` with the LayerNorm before it and the residual connection around it: `[B, L, D]`."""

    base = SequenceMixer
    under_autocast = True

    def __init__(self, make: Callable[[Any], nn.Module], options: Mapping[str, Any] | None = None):
        super().__init__(make, options)
        torch.manual_seed(0)
        self.norms = {dtype: nn.LayerNorm(WIDTH, dtype=dtype) for dtype in (torch.float32, torch.float64)}
        for norm in self.norms.values():
            _shift(norm)

    def parameters(self, instance: SequenceMixer) -> dict[str, Tensor]:
        """The mixer's, and in float64 those of the LayerNorm before it."""
        return {**super().parameters(instance), **dict(self.norms[torch.float64].named_parameters(prefix="norm"))}

    def dims(self, length: int) -> MixerDims:
        """Return dimensions with the width of two heads; dropout has no effect in evaluation mode."""
        return MixerDims(width=WIDTH, num_heads=HEADS, head_dim=HEAD_DIM, max_seq_len=length, dropout=0.1)

    def shapes(self, length: int) -> list[tuple[int, ...]]:
        """Return the shape of the one input."""
        return [(BATCH, length, WIDTH)]

    def over_output(self, valid_BL: Tensor) -> Tensor:
        """Reshape the mask to `[B, L, 1]`."""
        return valid_BL[:, :, None]

    def mix_padded(self, instance: Callable[..., Tensor], tensors: list[Tensor], valid_BL: Tensor | None) -> Tensor:
        """Compute `x + mixer(norm(x))`."""
        (x_BLD,) = tensors
        return x_BLD + instance(self.norms[x_BLD.dtype](x_BLD), valid_BL)

    def mix_packed(self, instance: SequenceMixer, tensors: list[Tensor], packing: Packing) -> Tensor:
        """`mix_packed`."""
        (x_BLD,) = tensors
        norm, x_TD = self.norms[x_BLD.dtype], packing.pack(x_BLD)
        return packing.unpack(mix_packed(instance, x_TD, norm, packing, None)[None])[0]


def _shift(module: nn.Module) -> None:
    """Move every parameter a little, no two alike."""
    for parameter in module.parameters():
        parameter.data.add_(torch.randn_like(parameter), alpha=0.1)
