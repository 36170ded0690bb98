"""Attentions of other packages: how each is made for a shape, called without projections, and given our weights.

Where a package has projections inside, modules that pick queries, keys or values from the input take their place.
The settings are the paper's: 64 landmarks and 35 taps, 256 projections, 256 features, 2 hashes and chunks of 64.

Letters: B sequences, L positions, H heads, E dims per head, D = H·E.
"""

import importlib
import importlib.metadata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from lra.attention.base import AttentionBackend
from lra.settings.compose import load_config
from lra.tools.bench.methods import (
    BenchCall,
    BenchInputs,
    BenchMethod,
    BenchShape,
    UnsuitableShapeError,
    call_backend,
    on_device,
)
from lra.tools.bench.record import Parity
from lra.types import UserError

LANDMARKS, TAPS, PROJECTIONS, FEATURES, HASHES, CHUNK_LENGTH, WINDOW = 64, 35, 256, 256, 2, 64, 128
PARITY_LENGTH = 512


@dataclass(frozen=True, kw_only=True)
class Peer:
    """An attention of another package.

    Attributes:
        package, module: the package's name in the registry, and the module that has the class.
        build: makes the class's instance from the module and the shape.
        call: computes the output, `[B, L, D]` or `[B, H, L, E]`.
        multiple: number that must divide L.
        ours: overrides that choose the method of ours that computes the same; none if the maths differs, as
            `difference` says.
        share_weights: gives both the same weights: the peer's module, then ours; None if they have none.
    """

    package: str
    module: str
    build: Callable[[Any, BenchShape], nn.Module]
    call: Callable[[Any, BenchInputs], Tensor]
    multiple: int = 1
    ours: tuple[str, ...] = ()
    share_weights: Callable[[Any, Any], object] | None = None
    difference: str = ""

    @property
    def name(self) -> str:
        """The name in tables, with the version."""
        return f"{self.package} {importlib.metadata.version(self.package)}"

    def make(self, shape: BenchShape) -> nn.Module:
        """Make the instance for a shape.

        Raises:
            UserError: when the package cannot be imported.
        """
        try:
            attention = self.build(importlib.import_module(self.module), shape)
        except ImportError as error:
            raise UserError(f"{self.package} cannot be imported ({error}); type: pip install -e '.[peers]'") from error
        return on_device(attention, shape)

    def method(self) -> BenchMethod:
        """Make the method to measure."""

        def prepare(inputs: BenchInputs) -> BenchCall:
            if inputs.shape.length % self.multiple:
                raise UnsuitableShapeError(f"the length must be a multiple of {self.multiple}")
            attention = self.make(inputs.shape)
            forward = partial(self.call, attention, inputs)
            forward()  # makes the inputs' other layouts, which are leaves too
            return BenchCall(forward, [*inputs.leaves(), *attention.parameters()])

        return BenchMethod(name=self.name, kind="peer", settings={"name": self.package}, prepare=prepare)


class _Pick(nn.Module):
    """Picks the queries (0), keys (1) or values (2) of `[B, L, 3·D]`, in place of a projection."""

    def __init__(self, index: int):
        super().__init__()
        self.index = index

    def forward(self, joined_BLD: Tensor) -> Tensor:
        width = joined_BLD.shape[2] // 3
        return joined_BLD[..., self.index * width : (self.index + 1) * width]


def _lucidrains_nystrom(module: Any, shape: BenchShape) -> nn.Module:
    attention = module.NystromAttention(
        shape.width, dim_head=shape.head_dim, heads=shape.heads, num_landmarks=LANDMARKS, residual_conv_kernel=TAPS
    )
    attention.to_qkv = attention.to_out = nn.Identity()
    return attention  # type: ignore[no-any-return]


def _transformers_nystrom(module: Any, shape: BenchShape) -> nn.Module:
    config = importlib.import_module("transformers").NystromformerConfig(
        hidden_size=shape.width,
        num_attention_heads=shape.heads,
        num_landmarks=LANDMARKS,
        segment_means_seq_len=shape.length,
        conv_kernel_size=TAPS,
        attention_probs_dropout_prob=0.0,
    )
    attention = module.NystromformerSelfAttention(config)
    attention.query, attention.key, attention.value = map(_Pick, range(3))
    return attention  # type: ignore[no-any-return]


def _linformer(module: Any, shape: BenchShape) -> nn.Module:
    attention = module.LinformerSelfAttention(shape.width, shape.length, k=PROJECTIONS, heads=shape.heads)
    attention.to_q, attention.to_k, attention.to_v = map(_Pick, range(3))
    attention.to_out = nn.Identity()
    return attention  # type: ignore[no-any-return]


