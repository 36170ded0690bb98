"""The matrix products that a call computes, and how fast plain products of the same shapes are on this device.

The rate of a method is compared with that of its own shapes, because thin products are slower than square ones.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import torch
from torch import Tensor

from lra.ops.private_torch import OpOverload, TorchDispatchMode
from lra.training.cost.counting import median_seconds

Product = tuple[int, int, int, int]  # N products of [I, K] with [K, J]: (N, I, K, J)
TWO_FACTORS = ("mm", "addmm", "addmm_", "bmm", "baddbmm", "baddbmm_")  # the last two tensors are multiplied
FUSED_FORWARD = 2  # q kᵀ, then the weights times v
FUSED_BACKWARD = 5  # q kᵀ again, and the gradients of weights, queries, keys and values
LARGEST = (16, 2048, 2048, 2048)  # a larger product is measured on a part of this size


class ProductCounter(TorchDispatchMode):
    """Counts the matrix products within its context by their shapes; those inside of fused attention too."""

    def __init__(self) -> None:
        super().__init__()
        self.counts: Counter[Product] = Counter()

    def __torch_dispatch__(self, func: OpOverload, types: object, args: Any = (), kwargs: Any = None) -> Any:
        self.counts.update(products_of(func.overloadpacket.__name__, [x for x in args if isinstance(x, Tensor)]))
        return func(*args, **(kwargs or {}))


def products_of(operator: str, tensors: Sequence[Tensor]) -> Iterator[Product]:
    """Yield the matrix products that an operator of torch computes on its tensor arguments."""
    if operator in TWO_FACTORS:
        left, right = tensors[-2:]
        count = left.shape[0] if left.ndim == 3 else 1
        yield count, left.shape[-2], left.shape[-1], right.shape[-1]
    elif operator.startswith("_scaled_dot_product_") and "math" not in operator:
        backward = operator.endswith("_backward")
        query, key = tensors[1:3] if backward else tensors[:2]
        *outer, rows, dims = query.shape
        scores: Product = (math.prod(outer), rows, dims, key.shape[-2])
        weighted: Product = (math.prod(outer), rows, key.shape[-2], dims)
        total = FUSED_BACKWARD if backward else FUSED_FORWARD
        yield from [scores] * (total // 2) + [weighted] * (total - total // 2)


def count_products(function: Callable[[], object]) -> Counter[Product]:
    """Run `function` once and count its matrix products by shape."""
    counter = ProductCounter()
    with counter:
        function()
    return counter.counts


class ProductRates:
    """Times plain products on a device, each shape once."""

    def __init__(self, device: torch.device, dtype: torch.dtype):
        self.device, self.dtype = device, dtype
        self._flops_per_second: dict[Product, float] = {}

    def seconds(self, counts: Counter[Product]) -> float:
        """Seconds that plain products of these shapes take, with results that are written to memory once."""
        return sum(2.0 * math.prod(shape) * count / self.rate(shape) for shape, count in counts.items() if all(shape))

    def rate(self, shape: Product) -> float:
        """FLOP/s of a product; of a part of it, where it is large."""
        number, rows, inner, columns = map(min, shape, LARGEST)
        part = (number, rows, inner, columns)
        if part not in self._flops_per_second:
            left = torch.ones(number, rows, inner, device=self.device, dtype=self.dtype)
            right = torch.ones(number, inner, columns, device=self.device, dtype=self.dtype)
            out = torch.empty(number, rows, columns, device=self.device, dtype=self.dtype)
            with torch.no_grad():
                seconds = median_seconds(lambda: torch.bmm(left, right, out=out), self.device, least=0.005)
            self._flops_per_second[part] = 2.0 * math.prod(part) / seconds
        return self._flops_per_second[part]
