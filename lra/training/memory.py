"""After running out of memory, find out how large a part of the batch fits."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from lra.types import Batch, TaskSpec, UserError

if TYPE_CHECKING:  # importing torch is slow, and `is_out_of_memory` does not need it
    from lra.training.module import ClassifierModule

T = TypeVar("T")
OUT_OF_MEMORY = (  # torch's allocator on a GPU, CUDA itself, cuBLAS, and the allocator on a CPU
    "CUDA out of memory",
    "CUDA error: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "not enough memory",
    "can't allocate memory",
)


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether an error is about too little memory."""
    return isinstance(error, MemoryError) or any(words in str(error) for words in OUT_OF_MEMORY)


def next_parts(batch_size: int, parts: int) -> int | None:
    """Return the next number of equal parts to try after `parts`, at least twice as many; None if there is none."""
    return next((more for more in range(2 * parts, batch_size + 1) if batch_size % more == 0), None)


def in_fewest_parts(measure: Callable[[int], T], batch_size: int, *, same: Callable[[int], bool]) -> T:
    """Call `measure` with 1, 2, 4 … parts of a batch, until it does not run out of memory; return its result.

    Args:
        measure: is called with a number of parts.
        batch_size: examples of the whole batch.
        same: tells whether a batch in so many parts makes the same run.

    Raises:
        UserError: when not even one example fits, and when more parts would make another run.
    """
    parts: int | None = 1
    while parts is not None:
        try:
            return measure(parts)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        release_memory()
        parts = next_parts(batch_size, parts)
        if parts is not None and not same(parts):
            raise UserError(f"out of memory, and in {parts} parts the batch would make another run")
    raise UserError("out of memory with one example at a time")


def release_memory() -> None:
    """Give the memory of a failed attempt back: its modules refer to each other, so they are not freed at once."""
    import torch

    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def parts_that_fit(module: ClassifierModule, spec: TaskSpec, *, batch_size: int, parts: int) -> int | None:
    """Find the smallest number of parts of a batch such that a forward and a backward pass of one part fit in memory.

    Each number is tried with sequences of full length, in the precision of the weights.

    Args:
        module: the classifier.
        spec: the task's specification, for the shape of the tokens.
        batch_size: examples of the whole batch.
        parts: the number of parts that did not fit; at least twice as many are tried.

    Returns:
        The number of parts, a divisor of `batch_size`; None if not even one example fits.
    """
    import torch
    from torch.nn.functional import cross_entropy

    for more in range(2 * parts, batch_size + 1):
        if batch_size % more:
            continue
        shape = (batch_size // more, spec.num_sequences, spec.seq_len)
        tokens = torch.ones(shape, dtype=torch.long, device=module.device)
        try:
            batch = Batch(tokens, tokens != 0, tokens[:, 0, 0] * 0)
            cross_entropy(module(batch), batch.label).backward()
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
        else:
            return more
        finally:
            module.zero_grad(set_to_none=True)
    return None
