"""`full` against the materialised softmax with checkpointing, as the released code trains it: forward and backward."""

import statistics

import pytest
import torch
from torch.nn.functional import dropout
from torch.utils.checkpoint import checkpoint

from lra import from_config
from lra.attention.base import AttentionDims
from lra.attention.full import FullAttention
from lra.ops.packing import Packing
from lra.packed.attention_forms import attend_packed
from lra.settings.compose import load_config
from tests.speed.inputs import batch_of
from tests.speed.timing import in_turns

pytestmark = pytest.mark.slow

HEADS, DIMS, BATCH = 2, 32, 8
LEAST = {(True, 0.0): 5, (True, 0.1): 2, (False, 0.0): 2, (False, 0.1): 2}


def materialised(q, k, v, valid, rate):
    scores = q @ k.transpose(-2, -1) / DIMS**0.5 - 1e6 * (1 - valid[:, None, None, :])
    return dropout(scores.softmax(-1), rate, training=rate > 0) @ v


@pytest.mark.parametrize("rate", [0.0, 0.1])
@pytest.mark.parametrize("task", ["listops", "text"])
@pytest.mark.parametrize("ragged", [True, False])
def test_full_attention_against_the_materialised_softmax(task, rate, ragged, note):
    """At n = 2048 and 4096; with the task's real lengths, and with every position real."""
    spec = from_config.build_spec(load_config("train", [f"task={task}"]))
    valid = batch_of(spec, BATCH).valid[:, 0] if ragged else None
    packing = Packing(valid, batch=BATCH, length=spec.seq_len)
    dims = AttentionDims(num_heads=HEADS, head_dim=DIMS, max_seq_len=spec.seq_len)
    backend = FullAttention(dims, kernel="fused", attention_dropout=rate).train()
    planes = torch.randn(3, len(packing.index_T), HEADS * DIMS, requires_grad=True)
    grad = torch.randn(len(packing.index_T), HEADS * DIMS)
    q, k, v = (torch.randn(BATCH, HEADS, spec.seq_len, DIMS, requires_grad=True) for _ in range(3))
    grad_padded, real = torch.randn(q.shape), torch.ones(BATCH, spec.seq_len) if valid is None else valid.float()

    def ours():
        attend_packed(backend, planes, packing).backward(grad)

    def theirs():
        checkpoint(materialised, q, k, v, real, rate, use_reentrant=False).backward(grad_padded)

    fast, slow = in_turns(ours, theirs, turns=4)
    ratio = statistics.median(s / f for f, s in zip(fast, slow, strict=True))
    note(
        f"full {spec.seq_len} dropout {rate:g} {'real lengths' if ragged else 'all real'}",
        seconds=statistics.median(fast),
        paper_seconds=statistics.median(slow),
        ratio=ratio,
    )
    assert ratio >= LEAST[ragged, rate]
