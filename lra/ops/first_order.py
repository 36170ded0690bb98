"""Decorators of operators that compute their own gradients, which are subclasses of `torch.autograd.Function`.

Their matrix products write into given tensors, so all have to be of one type: that of the inputs. Autocast would give
some of them another one, wherever a caller's block begins and ends.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import torch
from torch import Tensor

from lra.types import UserError

Gradients = tuple[Tensor | None, ...]
Inputs = ParamSpec("Inputs")
Output = TypeVar("Output")


def without_autocast(forward: Callable[Inputs, Output]) -> Callable[Inputs, Output]:
    """Make a forward pass, or a method, compute in the type of its inputs; its first input is a tensor."""

    @wraps(forward)
    def _forward(*inputs: Inputs.args, **named: Inputs.kwargs) -> Output:
        first = inputs[1]  # after the context, or `self`
        assert isinstance(first, Tensor)
        with _autocast_off(first):
            return forward(*inputs, **named)

    return _forward


def first_order(backward: Callable[..., Gradients]) -> Callable[..., Gradients]:
    """Make a backward pass compute in the type of its inputs, and refuse to be differentiated (`create_graph=True`).

    Otherwise what it has saved would count as constants. torch's own `once_differentiable` gives zeros, without an
    error, to `torch.autograd.grad(..., allow_unused=True)`.

    Raises:
        UserError: by the backward pass, with `create_graph=True`.
    """

    @wraps(backward)
    def _backward(ctx: Any, *grads: Tensor) -> Gradients:
        if torch.is_grad_enabled():
            raise UserError(
                "create_graph=True: the packed form and the iterative pseudo-inverse have no second derivatives;"
                " call with packed=False, and in Nyström attention choose attention.pinv=exact"
            )
        with _autocast_off(grads[0]):
            return backward(ctx, *grads)

    return _backward


def _autocast_off(x: Tensor) -> AbstractContextManager[object]:
    """Make a context without autocast; a compiler traces a backward pass in the block of the forward pass."""
    device = x.device.type
    return torch.autocast(device, enabled=False) if torch.amp.is_autocast_available(device) else nullcontext()
