"""Reformer beside its slow twin: rotations, padding, hashes, look-back, and the biases that it does not use.

Small bugs that each test must catch stand in planted_bugs.yaml.
"""

import pytest
import torch

from lra.model.block import PRE_NORM, EncoderBlock
from lra.model.mixer import MixerDims
from lra.model.self_attention import SelfAttention
from lra.ops.packing import Packing
from lra.packed.encoder_forms import transform_packed
from tests.attention.test_contract import DIMS, HEADS, PROTOCOLS, backend, inputs, mix
from tests.reference.reformer import bucket_factors, lsh_attention

LENGTH = 256


def slow(made, q, v, valid, generator: torch.Generator | None):
    """The twin's output, with the rotations that come next from a generator."""
    length = q.shape[2]
    axes = sum(bucket_factors(length, made.chunk_length)) // 2
    return lsh_attention(
        q,
        v,
        valid,
        rotations_HENK=torch.randn(HEADS, DIMS, made.num_hashes, axes, generator=generator).to(q),
        chunk_length=made.chunk_length,
        look_back=made.look_back,
        model_length=length,
    )


def ragged(padded: int, length: int = LENGTH):
    """Two sequences, one whole and one with padding at its end; none is masked where nothing is padded."""
    q, k, v, _ = (x[:2] for x in inputs(length))
    valid = torch.arange(length) < torch.tensor([[length], [length - padded]])
    return q, k, v, valid if padded else None


def compare(fast, twin, valid, *wrt):
    """Outputs and gradients at real tokens."""
    real = torch.ones_like(fast) if valid is None else valid[:, None, :, None].expand_as(fast).to(fast)
    torch.testing.assert_close(fast * real, twin * real, rtol=0, atol=1e-12)
    g = torch.randn_like(fast) * real
    for one, other in zip(*(torch.autograd.grad(out, wrt, g) for out in (fast, twin)), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-11)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_token_alone_has_its_own_value_in_float32(protocol):
    """It attends to itself, with a score in whose place a large negative number stands."""
    made = backend("reformer", protocol, LENGTH).float().eval()
    q, k, v, valid = ragged(LENGTH - 1)
    out = made(*(x.float() for x in (q, k, v)), valid)
    torch.testing.assert_close(out[1, :, 0], v[1, :, 0].float(), rtol=0, atol=1e-6)


@pytest.mark.some_fast(18)
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("padded", [0, 10, 63, 64, 200])
@pytest.mark.parametrize("hashes", [1, 2, 4])
@pytest.mark.parametrize("form", ["padded", "packed"])
def test_training_equals_the_slow_twin_with_the_same_rotations(protocol, padded, hashes, form):
    made = backend("reformer", protocol, LENGTH, num_hashes=hashes).train()
    q, k, v, valid = ragged(padded)
    torch.manual_seed(5)
    fast = mix(made, form, q, k, v, valid)
    torch.manual_seed(5)
    compare(fast, slow(made, q, v, valid, None), valid, q, v)


@pytest.mark.parametrize("rotations, step", [("each_call", 1), ("stored_for_evaluation", 0)])
def test_evaluation_draws_as_its_switch_says_and_a_pass_repeats(rotations, step):
    made = backend("reformer", "clean", LENGTH, rotations=rotations)
    q, k, v, valid = ragged(10)
    for _ in range(2):
        made.eval()
        for call in range(2):
            generator = torch.Generator().manual_seed(int(made.rotation_seed) + step * call)
            compare(made(q, k, v, valid), slow(made, q, v, valid, generator), valid, q, v)


def test_training_draws_new_rotations():
    made = backend("reformer", "clean", 250).train()
    q, k, v, valid = inputs(250)
    assert not made(q, k, v, valid).equal(made(q, k, v, valid))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_many_buckets_are_two_rotations_and_equal_the_slow_twin(protocol):
    assert bucket_factors(16_384, 64) == [16, 32]
    assert len(bucket_factors(256, 4)) == 2
    made = backend("reformer", protocol, 256, chunk_length=4)
    q, k, v, valid = ragged(7, 256)
    generator = torch.Generator().manual_seed(int(made.rotation_seed))
    compare(made(q, k, v, valid), slow(made, q, v, valid, generator), valid, q, v)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_one_chunk_is_attention_with_unit_keys_but_to_oneself(protocol):
    made = backend("reformer", protocol, 30)
    q, k, v, _ = inputs(30)
    scores = q @ (q / (q.square().sum(-1, keepdim=True) + DIMS * 1e-6).sqrt()).mT
    expected = scores.masked_fill(torch.eye(30, dtype=torch.bool), -1e5).softmax(-1) @ v
    torch.testing.assert_close(made(q, k, v, None), expected)


def test_the_length_of_the_padding_matters_through_the_look_back_alone():
    q, k, v, valid = ragged(64)
    longer = [torch.nn.functional.pad(x, (0, 0, 0, 128)) for x in (q, k, v)]
    for look_back, same in (("within_hash", True), ("across_hashes", False)):
        made = backend("reformer", "clean", LENGTH + 128, look_back=look_back)
        short = made(q, k, v, valid)
        padded = made(*longer, torch.nn.functional.pad(valid, (0, 128)))[:, :, :LENGTH]
        difference = ((short - padded) * valid[:, None, :, None]).abs().amax((1, 2, 3))
        assert (difference < 1e-12).tolist() == [same, True]  # 64 padded positions are already all that can be seen
    assert made.factors == tuple(bucket_factors(LENGTH + 128, 64))


@pytest.mark.parametrize("form", ["padded", "packed"])
@pytest.mark.parametrize("biases", ["unused", "used"])
def test_unused_biases_change_nothing_and_get_zeros_as_gradient(form, biases):
    made = backend("reformer", "clean", 40, biases=biases)
    dims = MixerDims(width=16, num_heads=HEADS, head_dim=DIMS, max_seq_len=40, dropout=0.0)
    block = EncoderBlock(SelfAttention(dims, made), feed_forward=8, form=PRE_NORM).double().eval()
    x = torch.randn(2, 40, 16, dtype=torch.float64)
    packing = Packing(None, batch=2, length=40)

    def run():
        if form == "padded":
            return block(x, None)
        return transform_packed(block, x.flatten(0, 1), packing, None).view_as(x)

    bias, before = block.mixer.qkv.bias, run()
    (grad,) = torch.autograd.grad(before.square().sum(), bias)
    with torch.no_grad():
        bias.add_(torch.randn_like(bias))
    assert run().equal(before) == (biases == "unused")
    assert grad.eq(0).all() == (biases == "unused")
    with torch.no_grad():
        bias.zero_()
    assert biases == "used" or run().equal(before)
