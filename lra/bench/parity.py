"""Compare the outputs of other packages with ours, before their speed is compared."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from lra.attention.base import AttentionBackend, AttentionDims
from lra.bench.inputs import BenchInputs, BenchShape
from lra.bench.methods import attention_dims, built, call_backend
from lra.bench.peers import Peer
from lra.bench.record import Parity

LENGTH = 512


def parity_of(peer: Peer, shape: BenchShape, make_ours: Callable[[AttentionDims], AttentionBackend] | None) -> Parity:
    """Compute the error of a peer's output against ours with the same weights, in float64 on a CPU.

    Args:
        peer: the peer.
        shape: batch, heads and dims per head; length, dtype and device are replaced.
        make_ours: makes the method that `peer.ours` chooses; None if there is none.
    """
    if make_ours is None:
        return {"peer": peer.name, "apart": peer.apart}
    shape = BenchShape(
        batch=2, heads=shape.heads, head_dim=shape.head_dim, length=LENGTH, dtype="float64", device="cpu"
    )
    torch.manual_seed(0)
    inputs, theirs = BenchInputs(shape), peer.make(shape)
    ours = built(make_ours(attention_dims(shape)), shape)
    assert isinstance(ours, AttentionBackend)
    with torch.no_grad():
        if peer.share is not None:
            peer.share(theirs, ours)
        expected = call_backend(ours, inputs, packed=False).forward()
        actual = peer.call(theirs, inputs)
    error = (_by_position(actual) - _by_position(expected)).abs().max() / expected.abs().max()
    return {"peer": peer.name, "ours": " ".join(peer.ours), "error": float(error)}


def _by_position(x: Tensor) -> Tensor:
    """`[B, H, L, E]` as `[B, L, D]`; the latter stays."""
    return x.transpose(1, 2).flatten(2) if x.ndim == 4 else x
