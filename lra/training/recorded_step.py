"""Record the forward and the backward pass of a training step as one CUDA graph.

The step of a small model is hundreds of kernels of a few microseconds, and launching them one by one takes the host
longer than the GPU needs to compute them. A graph has the same kernels, which one call launches.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from lra.types import Batch

Outputs = tuple[Tensor, ...]
Compute = Callable[[], Outputs]
Record = Callable[[Compute], tuple[Callable[[], object], Outputs]]


class WaitsForGpuError(Exception):
    """Raised when a step reads a value from the GPU: what the host does then would not be in the graph."""


def record_cuda_graph(compute: Compute) -> tuple[Callable[[], object], Outputs]:
    """Record what `compute` does on the GPU.

    Returns:
        A function that does it again with the same memory, and the outputs, which it overwrites.

    Raises:
        WaitsForGpuError: when `compute` waits for the GPU.
    """
    stream, aside = torch.cuda.current_stream(), torch.cuda.Stream()
    aside.wait_stream(stream)
    with torch.cuda.stream(aside):  # as torch asks: libraries and constants are made at the first call
        compute()
        before = torch.cuda.get_sync_debug_mode()
        torch.cuda.set_sync_debug_mode("error")
        try:
            compute()
        except RuntimeError as error:
            if "synchroniz" not in str(error):
                raise
            raise WaitsForGpuError from error
        finally:
            torch.cuda.set_sync_debug_mode(before)
    stream.wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outputs = compute()
    return graph.replay, outputs


class RecordedStep:
    """The forward and backward pass for batches of one shape, in the autocast in which it is made.

    A call copies a batch to where the recording reads it, and sets the parameters' gradients; they must not be freed
    between calls. Dropout and other random numbers go on from the GPU's generator, as without a recording.

    Args:
        model: its gradients are computed; its buffers are as before when the recording is made.
        compute: maps a batch to its loss, and to other tensors that a call returns after it.
        example: a batch whose shape, and whose having a mask or not, all batches share.
        record: how to record; a test on a CPU repeats the computation instead.

    Raises:
        WaitsForGpuError: when the step reads a value from the GPU.
    """

    def __init__(
        self,
        model: nn.Module,
        compute: Callable[[Batch], Outputs],
        example: Batch,
        record: Record = record_cuda_graph,
    ):
        valid = None if example.valid is None else example.valid.clone()
        self._batch = Batch(example.tokens.clone(), valid, example.label.clone())
        device = example.label.device
        buffers = {name: buffer.clone() for name, buffer in model.named_buffers()}
        autocast = torch.autocast(
            device.type,
            torch.get_autocast_dtype(device.type),
            enabled=torch.is_autocast_enabled(device.type),
            cache_enabled=False,  # a weight's copy in a shorter type is made anew at every replay
        )

        def step() -> Outputs:
            model.zero_grad(set_to_none=True)  # so the backward pass sets the gradients, and adds to none
            with autocast:
                loss, *others = compute(self._batch)
            with torch.autocast(device.type, enabled=False):
                loss.backward()
            return (loss.detach(), *(other.detach() for other in others))

        with torch.random.fork_rng([device] if device.type == "cuda" else []):
            self._replay, self._outputs = record(step)
        for name, buffer in model.named_buffers():
            buffer.copy_(buffers[name])

    def __call__(self, batch: Batch) -> Outputs:
        """Compute the gradients for `batch`; return its loss and the other outputs, valid until the next call."""
        for recorded, part in zip(self._batch, batch, strict=True):
            assert (recorded is None) == (part is None), "some batches have a mask, others not"
            if recorded is not None and part is not None:
                assert recorded.shape == part.shape, "a recording is for batches of one shape"
                recorded.copy_(part, non_blocking=True)
        self._replay()
        return self._outputs
