"""Attention within chunks of hashed tokens on a CPU: `lra.ops.hashed_chunks.attend_chunks` without storing scores.

torch's fused kernel computes windows: the queries of a chunk, with the keys of the chunk before it and its own. The
keys of a hash lie in memory once, after those that its first chunk sees, and windows are views that overlap. The
backward pass gathers queries and values again. It gives the kernel the output of all hashes together. From this the
kernel computes what is subtracted from the gradients of a query's scores, so the weights of the hashes need no more.

Letters: B sequences, L positions, H heads, E dims per head, N hashes, K chunks, C positions per chunk, X = B·L·H
vectors, R = B·H·N sorted rings of K chunks, S = R·K·C places in them, J = K + 1 chunks.
"""

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import embedding_bag

from lra.ops.first_order import first_order, without_autocast
from lra.ops.hashed_chunks import PADDING, SELF, unit_keys
from lra.ops.private_torch import fused_attention, fused_attention_backward


class HashedChunks:
    """Where each vector stands in the order of each hash, and what each chunk sees.

    Args:
        order_BHNL: the positions in the order of each hash, padding last; L is a multiple of `chunk`, C.
        counts_B: number of real tokens of each sequence; the last chunk has one, but in a sequence without tokens.
        across: whether the first chunk of a hash sees the last one of the hash before, not that of its own.
        longer: whether padding follows the last chunk, so that it is all that the hash after it sees.
    """

    def __init__(self, order_BHNL: Tensor, counts_B: Tensor, *, chunk: int, across: bool, longer: bool):
        batch, heads, hashes, length = order_BHNL.shape
        self.chunk, self.across, self.hashes = chunk, across, hashes
        first_BH11 = torch.arange(batch)[:, None, None, None] * length * heads + torch.arange(heads)[:, None, None]
        self.vector_S = (order_BHNL * heads + first_BH11).flatten()
        self.slot_S = self.vector_S * hashes + torch.arange(hashes)[:, None].expand_as(order_BHNL).reshape(-1)
        self.index_XN = torch.empty_like(self.slot_S)
        self.index_XN[self.slot_S] = torch.arange(len(self.slot_S))
        self.index_XN = self.index_XN.view(-1, hashes)
        self.vector_RJC = self._after_first(self.vector_S.view(-1, length // chunk, chunk))
        own_BHNL = torch.where(torch.arange(length) < counts_B[:, None, None, None], order_BHNL, -1)
        self.position_RKC = order_BHNL.reshape(-1, length // chunk, chunk)
        self.seen_RJC = self._after_first(own_BHNL.reshape(self.position_RKC.shape))
        if across and longer:
            self.seen_RJC[:, 0] = -1

    def windows(self, like: Tensor) -> list[tuple[slice, Tensor]]:
        """List chunks, and what is added to their scores: every score of a token with itself, or with padding."""
        chunks = self.position_RKC.shape[1]
        parts = [(slice(k, k + 1), self._mask(k, like)) for k in sorted({0, chunks - 1})]
        if chunks > 2:
            mask = like.new_zeros(self.chunk, 2 * self.chunk)
            mask.diagonal(self.chunk).fill_(SELF)
            parts.append((slice(1, chunks - 1), mask.expand(len(self.position_RKC), chunks - 2, -1, -1)))
        return parts

    def _mask(self, k: int, like: Tensor) -> Tensor:
        seen = self.seen_RJC[:, k : k + 2].reshape(len(self.seen_RJC), 1, 1, -1)
        same = seen == self.position_RKC[:, k : k + 1, :, None]
        return like.new_zeros(same.shape).masked_fill_(same, SELF).masked_fill_(seen < 0, PADDING)

    def _after_first(self, x_RKC: Tensor) -> Tensor:
        last = x_RKC[:, -1:]
        return torch.cat([self._turn(last, 1) if self.across else last, x_RKC], 1)

    def _turn(self, last_R: Tensor, step: int) -> Tensor:
        turned_R: Tensor = last_R.unflatten(0, (-1, self.hashes)).roll(step, 1).flatten(0, 1)
        return turned_R

    def gather(self, x_XE: Tensor) -> Tensor:
        """Gather the vectors of the rings, each after the chunk that its first chunk sees; `[R, J, C, E]`."""
        return x_XE.index_select(0, self.vector_RJC.flatten()).view(*self.vector_RJC.shape, -1)

    def gather_backward(self, grad_RJCE: Tensor) -> Tensor:
        """Sum the gradients of each vector, `[X, E]`; overwrites `grad_RJCE`."""
        first, own = grad_RJCE[:, :1], grad_RJCE[:, 1:]
        own[:, -1:] += self._turn(first, -1) if self.across else first
        return embedding_bag(self.index_XN, own.flatten(0, 2), mode="sum")


def attend_hashed_chunks(q_XE: Tensor, v_XE: Tensor, hashed: HashedChunks) -> Tensor:
    """Attend within chunks, and combine the hashes by their normalisers; `[X, E]`."""
    out_XE: Tensor = _AttendHashedChunks.apply(q_XE, v_XE, hashed)
    return out_XE


class _AttendHashedChunks(torch.autograd.Function):
    @staticmethod
    @without_autocast
    def forward(ctx: Any, q_XE: Tensor, v_XE: Tensor, hashed: HashedChunks) -> Tensor:
        q, v = hashed.gather(q_XE), hashed.gather(v_XE)
        k = _windows(unit_keys(q))
        out, normaliser = torch.empty_like(q[:, 1:]), torch.empty_like(q[:, 1:, :, 0])
        for part, mask in hashed.windows(q):
            out[:, part], normaliser[:, part] = fused_attention(
                q[:, 1:][:, part], k[:, part], _windows(v)[:, part], attn_mask=mask, scale=1.0
            )
        weights_XN = normaliser.flatten()[hashed.index_XN].softmax(1)
        mixed: Tensor = embedding_bag(hashed.index_XN, out.flatten(0, 2), per_sample_weights=weights_XN, mode="sum")
        ctx.save_for_backward(q_XE, v_XE, mixed, normaliser, weights_XN)
        ctx.hashed = hashed
        return mixed

    @staticmethod
    @first_order
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        q_XE, v_XE, mixed, normaliser, weights_XN = ctx.saved_tensors
        hashed = ctx.hashed
        q, v = hashed.gather(q_XE), hashed.gather(v_XE)
        keys = unit_keys(q)
        k, shape = _windows(keys), q[:, 1:].shape
        out = mixed.index_select(0, hashed.vector_S).view(shape)
        weights_S1 = weights_XN.flatten()[hashed.slot_S][:, None]
        grad = (grads[0].index_select(0, hashed.vector_S) * weights_S1).view(shape)
        grad_q, grad_k, grad_v = (torch.zeros_like(q) for _ in range(3))
        for part, mask in hashed.windows(q):
            qkv = q[:, 1:][:, part], k[:, part], _windows(v)[:, part]
            saved = out[:, part], normaliser[:, part]
            grad_q[:, 1:][:, part], *of_windows = fused_attention_backward(
                grad[:, part], *qkv, *saved, 0.0, False, attn_mask=mask, scale=1.0
            )
            for grad_ring, grad_window in zip((grad_k, grad_v), of_windows, strict=True):
                before, own = grad_window.chunk(2, 2)
                grad_ring[:, :-1][:, part] += before
                grad_ring[:, 1:][:, part] += own
        along = (keys * grad_k).sum(-1, keepdim=True)
        length = (q.square().mean(-1, keepdim=True) + 1e-6).rsqrt() * q.shape[-1] ** -0.5
        grad_q += (grad_k - keys * along) * length
        return hashed.gather_backward(grad_q), hashed.gather_backward(grad_v), None


def _windows(x_RJCE: Tensor) -> Tensor:
    """View each chunk with the one before it, `[R, K, 2C, E]`."""
    chunk = x_RJCE.shape[2]
    return x_RJCE.flatten(1, 2).unfold(1, 2 * chunk, chunk).mT
