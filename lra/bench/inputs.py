"""The shape that methods are measured at, and the random inputs that all of them share.

Letters: B sequences, L positions, T = B·L tokens, H heads, E dims per head, D = H·E.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import torch
from torch import Tensor

DTYPES = {name: getattr(torch, name) for name in ("float32", "float64", "bfloat16", "float16")}


@dataclass(frozen=True, kw_only=True)
class BenchShape:
    """Shape, dtype and device of the inputs.

    Attributes:
        batch: B.
        heads: H.
        head_dim: E.
        length: L.
        dtype: a name in `DTYPES`.
        device: `cpu` or `cuda`.
    """

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

    def at(self, length: int) -> BenchShape:
        """Copy the shape with another length."""
        return replace(self, length=length)


class BenchInputs:
    """Queries, keys and values of one shape, all positions real; their gradients are asked for.

    Args:
        shape: their shape.
        seed: of the random numbers, which are N(0, 1).
    """

    def __init__(self, shape: BenchShape, *, seed: int = 0):
        generator = torch.Generator().manual_seed(seed)
        drawn_PTD = torch.randn(3, shape.batch * shape.length, shape.width, generator=generator)
        self.shape = shape
        self.planes_PTD = drawn_PTD.to(device=shape.device, dtype=DTYPES[shape.dtype]).requires_grad_()

    @cached_property
    def x_BLD(self) -> Tensor:
        """The queries as the input of a mixer."""
        return self._leaf(self._unpacked()[0])

    @cached_property
    def joined_BLD(self) -> Tensor:
        """Queries, keys and values side by side, `[B, L, 3·D]`, as one projection would give them."""
        return self._leaf(self._unpacked().permute(1, 2, 0, 3).flatten(2).contiguous())

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

    @staticmethod
    def _leaf(x: Tensor) -> Tensor:
        leaf: Tensor = x.detach().requires_grad_()
        return leaf
