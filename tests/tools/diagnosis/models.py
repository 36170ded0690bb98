"""Small models and batches for the tests of lra.tools.diagnosis."""

import torch

from lra import from_config
from lra.attention.base import AttentionDims
from lra.tools.diagnosis.matrices import LayerInputs, attentions, layer_inputs
from lra.tools.diagnosis.swap import Variants
from lra.types import Batch
from tests.attention.test_contract import DIMS, HEADS
from tests.model.test_encoder import cfg_of

SIZE = ("size=tiny", "model.num_layers=2")


def model_of(*overrides: str):
    """A fresh model, and what makes variants of its attentions."""
    torch.manual_seed(0)
    cfg = cfg_of(*SIZE, *overrides)
    own = cfg.attention.name in ("nystrom", "landmark")
    nystrom = cfg if own else cfg_of(*SIZE, "attention=nystrom", *(w for w in overrides if "attention" not in w))
    return from_config.build_model(cfg).eval(), Variants(make=from_config.build_method(nystrom))


def batch_of(*lengths: int, length: int = 256) -> Batch:
    """Sequences of random tokens with these numbers of real ones."""
    torch.manual_seed(1)
    tokens = torch.randint(1, 16, (len(lengths), 1, length))
    tokens *= torch.arange(length) < torch.tensor(lengths)[:, None, None]
    return Batch(tokens, tokens != 0, torch.arange(len(lengths)) % 10)


def inputs_of(model, batch: Batch, sequences: int = 8) -> list[LayerInputs]:
    return layer_inputs(model, attentions(model, "it"), batch, sequences)


def peaked(make, length: int, *real: int) -> LayerInputs:
    """Inputs of a layer whose attention matrices are far from uniform."""
    torch.manual_seed(2)
    q, k, v = torch.randn(3, len(real), HEADS, length, DIMS)
    valid = torch.arange(length) < torch.tensor(real)[:, None]
    rest = valid[:, None, :, None]
    backend = make(AttentionDims(num_heads=HEADS, head_dim=DIMS, max_seq_len=length)).eval()
    return LayerInputs(backend=backend, q=q * rest, k=k * rest, v=v * rest, valid=valid)
