"""Nyström attention on packed tokens: the same as `NystromAttention.forward`, without computing padding.

Letters: T tokens, B sequences, H heads, E dims per head, M landmarks, F taps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from lra.ops.first_order import first_order, without_autocast
from lra.ops.packed.convolution import add_convolution, add_convolution_backward
from lra.ops.packed.fused import attend_each, attend_each_backward
from lra.ops.packed.packing import Packing
from lra.ops.packed.segments import Segments

Mix = Callable[[Tensor, Tensor, Tensor], Tensor]


def packed_nystrom(
    qkv_PTD: Tensor, taps_HF: Tensor | None, packing: Packing, segments: Segments, mix: Mix, *, heads: int
) -> Tensor:
    """Compute Nyström attention of packed tokens; `[T, H·E]`.

    Args:
        qkv_PTD: queries, keys and values, `[3, T, H·E]`.
        taps_HF: filters of the value skip (the depthwise convolution), or None.
        packing: the tokens' places in the padded batch.
        segments: the segments whose means are the landmarks.
        mix: computes pinv(kernel 2) @ summary, or what takes its place, from landmark queries, landmark keys and the
            summary, which is kernel 3 times the values; all `[H, B, M, E]`.
        heads: H.
    """
    out_TD: Tensor = _PackedNystrom.apply(qkv_PTD, taps_HF, packing, segments, mix, heads)
    return out_TD


class _PackedNystrom(torch.autograd.Function):
    @staticmethod
    @without_autocast
    def forward(
        ctx: Any, qkv: Tensor, taps: Tensor | None, packing: Packing, segments: Segments, mix: Mix, heads: int
    ) -> Tensor:
        q, k, v = (packing.in_groups(x, heads) for x in qkv)
        marks_q, marks_k = segments.means(qkv[:2]).unflatten(3, (heads, -1)).permute(0, 3, 1, 2, 4).contiguous()
        summary, attended = torch.zeros_like(marks_q), torch.empty_like(qkv[0])
        normalisers_3 = attend_each(_in_groups(marks_q, packing), k, v, _in_groups(summary, packing))
        trained = any(ctx.needs_input_grad[:2])
        leaves = [x.detach().requires_grad_(trained) for x in (marks_q, marks_k, summary)]
        with torch.set_grad_enabled(trained):
            mixed = mix(*leaves)
        keys, values = (_in_groups(x, packing, segments.used) for x in (marks_k, mixed.detach()))
        normalisers_1 = attend_each(q, keys, values, packing.in_groups(attended, heads))
        ctx.save_for_backward(qkv, taps, attended)
        ctx.leaves, ctx.mixed, ctx.normalisers = leaves, mixed, (normalisers_1, normalisers_3)
        ctx.packing, ctx.segments, ctx.heads = packing, segments, heads
        return attended if taps is None else add_convolution(qkv[2], taps, packing, attended)

    @staticmethod
    @first_order
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        qkv, taps, attended = ctx.saved_tensors
        packing, segments, used = ctx.packing, ctx.segments, ctx.segments.used
        grad_qkv = torch.empty_like(qkv)
        (q, k, v), (grad_q, grad_k, grad_v), (grad_out, out) = (
            [packing.in_groups(x, ctx.heads) for x in planes] for planes in (qkv, grad_qkv, (grads[0], attended))
        )
        marks_q, marks_k, summary = ctx.leaves
        grad_k_1, grad_mixed, grad_q_3 = (torch.zeros_like(marks_k) for _ in range(3))
        keys, values, *grads_1 = (
            _in_groups(x, packing, used) for x in (marks_k.detach(), ctx.mixed.detach(), grad_k_1, grad_mixed)
        )
        attend_each_backward(grad_out, (q, keys, values), out, ctx.normalisers[0], (grad_q, *grads_1))
        grad_marks_q, grad_marks_k, grad_summary = torch.autograd.grad(
            ctx.mixed,
            ctx.leaves,
            grad_mixed,
            retain_graph=True,  # the caller may go backward twice
            materialize_grads=True,  # without pseudo-inverse only the summary is used
        )
        queries, summaries, grad_summaries, grads_3 = (
            _in_groups(x, packing) for x in (marks_q.detach(), summary.detach(), grad_summary, grad_q_3)
        )
        attend_each_backward(grad_summaries, (queries, k, v), summaries, ctx.normalisers[1], (grads_3, grad_k, grad_v))
        grad_marks = torch.stack([grad_marks_q + grad_q_3, grad_marks_k + grad_k_1])
        segments.add_gradient(grad_marks.permute(0, 2, 3, 1, 4).flatten(3), grad_qkv[:2])
        grad_taps = None
        if taps is not None:
            grad_taps = add_convolution_backward(grads[0], qkv[2], taps, packing, grad_qkv[2])
        return grad_qkv, grad_taps, None, None, None, None


def _in_groups(x_HBME: Tensor, packing: Packing, used: list[int] | None = None) -> list[Tensor]:
    """View the landmarks of each group of sequences, all or those in use, as `[G, H, M, E]`."""
    views = []
    for _, sequences in packing.groups:
        count = x_HBME.shape[2] if used is None else used[sequences.start]  # the same for sequences of the same length
        views.append(x_HBME[:, sequences, :count].transpose(0, 1))
    return views
