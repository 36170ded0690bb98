"""Which packed form a layer has: that of its class, one of its own, or the way through its padded form."""

import copy
import pickle
import subprocess
import sys

import pytest
import torch

from lra import from_config
from lra.attention.base import AttentionDims
from lra.attention.linear import LinearAttention
from lra.mixers.gated import GatedMovingAverage
from lra.model.mixer import MixerDims
from lra.model.self_attention import SelfAttention
from lra.packed.attention_forms import attend_linear, attend_packed, attend_through_padding
from lra.packed.encoder_forms import mix_by_attention, mix_packed, mix_through_padding
from lra.settings.compose import load_config
from lra.tools.sequence_encoder import SequenceEncoder
from lra.tools.testing import contract
from lra.tools.testing.subjects import AttentionSubject, MixerSubject
from tests.conftest import outer_environment

LENGTHS = torch.tensor([60, 17, 0])


class Renamed(LinearAttention):
    """The same function as its base class."""


class Doubled(LinearAttention):
    """Another function, which says nothing of packed tokens."""

    def forward(self, q, k, v, valid):
        return 2 * super().forward(q, k, v, valid)


class DoubledInBoth(Doubled):
    """The same with a packed form of its own."""


@attend_packed.register
def attend_doubled(backend: DoubledInBoth, qkv_PTD, packing):
    return 2 * attend_linear(backend, qkv_PTD, packing)


class DoubledMixer(SelfAttention):
    def forward(self, x, valid):
        return 2 * super().forward(x, valid)


def test_a_class_has_the_form_of_a_base_class_whose_forward_it_has():
    assert attend_packed.form_of(Renamed) is attend_packed.form_of(LinearAttention) is attend_linear
    assert attend_packed.form_of(Doubled) is attend_through_padding
    assert attend_packed.form_of(DoubledInBoth) is attend_doubled
    assert mix_packed.form_of(SelfAttention) is mix_by_attention
    assert mix_packed.form_of(DoubledMixer) is mix_packed.form_of(GatedMovingAverage) is mix_through_padding


@pytest.mark.parametrize("made", [Renamed, Doubled, DoubledInBoth])
def test_a_subclass_of_an_attention_computes_the_same_packed_and_padded(made):
    contract.packed_equals_padded(AttentionSubject(made), length=65, masked=True)


def test_a_subclass_of_self_attention_computes_the_same_packed_and_padded():
    def make(dims: MixerDims):
        of_heads = AttentionDims(num_heads=dims.num_heads, head_dim=dims.head_dim, max_seq_len=dims.max_seq_len)
        return DoubledMixer(dims, LinearAttention(of_heads))

    contract.packed_equals_padded(MixerSubject(make), length=65, masked=True)


def gradients(model, *inputs, **options):
    torch.manual_seed(0)
    out = model(*inputs, **options)
    return out, *torch.autograd.grad(out.square().sum(), [*model.parameters()], materialize_grads=True)


@pytest.mark.parametrize("again", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_a_copy_computes_what_the_model_computes(again):
    encoder = SequenceEncoder.build(embed_dim=3, num_layers=1)  # in training, so dropout's masks tell the forms apart
    x_BLI = torch.randn(3, 60, 3)
    wanted = gradients(encoder, x_BLI, lengths=LENGTHS)
    assert all(map(torch.equal, gradients(again(encoder), x_BLI, lengths=LENGTHS), wanted))
    assert not gradients(encoder, x_BLI, lengths=LENGTHS, packed=False)[0].allclose(wanted[0], atol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("packed", [None, False])
def test_an_unpickled_model_finds_the_packed_form_where_it_needs_it(tmp_path, packed):
    model = from_config.build_model(load_config("train", ["size=tiny", "model.num_layers=1"]))
    tokens = torch.randint(16, (3, 1, 256))
    torch.manual_seed(0)
    wanted = model(tokens, tokens != 0, packed=packed)
    torch.save((model, tokens), tmp_path / "model.pt")
    code = (
        "import sys, torch\n"
        "model, tokens = torch.load('model.pt', weights_only=False)\n"
        "torch.manual_seed(0)\n"
        f"torch.save(model(tokens, tokens != 0, packed={packed}), 'logits.pt')\n"
        "print('lra.packed' in sys.modules, 'hydra' in sys.modules)\n"
    )
    started = [sys.executable, "-c", code]
    done = subprocess.run(started, capture_output=True, text=True, cwd=tmp_path, env=outer_environment(), check=True)
    assert done.stdout.split() == [str(packed is not False), "False"]
    assert torch.load(tmp_path / "logits.pt").equal(wanted)
