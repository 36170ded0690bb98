"""What to do when memory is out: try how small a part of the batch fits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from lra.types import Batch, TaskSpec

if TYPE_CHECKING:  # an error is explained without torch
    from lra.training.module import ClassifierModule

OUT_OF_MEMORY = ("CUDA out of memory", "not enough memory", "can't allocate memory")  # torch: CUDA, CPU


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory is out."""
    return isinstance(error, MemoryError) or any(words in str(error) for words in OUT_OF_MEMORY)


def parts_that_fit(module: ClassifierModule, spec: TaskSpec, *, batch_size: int, parts: int) -> int | None:
    """The fewest parts of the batch, at least twice `parts`, of which one goes forward and backward.

    Each is tried with sequences of full length, in the weights' own precision; None when not even one example fits.
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
