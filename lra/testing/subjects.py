"""What a contract is tested on: how an attention or a mixer is made, what it is given, and how it is called.

Letters: B sequences, H heads, L positions, E dims per head, D model width.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from lra.attention.base import AttentionBackend, AttentionDims
from lra.model.mixer import MixerDims, SequenceMixer
from lra.packed.packing import Packing

BATCH, HEADS, HEAD_DIM = 4, 2, 8
WIDTH = HEADS * HEAD_DIM


class Subject(ABC):
    """One attention or mixer with its settings.

    Args:
        make: from the encoder's dims to a new instance.
        knobs: what its slow twin is told besides tensors.

    Attributes:
        base: the class that it must be of.
        under_autocast: whether mixed precision reaches it.
    """

    base: type[nn.Module]
    under_autocast: bool

    def __init__(self, make: Callable[[Any], nn.Module], knobs: Mapping[str, Any] | None = None):
        self.make, self.knobs = make, dict(knobs or {})

    def instance(self, length: int, *, dtype: torch.dtype = torch.float64, seed: int = 0) -> Any:
        """A new one for at most `length` positions, its parameters drawn from `seed`, in evaluation.

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
        """Random inputs of four sequences, and which positions are real `[B, L]`.

        The first sequence is all real, the second is padded at its end, the third has holes, the last is all padding.
        """
        torch.manual_seed(length)
        tensors = [torch.randn(*shape, dtype=dtype, requires_grad=True) for shape in self.shapes(length)]
        valid_BL = torch.rand(BATCH, length) < 0.7
        valid_BL[0], valid_BL[1], valid_BL[-1] = True, torch.arange(length) < max(1, length // 2), False
        return tensors, valid_BL

    def mix(self, instance: Any, form: str, tensors: list[Tensor], valid_BL: Tensor | None) -> Tensor:
        """The first call of a pass: on the padded batch, or (form `packed`) on its real tokens alone."""
        instance.train(instance.training)
        if form == "padded":
            return self.mix_padded(instance, tensors, valid_BL)
        batch, length = self.size(tensors)
        return self.mix_packed(instance, tensors, Packing(valid_BL, batch=batch, length=length))

    @abstractmethod
    def dims(self, length: int) -> Any:
        """What the encoder would tell it."""

    @abstractmethod
    def shapes(self, length: int) -> list[tuple[int, ...]]:
        """Shapes of its inputs; the first of them is that of its output."""

    @abstractmethod
    def size(self, tensors: list[Tensor]) -> tuple[int, int]:
        """B and L of inputs."""

    @abstractmethod
    def over_output(self, valid_BL: Tensor) -> Tensor:
        """The mask in a shape that multiplies an input or the output."""

    def cut(self, x: Tensor, length: int) -> Tensor:
        """The first positions of an input or the output; L is the last axis but one."""
        return x[..., :length, :]

    @abstractmethod
    def mix_padded(self, instance: Any, tensors: list[Tensor], valid_BL: Tensor | None) -> Tensor:
        """Call it as the encoder does on a padded batch."""

    @abstractmethod
    def mix_by_twin(self, twin: Callable[..., Tensor], tensors: list[Tensor], valid_BL: Tensor | None) -> Tensor:
        """What `mix_padded` gives, by the slow twin: `twin(*inputs, valid)`."""

    @abstractmethod
    def mix_packed(self, instance: Any, tensors: list[Tensor], packing: Packing) -> Tensor:
        """Call it as the encoder does on packed tokens; padded again, with zeros."""


class AttentionSubject(Subject):
    """An `AttentionBackend`: queries, keys and values `[B, H, L, E]`, of float32 at least."""

    base = AttentionBackend
    under_autocast = False

    def dims(self, length: int) -> AttentionDims:
        """Two heads."""
        return AttentionDims(num_heads=HEADS, head_dim=HEAD_DIM, max_seq_len=length)

    def shapes(self, length: int) -> list[tuple[int, ...]]:
        """Queries, keys, values."""
        return [(BATCH, HEADS, length, HEAD_DIM)] * 3

    def size(self, tensors: list[Tensor]) -> tuple[int, int]:
        """B and L."""
        return tensors[0].shape[0], tensors[0].shape[2]

    def over_output(self, valid_BL: Tensor) -> Tensor:
        """`[B, 1, L, 1]`."""
        return valid_BL[:, None, :, None]

    def mix_padded(self, instance: AttentionBackend, tensors: list[Tensor], valid_BL: Tensor | None) -> Tensor:
        """`forward`."""
        q_BHLE, k_BHLE, v_BHLE = tensors
        out_BHLE: Tensor = instance(q_BHLE, k_BHLE, v_BHLE, valid_BL)
        return out_BHLE

    def mix_by_twin(self, twin: Callable[..., Tensor], tensors: list[Tensor], valid_BL: Tensor | None) -> Tensor:
        """The twin is of `forward`."""
        return twin(*tensors, valid_BL)

    def mix_packed(self, instance: AttentionBackend, tensors: list[Tensor], packing: Packing) -> Tensor:
        """`forward_packed`."""
        planes_PTD = torch.stack([packing.pack(x_BHLE.transpose(1, 2).flatten(2)) for x_BHLE in tensors])
        out_BLD = packing.unpack(instance.forward_packed(planes_PTD, packing)[None])[0]
        out_BLHE: Tensor = out_BLD.unflatten(2, (tensors[0].shape[1], -1))
        return out_BLHE.transpose(1, 2)


class MixerSubject(Subject):
    """A `SequenceMixer` with the LayerNorm before it and the residual connection around it: `[B, L, D]`."""

    base = SequenceMixer
    under_autocast = True

    def __init__(self, make: Callable[[Any], nn.Module], knobs: Mapping[str, Any] | None = None):
        super().__init__(make, knobs)
        torch.manual_seed(0)
        self.norms = {dtype: nn.LayerNorm(WIDTH, dtype=dtype) for dtype in (torch.float32, torch.float64)}
        for norm in self.norms.values():
            _shift(norm)

    def parameters(self, instance: SequenceMixer) -> dict[str, Tensor]:
        """The mixer's, and in float64 those of the LayerNorm before it."""
        return {**super().parameters(instance), **dict(self.norms[torch.float64].named_parameters(prefix="norm"))}

    def dims(self, length: int) -> MixerDims:
        """A width of two heads; dropout is off in evaluation."""
        return MixerDims(width=WIDTH, num_heads=HEADS, head_dim=HEAD_DIM, max_seq_len=length, dropout=0.1)

    def shapes(self, length: int) -> list[tuple[int, ...]]:
        """One input."""
        return [(BATCH, length, WIDTH)]

    def size(self, tensors: list[Tensor]) -> tuple[int, int]:
        """B and L."""
        return tensors[0].shape[0], tensors[0].shape[1]

    def over_output(self, valid_BL: Tensor) -> Tensor:
        """`[B, L, 1]`."""
        return valid_BL[:, :, None]

    def mix_padded(self, instance: SequenceMixer, tensors: list[Tensor], valid_BL: Tensor | None) -> Tensor:
        """`x + mixer(norm(x))`."""
        (x_BLD,) = tensors
        mixed_BLD: Tensor = instance(self.norms[x_BLD.dtype](x_BLD), valid_BL)
        return x_BLD + mixed_BLD

    def mix_by_twin(self, twin: Callable[..., Tensor], tensors: list[Tensor], valid_BL: Tensor | None) -> Tensor:
        """The twin is of the mixer alone."""
        (x_BLD,) = tensors
        return x_BLD + twin(self.norms[x_BLD.dtype](x_BLD), valid_BL)

    def mix_packed(self, instance: SequenceMixer, tensors: list[Tensor], packing: Packing) -> Tensor:
        """`residual_packed`."""
        (x_BLD,) = tensors
        norm, x_TD = self.norms[x_BLD.dtype], packing.pack(x_BLD)
        return packing.unpack(instance.residual_packed(x_TD, norm, packing, None)[None])[0]


def _shift(module: nn.Module) -> None:
    """Move every parameter a little, no two alike."""
    for parameter in module.parameters():
        parameter.data.add_(torch.randn_like(parameter), alpha=0.1)
