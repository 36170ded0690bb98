"""The attentions that do not say that they are quadratic compute no L × L tensor, forward or backward."""

from typing import Any

import pytest
import torch
from hydra.utils import instantiate
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from lra.attention.base import AttentionDims
from lra.tools.testing.contract import FORMS
from tests.attention.test_contract import CHOICES, mix

LENGTH = 2048  # the tensors that grow with the length alone have at most 512 entries for each position


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


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name, chosen", CHOICES)
def test_an_l_by_l_tensor_is_computed_only_where_quadratic_says_so(name, chosen, form):
    torch.manual_seed(0)
    tensors = [torch.randn(1, 1, LENGTH, 4, requires_grad=True) for _ in range(3)]
    made = instantiate(chosen)(AttentionDims(num_heads=1, head_dim=4, max_seq_len=LENGTH)).train()
    with Largest() as mode:
        mix(made, form, *tensors, torch.rand(1, LENGTH) < 0.9).sum().backward()
    assert (mode.entries > LENGTH**2 / 2) == made.quadratic
