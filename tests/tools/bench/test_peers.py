"""Other packages: a stand-in is compared, measured, and missed; the packages themselves where they are installed."""

import importlib.metadata
import sys
from types import SimpleNamespace

import pytest
import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from lra.tools.bench.methods import BenchInputs, BenchShape, UnsuitableShapeError
from lra.tools.bench.peers import PEERS, Peer, check_installed, parity_of
from lra.types import UserError

SHAPE = BenchShape(batch=2, heads=2, head_dim=8, length=128, dtype="float32", device="cpu")


class StandIn(nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = nn.Parameter(torch.tensor(factor))

    def forward(self, q, k, v):
        return self.factor * scaled_dot_product_attention(q, k, v)


def stand_in(monkeypatch, factor=1.0, **settings):
    monkeypatch.setitem(sys.modules, "stand_in", SimpleNamespace(Attention=StandIn))
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "1.0")
    arguments = {
        "package": "stand-in",
        "module": "stand_in",
        "build": lambda module, shape: module.Attention(factor),
        "call": lambda attention, inputs: attention(*inputs.by_head()),
        "ours": ("attention=full",),
        "share_weights": lambda theirs, ours: None,
    }
    return Peer(**{**arguments, **settings})


@pytest.mark.parametrize("factor, error", [(1.0, 0.0), (1.5, 0.5)])
def test_outputs_are_compared_with_ours(monkeypatch, factor, error):
    peer = stand_in(monkeypatch, factor)
    compared = parity_of(peer, SHAPE)
    assert (compared["peer"], compared["ours"]) == ("stand-in 1.0", "attention=full")
    assert compared["error"] == pytest.approx(error, abs=1e-12)


def test_other_maths_are_not_called_parity(monkeypatch):
    peer = stand_in(monkeypatch, ours=(), difference="it draws its own")
    assert parity_of(peer, SHAPE) == {"peer": "stand-in 1.0", "apart": "it draws its own"}


def test_a_peer_is_called_on_the_same_inputs_with_its_gradients(monkeypatch):
    inputs = BenchInputs(SHAPE)
    call = stand_in(monkeypatch, 2.0).method().prepare(inputs)
    out, *gradients = call.run(torch.ones(2, 2, 128, 8))
    assert out.equal(2 * scaled_dot_product_attention(*inputs.by_head()))
    assert [each.shape for each in gradients] == [inputs.planes_PTD.shape, ()]
    assert inputs.planes_PTD.grad is None


def test_a_length_that_a_peer_cannot_take_is_said(monkeypatch):
    with pytest.raises(UnsuitableShapeError, match="multiple of 100"):
        stand_in(monkeypatch, multiple=100).method().prepare(BenchInputs(SHAPE))


def test_a_package_that_is_missing_is_one_line(monkeypatch):
    def version(package):
        if package == "linformer":
            raise importlib.metadata.PackageNotFoundError
        return "1"

    monkeypatch.setattr(importlib.metadata, "version", version)
    with pytest.raises(UserError, match=r"^against=pypi needs linformer; type: pip install -e '\.\[peers\]'$"):
        check_installed(PEERS)


def test_a_package_that_cannot_be_imported_is_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "stand_in_that_is_broken", None)
    with pytest.raises(UserError, match="stand-in cannot be imported"):
        stand_in(monkeypatch, module="stand_in_that_is_broken").make(SHAPE)


@pytest.mark.slow
@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.package)
def test_the_packages_compute_what_ours_do(peer):
    """Where they are installed; each compared peer is the same to rounding."""
    pytest.importorskip(peer.module)
    compared = parity_of(peer, SHAPE)
    assert compared.get("error", 0) < 1e-6
    call = peer.method().prepare(BenchInputs(SHAPE))
    assert all(each.isfinite().all() for each in call.run(torch.ones_like(call.forward())))
