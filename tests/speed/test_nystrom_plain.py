"""Nyström attention against the paper's three kernels written out: never slower, from 256 tokens on."""

import statistics

import pytest
import torch
from torch.nn.functional import conv2d

from lra.attention.base import AttentionDims
from lra.from_config import build_method
from lra.ops.packing import Packing
from lra.packed.attention_forms import attend_packed
from lra.settings.compose import load_config
from tests.speed.timing import in_turns

pytestmark = pytest.mark.slow

BATCH, HEADS, DIMS, LANDMARKS, TAPS = 8, 2, 32, 64, 35


def plain(q, k, v, taps):
    """Equation 13 of the paper, its pseudo-inverse of equation 11, and the convolution of the values."""
    length = q.shape[2]
    q, k = q * DIMS**-0.25, k * DIMS**-0.25
    q_m, k_m = (x.reshape(BATCH, HEADS, LANDMARKS, length // LANDMARKS, DIMS).mean(3) for x in (q, k))
    kernel_1, kernel_2, kernel_3 = ((a @ b.mT).softmax(-1) for a, b in ((q, k_m), (q_m, k_m), (q_m, k)))
    eye = torch.eye(LANDMARKS)
    inverse = kernel_2.mT / kernel_2.sum(-2).max()
    for _ in range(6):
        product = kernel_2 @ inverse
        inverse = 0.25 * inverse @ (13 * eye - product @ (15 * eye - product @ (7 * eye - product)))
    skip = conv2d(v, taps[:, None, :, None], padding=(TAPS // 2, 0), groups=HEADS)
    return kernel_1 @ inverse @ (kernel_3 @ v) + skip


@pytest.mark.parametrize("length", [256, 512, 1024, 2048, 4096])
def test_it_is_no_slower_than_the_formula(length, note):
    dims = AttentionDims(num_heads=HEADS, head_dim=DIMS, max_seq_len=length)
    backend = build_method(load_config("train", ["attention=nystrom"]))(dims).train()
    packing = Packing(None, batch=BATCH, length=length)
    planes = torch.randn(3, BATCH * length, HEADS * DIMS, requires_grad=True)
    q, k, v = (x.reshape(BATCH, length, HEADS, DIMS).transpose(1, 2) for x in planes.detach())
    q, k, v = (x.contiguous().requires_grad_() for x in (q, k, v))
    taps = backend.value_skip.detach().clone().requires_grad_()

    def ours():
        out = attend_packed(backend, planes, packing)
        out.backward(torch.ones_like(out))
        return out

    def theirs():
        out = plain(q, k, v, taps)
        out.backward(torch.ones_like(out))
        return out

    expected = theirs().transpose(1, 2).reshape(BATCH * length, HEADS * DIMS)
    torch.testing.assert_close(ours(), expected, rtol=1e-3, atol=1e-4)
    fast, slow = in_turns(ours, theirs, turns=15)
    ratio = statistics.median(s / f for f, s in zip(fast, slow, strict=True))
    note(f"nystrom {length} beside its formula", seconds=statistics.median(fast), ratio=ratio)
    assert ratio >= 1
