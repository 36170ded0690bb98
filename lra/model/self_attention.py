"""Self-attention as a mixer: projections around an attention backend.

Letters: B sequences, L positions, D model width, H heads, E dims per head.
"""

from collections.abc import Callable, Iterator
from contextlib import nullcontext

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from lra.attention.base import AttentionBackend, AttentionDims
from lra.model.mixer import MixerDims, SequenceMixer
from lra.types import UserError


class QueryKeyValue(nn.Linear):
    """One linear layer for queries, keys and values; H·E = `inner` is the size of each over all heads.

    It equals three Linear layers with biases, also in its initialisation, which depends on the number of inputs only.
    Biases that are not added are parameters without effect, as in the released Reformer.
    """

    def __init__(self, width: int, inner: int, *, biased: bool):
        super().__init__(width, 3 * inner)
        self.biased = biased

    def used_bias(self) -> Tensor:
        """Return the bias to add; unused biases give zeros with a zero gradient, which DDP needs."""
        return self.bias if self.biased else 0 * self.bias

    def forward(self, x_BLD: Tensor) -> Tensor:
        """Project `[B, L, D]` to `[B, L, 3 · inner]`."""
        return linear(x_BLD, self.weight, self.used_bias())


def rotate(x_BHLE: Tensor) -> Tensor:
    """Rotate each pair of dims (e, e + E/2) by the angle l · 10000^(−2e/E) at position l; `[B, H, L, E]`, E even.

    The product of a query and a key then depends on their distance, not on their places (Su et al. 2021, arXiv
    2104.09864; pairs as in GPT-NeoX).
    """
    half = x_BHLE.shape[3] // 2
    rate_E = 10_000.0 ** (-torch.arange(half, device=x_BHLE.device, dtype=torch.float64) / half)
    angle_LE = torch.arange(x_BHLE.shape[2], device=x_BHLE.device)[:, None] * rate_E
    cos_LE, sin_LE = angle_LE.cos().to(x_BHLE.dtype), angle_LE.sin().to(x_BHLE.dtype)
    a_BHLE, b_BHLE = x_BHLE.chunk(2, dim=3)
    return torch.cat([a_BHLE * cos_LE - b_BHLE * sin_LE, a_BHLE * sin_LE + b_BHLE * cos_LE], dim=3)


class SelfAttention(SequenceMixer):
    """Projections around an attention backend (`attention=NAME`), which `dims` lets compute in float32 or by autocast.

    Raises:
        UserError: for heads of an odd number of dims, which cannot be rotated.
    """

    def __init__(self, dims: MixerDims, backend: AttentionBackend):
        super().__init__(dims)
        if dims.rotary and dims.head_dim % 2:
            raise UserError(
                f"model.positions=rotary rotates pairs of dims, which model.head_dim={dims.head_dim} does not give;"
                f" type model.head_dim={dims.head_dim + 1}",
                key="model.head_dim",
                value=dims.head_dim,
                right=dims.head_dim + 1,
            )
        inner = dims.num_heads * dims.head_dim
        self.qkv = QueryKeyValue(dims.width, inner, biased=backend.biased)
        self.backend = backend
        self.batch_wide, self.reads_padding = backend.batch_wide, backend.reads_padding
        self.reads_padded_length = backend.reads_padded_length
        self.out = nn.Linear(inner, dims.width)

    @property
    def lacks_positions(self) -> bool:
        """Whether positions are rotations of queries and keys, which the backend does not use."""
        return self.dims.rotary and not self.backend.uses_queries

    def forward(self, x_BLD: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Attend within each sequence; `[B, L, D]` to `[B, L, D]`."""
        heads = (3, self.dims.num_heads, self.dims.head_dim)
        q_BHLE, k_BHLE, v_BHLE = self.qkv(x_BLD).unflatten(2, heads).permute(2, 0, 3, 1, 4).unbind(0)
        in_float32 = self.dims.attention_dtype == "float32"
        with torch.autocast(x_BLD.device.type, enabled=False) if in_float32 else nullcontext():
            dtype = torch.promote_types(q_BHLE.dtype, torch.float32) if in_float32 else q_BHLE.dtype
            q_BHLE, k_BHLE, v_BHLE = q_BHLE.to(dtype), k_BHLE.to(dtype), v_BHLE.to(dtype)
            if self.dims.rotary:
                q_BHLE, k_BHLE = rotate(q_BHLE), rotate(k_BHLE)
            mixed_BHLE = self.backend(q_BHLE, k_BHLE, v_BHLE, valid_BL)
        mixed_BLD = mixed_BHLE.transpose(1, 2).flatten(2)
        out_BLD: Tensor = self.out(mixed_BLD.to(x_BLD.dtype))
        return out_BLD


def attention_layers(
    dims: MixerDims, count: int, *, make_backend: Callable[[AttentionDims], AttentionBackend]
) -> Iterator[SelfAttention]:
    """Make the mixers of `count` layers: first all backends, then the projections of each layer, lazily.

    This is the order in which the first version of this encoder drew its random numbers, so seeds keep their weights.
    """
    of_backends = AttentionDims(num_heads=dims.num_heads, head_dim=dims.head_dim, max_seq_len=dims.max_seq_len)
    backends = [make_backend(of_backends) for _ in range(count)]
    for later in backends[1:]:
        later.share_with(backends[0])
    for backend in backends:
        yield SelfAttention(dims, backend)
