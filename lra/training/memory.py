"""After running out of memory, find out how large a part of the batch fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lra.types import Batch, TaskSpec

if TYPE_CHECKING:  # importing torch is slow, and `is_out_of_memory` does not need it
    from lra.training.module import ClassifierModule

OUT_OF_MEMORY = ("CUDA out of memory", "not enough memory", "can't allocate memory")  # torch: CUDA, CPU


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether an error is about too little memory."""
    return isinstance(error, MemoryError) or any(words in str(error) for words in OUT_OF_MEMORY)


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
