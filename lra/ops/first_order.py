"""Operators that compute their own gradients have no second derivatives; they say so instead of being wrong."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor

from lra.types import UserError

Gradients = tuple[Tensor | None, ...]


def first_order(backward: Callable[..., Gradients]) -> Callable[..., Gradients]:
    """Make a backward pass refuse `create_graph=True`, as a gradient penalty has it.

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
        return backward(ctx, *grads)

    return _backward
