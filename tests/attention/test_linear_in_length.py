"""The attentions whose memory grows with the length alone compute no L × L tensor, forward or backward."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hydra.utils import instantiate
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from lra.attention.base import AttentionDims
from lra.paths import conf_names
from lra.testing.contract import FORMS
from tests.attention.test_contract import mix, settings

SHORT, LONG = 512, 2048
SMALL = {  # knobs whose part of the cost is small beside L
    "local": {"block_length": 8},
    "longformer": {"window": 16},
    "bigbird": {"block_length": 8},
    "skyformer": {"num_landmarks": 16},
    "nystrom": {"num_landmarks": 16, "value_skip_taps": 3},
    "landmark": {"num_landmarks": 16, "value_skip_taps": 3},
    "linformer": {"projections": 16},
    "performer": {"features": 16},
    "reformer": {"num_hashes": 1, "chunk_length": 16},
    "full": {"kernel": "math"},
}
QUADRATIC = ("full",)  # these compute an L × L tensor, and the measurement sees it


class Largest(TorchDispatchMode):
    """Notes the number of entries of the largest tensor that any operator returns; views do not count."""

    def __init__(self):
        super().__init__()
        self.entries = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None) -> Any:
        out = func(*args, **(kwargs or {}))
        tensors = [x for x in tree_leaves(out) if isinstance(x, torch.Tensor)]
        self.entries = max([self.entries, *(x.untyped_storage().nbytes() // x.element_size() for x in tensors)])
        return out


def largest(name: str, form: str, length: int) -> int:
    torch.manual_seed(0)
    dims = AttentionDims(num_heads=1, head_dim=4, max_seq_len=length)
    made = instantiate(settings(name, "clean", **SMALL.get(name, {})))(dims).train()
    tensors = [torch.randn(1, 1, length, 4, requires_grad=True) for _ in range(3)]
    with Largest() as mode:
        mix(made, form, *tensors, torch.rand(1, length) < 0.9).sum().backward()
    return mode.entries


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", sorted(conf_names("attention")))
def test_the_largest_tensor_grows_with_the_length_alone(name, form):
    times = largest(name, form, LONG) / largest(name, form, SHORT)
    if name in QUADRATIC:
        assert times == pytest.approx((LONG / SHORT) ** 2, rel=0.1)
    else:  # packed Reformer takes parts of a sequence at a time, so its growth is not even
        assert times < 1.5 * LONG / SHORT