def _share_skip(peer: Any, ours: Any) -> None:
    convolution = peer.res_conv if hasattr(peer, "res_conv") else peer.conv
    convolution.weight.data.copy_(ours.value_skip.data[:, None, :, None])


def _share_projections(peer: Any, ours: Any) -> None:
    """The peer has no projection per head, so all of ours become the same."""
    peer.proj_v.data.copy_(peer.proj_k.data)
    ours.project_keys.data.copy_(peer.proj_k.data.T.expand_as(ours.project_keys))


def _merged(x_BHLE: Tensor) -> Tensor:
    return x_BHLE.reshape(-1, *x_BHLE.shape[2:])


PEERS = (
    Peer(
        package="nystrom-attention",
        module="nystrom_attention",
        build=_lucidrains_nystrom,
        call=lambda attention, inputs: attention(inputs.joined_BLD),
        multiple=LANDMARKS,  # else it pads in front, and ours at the end
        ours=("attention=nystrom", "protocol=paper"),
        share_weights=_share_skip,
    ),
    Peer(
        package="transformers",
        module="transformers.models.nystromformer.modeling_nystromformer",
        build=_transformers_nystrom,
        call=lambda attention, inputs: attention(inputs.joined_BLD)[0],
        multiple=LANDMARKS,
        ours=("attention=nystrom", "protocol=paper"),
        share_weights=_share_skip,
    ),
    Peer(
        package="linformer",
        module="linformer.linformer",
        build=_linformer,
        call=lambda attention, inputs: attention(inputs.joined_BLD),
        ours=("attention=linformer", "protocol=paper"),
        share_weights=_share_projections,
    ),
    Peer(
        package="performer-pytorch",
        module="performer_pytorch",
        build=lambda module, shape: module.FastAttention(shape.head_dim, nb_features=FEATURES),
        call=lambda attention, inputs: attention(*inputs.by_head()),
        ours=("attention=performer", "protocol=clean"),
        share_weights=lambda peer, ours: peer.projection_matrix.copy_(ours.projection),
    ),
    Peer(
        package="reformer-pytorch",
        module="reformer_pytorch",
        build=lambda module, shape: module.LSHAttention(bucket_size=CHUNK_LENGTH, n_hashes=HASHES),
        call=lambda attention, inputs: attention(*map(_merged, inputs.by_head()[::2]))[0],
        multiple=2 * CHUNK_LENGTH,
        difference="it draws rotations of its own, and scales the product with the normalised keys by 1/√E once more",
    ),
    Peer(
        package="local-attention",
        module="local_attention",
        build=lambda module, shape: module.LocalAttention(window_size=WINDOW, use_rotary_pos_emb=False),
        call=lambda attention, inputs: attention(*inputs.by_head()),
        multiple=WINDOW,
        ours=("attention=local", f"attention.block_length={WINDOW}", "attention.neighbour_blocks=1"),
    ),
)


def check_installed(peers: Sequence[Peer]) -> None:
    """Refuse to begin without the packages.

    Raises:
        UserError: with the packages that are not installed.
    """
    missing = []
    for peer in peers:
        try:
            importlib.metadata.version(peer.package)
        except importlib.metadata.PackageNotFoundError:
            missing.append(peer.package)
    if missing:
        raise UserError(f"against=pypi needs {', '.join(missing)}; type: pip install -e '.[peers]'")


def parity_of(peer: Peer, shape: BenchShape) -> Parity:
    """Compute the error of a peer's output against ours with the same weights, in float64 on a CPU.

    Of `shape` only heads and dims per head count.
    """
    from lra.from_config import build_method

    if not peer.ours:
        return {"peer": peer.name, "apart": peer.difference}
    shape = replace(shape, batch=2, length=PARITY_LENGTH, dtype="float64", device="cpu")
    torch.manual_seed(0)
    inputs, theirs = BenchInputs(shape), peer.make(shape)
    ours = on_device(build_method(load_config("train", peer.ours))(shape.attention_dims), shape)
    assert isinstance(ours, AttentionBackend)
    with torch.no_grad():
        if peer.share_weights is not None:
            peer.share_weights(theirs, ours)
        expected = call_backend(ours, inputs, packed=False).forward()
        actual = peer.call(theirs, inputs)
    error = (_by_position(actual) - _by_position(expected)).abs().max() / expected.abs().max()
    return {"peer": peer.name, "ours": " ".join(peer.ours), "error": float(error)}


def _by_position(x: Tensor) -> Tensor:
    """`[B, H, L, E]` as `[B, L, D]`; the latter stays."""
    return x.transpose(1, 2).flatten(2) if x.ndim == 4 else x
