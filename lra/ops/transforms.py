"""What `torch.func` and `torch.export` change: ways to tell, and what is kept out of their sight."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor

from lra.ops import private_torch
from lra.types import UserError


def in_forward_mode() -> bool:
    """Tell whether derivatives may be computed in forward mode (jvp, dual numbers)."""
    return not torch.compiler.is_compiling() and private_torch.forward_mode_level() >= 0


def in_torch_func() -> bool:
    """Tell whether code is transformed (vmap, grad, jvp); our own `torch.autograd.Function`s know none of it."""
    return in_forward_mode() or (not torch.compiler.is_compiling() and private_torch.is_transformed())


def runs_plainly() -> bool:
    """Tell whether code may depend on values: not compiled, not in `torch.func`."""
    return not (torch.compiler.is_compiling() or in_torch_func())


def known_length(length: int) -> int:
    """Return a length that an operator has to know when it is exported.

    Raises:
        UserError: for a length that `torch.export` leaves open.
    """
    if torch.compiler.is_exporting() and not isinstance(length, int):
        raise UserError(
            "torch.export of this method keeps the sequences' length; leave only the batch open:"
            ' dynamic_shapes={0: torch.export.Dim("batch")} for each input',
            kind="open_length",
        )
    return length


@contextmanager
def untransformed() -> Iterator[None]:
    """Compute what `torch.func` does not transform."""
    with private_torch.out_of_transformations():
        yield


def draw(
    sample: Callable[..., Tensor], size: Sequence[int], seed: Tensor, *, training: bool, device: torch.device
) -> Tensor:
    """Draw anew at each call in training, on the device; in evaluation always the same, see `seeded`."""
    return sample(size, device=device) if training else seeded(sample, size, seed).to(device)


@torch.compiler.disable
def seeded(sample: Callable[..., Tensor], size: Sequence[int], seed: Tensor, *, later: int = 0) -> Tensor:
    """Draw on the host, so that every device has the same numbers; `sample` is `torch.rand` or `torch.randn`.

    Raises:
        UserError: where a seed has no value, which is in `torch.export` and where `torch.func.vmap` is over seeds.
    """
    try:
        generator = torch.Generator().manual_seed(int(seed) + later)
    except RuntimeError as error:
        raise UserError(
            "this attention draws from a seed, whose value torch.export and torch.func.vmap over buffers do not know;"
            " under vmap, type in_dims=None for buffers",
            kind="unreadable_seed",
        ) from error
    with untransformed():
        return sample(size, generator=generator)
