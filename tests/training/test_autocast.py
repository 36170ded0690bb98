"""Mixed precision by a block of torch's own: a backward pass within `torch.autocast` is that of one after it.

Lightning ends the block before the backward pass; a loop of a user's own may not.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext

import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from lra import from_config
from lra.ops.packing import Packing
from lra.packed.attention_forms import attend_packed
from lra.settings.compose import load_config
from tests.attention.test_contract import NAMES
from tests.mixers.test_tasks import MIXERS

METHODS = [
    *(f"attention={name}" for name in NAMES),
    *(f"mixer={name}" for name in MIXERS),
    "attention=nystrom attention.pinv=regularised",
    "attention=nystrom attention.landmark_rule=kmeans",
    "attention=full attention.kernel=math",
    "attention=performer attention.kernel=relu",
    "attention=linformer attention.sharing=none",
]
ATTENTIONS = [method for method in METHODS if method.startswith("attention")]
# Autocast computes the products of a backward pass by operators of torch's in bfloat16, which has 8 bits.
NEAR = 0.02  # of the norm of all gradients; 0.004 or less is seen
LENGTH = 200


def block(*, inside: bool) -> AbstractContextManager[object]:
    return torch.autocast("cpu", dtype=torch.bfloat16) if inside else nullcontext()


def model_of(method: str) -> nn.Module:
    landmarks = ["attention.num_landmarks=16"] if "nystrom" in method or "landmark" in method else []
    torch.manual_seed(0)
    cfg = load_config("train", ["size=tiny", "model.num_layers=1", *method.split(), *landmarks])
    model: nn.Module = from_config.build_module(cfg).model.train()
    return model


def batch() -> tuple[Tensor, Tensor]:
    torch.manual_seed(1)
    tokens = torch.randint(1, 16, (3, 1, LENGTH))
    tokens[0, :, 120:] = 0
    return tokens, tokens != 0


def trained(model: nn.Module, *, forward_inside: bool, backward_inside: bool) -> tuple[Tensor, Tensor]:
    """The loss and all gradients; without autocast a CPU computes the packed form."""
    model.zero_grad()
    torch.manual_seed(2)  # of dropout
    with block(inside=forward_inside):
        loss = cross_entropy(model(*batch()), torch.tensor([0, 1, 2]))
    with block(inside=backward_inside):
        loss.backward()
    return loss.detach(), torch.cat([x.grad.flatten() for x in model.parameters() if x.grad is not None])


@pytest.mark.some_fast(10)
@pytest.mark.parametrize("forward_inside", [True, False], ids=["padded", "packed"])
@pytest.mark.parametrize("method", METHODS)
def test_a_backward_pass_within_the_block_gives_the_gradients_of_one_after_it(method, forward_inside):
    model = model_of(method)
    (loss, after), (same, within) = (
        trained(model, forward_inside=forward_inside, backward_inside=inside) for inside in (False, True)
    )
    assert same == loss
    assert within.isfinite().all()
    assert (within - after).norm() < NEAR * after.norm()


@pytest.mark.parametrize("dtype, inputs", [("float32", torch.float32), ("autocast", torch.bfloat16)])
def test_the_type_of_attention_is_a_choice(dtype, inputs):
    model, seen = model_of(f"attention=full model.attention_dtype={dtype} model.dropout=0").eval(), []
    backend = model.encoder.blocks[0].mixer.backend
    backend.register_forward_hook(lambda _, qkv, out: seen.extend([*(x.dtype for x in qkv[:3]), out.dtype]))
    with block(inside=True), torch.no_grad():
        model(*batch())
    assert seen == 4 * [inputs]


@pytest.mark.some_fast(6)
@pytest.mark.parametrize("method", [*ATTENTIONS, "attention=nystrom attention.pinv=exact"])
def test_attention_by_autocast_is_near_that_in_float32(method):
    """Its products have 8 bits, which the gradient of an exact pseudo-inverse magnifies most."""
    (loss, exact), (near, mixed) = (
        trained(
            model_of(f"{method} model.dropout=0 model.attention_dtype={dtype}"),
            forward_inside=True,
            backward_inside=False,
        )
        for dtype in ("float32", "autocast")
    )
    assert abs(near - loss) < 0.005
    assert (mixed - exact).norm() < 0.4 * exact.norm()


def by_operators() -> Iterator[Tensor]:
    """A packed encoder's output and gradients, which our operators alone compute for attention=full."""
    model, (tokens, valid) = model_of("attention=full"), batch()
    torch.manual_seed(2)
    encoded = model.encoder.pool(tokens[:, 0], valid[:, 0], model.pooling, packed=True)
    yield encoded
    yield from torch.autograd.grad(encoded, list(model.encoder.blocks.parameters()), torch.ones_like(encoded))


def test_operators_with_their_own_gradients_compute_in_the_precision_of_their_inputs_to_the_bit():
    with block(inside=False):
        plain = list(by_operators())
    with block(inside=True):
        mixed = list(by_operators())
    assert {x.dtype for x in mixed} == {torch.float32}
    assert all(map(torch.equal, mixed, plain))


@pytest.mark.parametrize("name", ["nystrom", "performer", "linformer"])
def test_an_attention_alone_on_packed_tokens_computes_within_the_block(name):
    backend = model_of(f"attention={name}").encoder.blocks[0].mixer.backend.eval()
    packing = Packing(batch()[1][:, 0], batch=3, length=LENGTH)
    qkv = torch.randn(3, int(batch()[1].sum()), 64)
    outputs = []
    for inside in (False, True):
        with block(inside=inside):
            outputs.append(attend_packed(backend, qkv, packing))
    assert (outputs[1] - outputs[0]).norm() < NEAR * outputs[0].norm()
