"""The measured errors of Nyström attention, against matrices written out from the paper."""

import math

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from lra.from_config import build_model
from lra.training import approximation
from lra.training.approximation import approximation_error, measure_approximation
from lra.types import Batch
from tests.attention.test_contract import DIMS, HEADS, backend
from tests.model.test_encoder import cfg_of


class LargestTensor(TorchDispatchMode):
    """Notes the bytes of the largest tensor that an operator makes in this context."""

    bytes = 0

    def __torch_dispatch__(self, operator, types, args=(), kwargs=None):
        made = operator(*args, **(kwargs or {}))
        for tensor in made if isinstance(made, tuple | list) else [made]:
            if isinstance(tensor, torch.Tensor):
                self.bytes = max(self.bytes, tensor.numel() * tensor.element_size())
        return made


def rows(length=24, batch=3):
    torch.manual_seed(1)
    q, k = torch.randn(2, batch, HEADS, length, DIMS, dtype=torch.float64)
    valid = torch.arange(length) < torch.tensor([[length], [length - 5], [length // 2]])
    return q, k, valid


def whole_matrices(layer, q, k, valid):
    """The mean error, from whole matrices: the exact one, and what `forward` makes of unit vectors as values."""
    batch, heads, length, dims = q.shape
    width = -(-length // dims) * dims
    identity = torch.eye(length, width, dtype=q.dtype).expand(batch, heads, length, width)
    approximated = torch.cat([layer(q, k, piece, valid) for piece in identity.split(dims, dim=-1)], dim=-1)
    q, k = layer.without_padding(valid, q, k)
    scores = (q @ k.mT * dims**-0.5).masked_fill(~valid[:, None, None, :], -torch.inf)
    errors = []
    for b in range(batch):
        for h in range(heads):
            exact, mine = scores[b, h].softmax(-1)[valid[b]], approximated[b, h][valid[b], :length]
            errors.append((mine - exact).norm() / exact.norm())
    return torch.stack(errors).mean().item()


@pytest.mark.parametrize("block_bytes", [1, 3 * 2 * 8 * 23, 1 << 20])  # one row at a time, a few rows, all rows
@pytest.mark.parametrize("length", [23, 24, 41])
@pytest.mark.parametrize("protocol, masking", [("paper", "all"), ("paper", "kernel_3"), ("clean", "all")])
def test_the_attention_error_is_that_of_whole_matrices(monkeypatch, block_bytes, length, protocol, masking):
    monkeypatch.setattr(approximation, "ROWS_BYTES", block_bytes)
    q, k, valid = rows(length)
    valid[0, 3:5] = False  # padding may be inside too
    layer = backend("nystrom", protocol, length, num_landmarks=4, value_skip_taps=0, masking=masking)
    found = approximation_error(layer, q, k, valid, examples=3)
    assert found.attention_error == pytest.approx(whole_matrices(layer, q, k, valid), rel=1e-9)
    everywhere = torch.ones_like(valid)
    found = approximation_error(layer, q, k, None, examples=3)
    assert found.attention_error == pytest.approx(whole_matrices(layer, q, k, everywhere), rel=1e-9)


def test_memory_does_not_grow_with_the_length():
    """Largest tensors that are made, in bytes: a block, or what is as long as the sequence and no wider than M."""
    sizes = {}
    for length in (1024, 4096):
        q, k = torch.randn(2, 1, HEADS, length, DIMS)
        layer = backend("nystrom", "paper", length, num_landmarks=32).float()
        with LargestTensor() as largest:
            approximation_error(layer, q, k, None, examples=1)
        sizes[length] = largest.bytes
    assert sizes[1024] <= sizes[4096] <= approximation.ROWS_BYTES
    assert approximation.ROWS_BYTES < 4096 * 4096 * 4


def test_float32_has_the_error_of_float64_in_long_sequences():
    """The squares of a million small numbers are not added one by one."""
    q, k = (0.1 * torch.randn(1, HEADS, 2048, DIMS, dtype=torch.float64) for _ in range(2))
    layer = backend("nystrom", "paper", 2048, num_landmarks=4, pinv="none")
    exact = approximation_error(layer, q, k, None, examples=1).attention_error
    found = approximation_error(layer.float(), q.float(), k.float(), None, examples=1).attention_error
    assert found == pytest.approx(exact, rel=1e-5)


def test_an_exact_inverse_has_no_residual_and_an_iterated_one_has():
    q, k, valid = rows()
    sizes = {}
    for pinv, iterations in (("exact", 6), ("iterative", 6), ("iterative", 2)):
        layer = backend("nystrom", "clean", 24, num_landmarks=8, pinv=pinv, pinv_iterations=iterations)
        sizes[pinv, iterations] = approximation_error(layer, q, k, valid, examples=3).pinv_residual
    assert sizes["exact", 6] < 1e-12
    assert 1e-6 < sizes["iterative", 6] < sizes["iterative", 2] < 1


def test_landmarks_that_are_the_tokens_approximate_without_error():
    """Queries and keys that are the same all through a segment are what their means say."""
    q, k = (x[:, :, :6].repeat_interleave(4, dim=2) for x in rows()[:2])
    errors = {
        m: approximation_error(
            backend("nystrom", "paper", 24, num_landmarks=m, pinv="exact"), q, k, None, examples=3
        ).attention_error
        for m in (2, 6, 24)
    }
    assert errors[2] > 0.01
    assert errors[6] < 1e-9
    assert errors[24] == 0


@pytest.mark.parametrize("protocol", ["paper", "clean"])
def test_a_sequence_without_real_tokens_has_no_error(protocol):
    q, k, valid = rows()
    layer = backend("nystrom", protocol, 24, num_landmarks=4, value_skip_taps=0)
    others = approximation_error(layer, q[:2], k[:2], valid[:2], examples=2)
    found = approximation_error(layer, q, k, valid & torch.tensor([[True], [True], [False]]), examples=3)
    assert math.isfinite(found.pinv_residual)
    assert found.attention_error == pytest.approx(others.attention_error, rel=1e-6 if protocol == "clean" else 0.1)


def test_a_models_layers_are_measured_on_a_batch():
    tokens = torch.randint(1, 16, (4, 1, 256))
    batch = Batch(tokens, tokens != 0, torch.zeros(4, dtype=torch.long))
    said = measure_approximation(build_model(cfg_of("size=tiny")), [batch], torch.device("cpu"))
    assert said is not None
    assert len(said["attention_error_layers"]) == 2
    assert said["attention_error"] == pytest.approx(sum(said["attention_error_layers"]) / 2)
    assert 0 < said["attention_error"] < 1
    assert (
        measure_approximation(build_model(cfg_of("size=tiny", "attention=full")), [batch], torch.device("cpu")) is None
    )
