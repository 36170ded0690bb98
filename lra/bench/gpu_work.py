"""Count the work of a training step as a GPU would compute it, on a machine without one.

Fake tensors have shapes and no numbers, so that a step of any size is counted in a second. They say that they are on a
CPU: torch needs its CUDA build for fake tensors on a GPU. The packed form and the groups that fit a CPU's caches are
left out while a model is compiled, and so they are here.

Letters: B examples, N sequences per example, L positions.
"""

from __future__ import annotations

from unittest.mock import patch

import torch
from torch import nn
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.nn.functional import cross_entropy

from lra.training.counting import Work, count_work
from lra.training.module import ClassifierModule
from lra.types import TaskSpec

PASSES_OF_ADAM = 7  # numbers per parameter that a fused step moves: reads weight, gradient, two moments; writes three


def gpu_work(module: ClassifierModule, spec: TaskSpec, *, batch_size: int, masked: bool) -> Work:
    """Count a step of padded batches: forward pass, loss, backward pass, and a fused Adam step.

    Args:
        module: the classifier; its weights are replaced by fake ones, so it is of no other use afterwards.
        spec: the task's specification, for the shape of the tokens.
        batch_size: B.
        masked: whether some positions are padding.
    """
    fake = FakeTensorMode(allow_non_fake_inputs=True)
    for part in module.modules():
        _make_fake(part, fake)
    with fake, patch.object(torch.compiler, "_is_compiling_flag", True):
        tokens_BNL = torch.ones((batch_size, spec.num_sequences, spec.seq_len), dtype=torch.long)
        valid_BNL = tokens_BNL != 0 if masked else None

        def step() -> None:
            cross_entropy(module.model(tokens_BNL, valid_BNL), tokens_BNL[:, 0, 0] * 0).backward()

        work = count_work(step)
    weights = sum(weight.nbytes for weight in module.model.parameters())
    return Work(work.flops, work.bytes + PASSES_OF_ADAM * weights, work.operators + 1)


def _make_fake(part: nn.Module, fake: FakeTensorMode) -> None:
    for name, weight in part.named_parameters(recurse=False):
        setattr(part, name, nn.Parameter(fake.from_tensor(weight.detach())))
    for name, buffer in part.named_buffers(recurse=False):
        setattr(part, name, fake.from_tensor(buffer))
