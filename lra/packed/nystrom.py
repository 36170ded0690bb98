"""Nyström attention on packed tokens: the same as `NystromAttention.forward`, without computing padding.

Letters: T tokens, B sequences, H heads, E dims per head, M landmarks, F taps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from lra.packed.convolution import add_convolution, add_convolution_backward
from lra.packed.packing import Packing
from lra.packed.segments import Segments
from lra.packed.softmax import (
    from_landmarks,
    from_landmarks_backward,
    to_landmarks,
    to_landmarks_backward,
)

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
        mix: computes pinv(kernel 2) @ summary from landmark queries, landmark keys and the summary, which is kernel 3
            times the values; all `[H, B, M, E]`.
        heads: H.
    """
    out_TD: Tensor = _PackedNystrom.apply(qkv_PTD, taps_HF, packing, segments, mix, heads)
    return out_TD


class _PackedNystrom(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, qkv: Tensor, taps: Tensor | None, packing: Packing, segments: Segments, mix: Mix, heads: int
    ) -> Tensor:
        q, k, v = qkv
        scale = (q.shape[1] // heads) ** -0.5
        marks_q, marks_k = segments.means(qkv[:2]).unflatten(3, (heads, -1)).permute(0, 3, 1, 2, 4).contiguous()
        summary = to_landmarks(marks_q * scale, k, v, packing)
        leaves = [x.detach().requires_grad_(ctx.needs_input_grad[0]) for x in (marks_q, marks_k, summary)]
        with torch.set_grad_enabled(ctx.needs_input_grad[0]):
            mixed = mix(*leaves)
        out = from_landmarks(q, marks_k * scale, mixed.detach(), packing, segments.used)
        if taps is not None:
            add_convolution(v, taps, packing, out)
        ctx.save_for_backward(qkv, taps)
        ctx.leaves, ctx.mixed, ctx.packing, ctx.segments, ctx.scale = leaves, mixed, packing, segments, scale
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        qkv, taps = ctx.saved_tensors
        packing, segments, scale = ctx.packing, ctx.segments, ctx.scale
        marks_q, marks_k, _ = ctx.leaves
        q, k, v = qkv
        grad_qkv = torch.empty_like(qkv)
        grad_q, grad_k, grad_v = grad_qkv
        grad_1, grad_mixed = from_landmarks_backward(
            grads[0], q, marks_k * scale, ctx.mixed.detach(), packing, segments.used, grad_q
        )
        grad_marks_q, grad_marks_k, grad_summary = torch.autograd.grad(ctx.mixed, ctx.leaves, grad_mixed)
        grad_3 = to_landmarks_backward(grad_summary, marks_q * scale, k, v, packing, grad_k, grad_v)
        grad_marks = torch.stack([grad_marks_q.add(grad_3, alpha=scale), grad_marks_k.add(grad_1, alpha=scale)])
        segments.add_gradient(grad_marks.permute(0, 2, 3, 1, 4).flatten(3), grad_qkv[:2])
        grad_taps = None
        if taps is not None:
            grad_taps = add_convolution_backward(grads[0], v, taps, packing, grad_v)
        return grad_qkv, grad_taps, None, None, None, None
