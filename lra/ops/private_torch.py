"""What `lra` uses of torch that is not in its interface, tried with the version in `constraints.txt`.

`tests/house/test_private_doors.py` tells when something of it has moved.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch import Tensor
from torch._ops import OpOverload
from torch.autograd import forward_ad
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

__all__ = ["OpOverload", "TorchDispatchMode", "tree_leaves"]  # as they are

_ATEN = torch.ops.aten
# Fused attention on a CPU with its normalisers, which `scaled_dot_product_attention` does not return, and its gradient.
fused_attention = _ATEN._scaled_dot_product_flash_attention_for_cpu
fused_attention_backward = _ATEN._scaled_dot_product_flash_attention_for_cpu_backward


def forward_mode_level() -> int:
    """The level of `forward_ad.dual_level` in which the code is; below 0 it is in none."""
    return forward_ad._current_level


def is_transformed() -> bool:
    """Tell whether code is in a transformation of `torch.func`."""
    return bool(torch._C._are_functorch_transforms_active())


def out_of_transformations() -> AbstractContextManager[None]:
    """A context in which the transformations of `torch.func` see nothing."""
    context: AbstractContextManager[None] = torch._C._DisableFuncTorch()
    return context


def softmax_backward(grad: Tensor, weights: Tensor) -> Tensor:
    """Compute the gradient of the scores from that of `softmax(scores)` over the last dimension; overwrites `grad`."""
    grad_scores: Tensor = _ATEN._softmax_backward_data.out(grad, weights, -1, weights.dtype, grad_input=grad)
    return grad_scores


def fourier_flops(flops: Callable[..., int]) -> dict[Any, Callable[..., int]]:
    """Map the operators of Fourier transforms to functions that count their FLOPs, as torch's counter takes them.

    Args:
        flops: of a transform of real numbers to complex ones or back, from the shape of its input, its dimensions and,
            where it is another one, the length of its output's last dimension (`last`).
    """
    return {
        _ATEN._fft_r2c: lambda x, dims, *_, **__: flops(x, dims),
        _ATEN._fft_c2c: lambda x, dims, *_, **__: 2 * flops(x, dims),
        _ATEN._fft_c2r: lambda x, dims, _, length, **__: flops(x, dims, last=length),
    }
