"""Nyström attention on packed tokens: the same as `NystromAttention.forward`, without computing padding.

Its value skip is a depthwise convolution: it convolves each head's values with one short filter, as a grouped conv2d
does, which is slow on a CPU. Here it is a product with banded matrices, see `lra.ops.banded_convolution`. Several
sequences are laid in one row with zeros between them, and the row is cut into blocks.

Letters: T tokens, B sequences, D = H·E width, H heads, E dims per head, M landmarks, F taps (odd), S outputs per block,
N blocks.
"""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from lra.ops.banded_convolution import BLOCK, bands
from lra.ops.first_order import first_order, without_autocast
from lra.ops.landmarks import LandmarkInverse
from lra.ops.packing import Packing
from lra.packed.attention import attend_each, attend_each_backward
from lra.packed.segments import Segments

POSITIONS = 4096  # positions of the sequences in one row, so that they stay in cache


def add_convolution(x_TD: Tensor, filter_HF: Tensor, packing: Packing, to_TD: Tensor) -> Tensor:
    """Correlate each head's values with its filter, and return the sum of the result and `to_TD`; all `[T, H·E]`.

    out[l] = to[l] + Σ_f filter[f] · x[l + f − (F − 1) / 2], where x is 0 beyond the ends and at padding.
    """
    bands_HSW, out_TD = bands(filter_HF), torch.empty_like(to_TD)
    for rows, layout in _layouts(packing, filter_HF.shape[1]):
        torch.add(to_TD[rows], layout.correlate(bands_HSW, layout.windows(x_TD[rows])), out=out_TD[rows])
    return out_TD


def add_convolution_backward(
    grad_TD: Tensor, x_TD: Tensor, filter_HF: Tensor, packing: Packing, grad_x_TD: Tensor
) -> Tensor:
    """Return the gradient of the filter, and add the gradient of x to `grad_x_TD`."""
    heads, taps = filter_HF.shape
    bands_HSW, width, halo = bands(filter_HF.flip(1)), BLOCK + taps - 1, taps // 2
    products_HSW = filter_HF.new_zeros(heads, BLOCK, width)  # entry (i, j) belongs to tap j − i
    for rows, layout in _layouts(packing, taps):
        grads_NWD, windows_NWD = layout.windows(grad_TD[rows]), layout.windows(x_TD[rows])
        grad_x_TD[rows] += layout.correlate(bands_HSW, grads_NWD)
        outputs_NSD = grads_NWD[:, halo : halo + BLOCK]
        parts = zip(products_HSW, outputs_NSD.chunk(heads, 2), windows_NWD.chunk(heads, 2), strict=True)
        for product_SW, outputs_NSE, windows_NWE in parts:
            product_SW += torch.bmm(outputs_NSE, windows_NWE.mT).sum(0)
    return products_HSW.as_strided((heads, taps, BLOCK), (BLOCK * width, 1, width + 1)).sum(2)


class _Layout:
    """Places of several sequences in one row, with (F − 1) / 2 zeros or more before, between and after; F = `taps`."""

    def __init__(self, position_T: Tensor, sequence_T: Tensor, *, count: int, length: int, taps: int):
        self.taps, halo = taps, taps // 2
        stride = -(-(length + halo) // BLOCK) * BLOCK
        self.blocks = count * stride // BLOCK
        self.index_T = sequence_T * stride + position_T
        token = torch.full((count * stride + 2 * halo,), -1)
        token[self.index_T + halo] = torch.arange(len(position_T))
        self.zeros, self.token = (token < 0).nonzero()[:, 0], token.clamp_(min=0)

    def windows(self, x_TD: Tensor) -> Tensor:
        """Build the overlapping windows `[N, S + F − 1, D]` of the row."""
        row = x_TD.index_select(0, self.token).index_fill_(0, self.zeros, 0)
        width = x_TD.shape[1]
        return row.as_strided((self.blocks, BLOCK + self.taps - 1, width), (BLOCK * width, width, 1))

    def correlate(self, bands_HSW: Tensor, windows_NWD: Tensor) -> Tensor:
        """Multiply `[S, S + F − 1] @ [S + F − 1, E]` for each head and block; return the tokens' rows, `[T, D]`."""
        outputs = [
            torch.bmm(band.expand(len(windows_NWD), -1, -1), windows_NWE)
            for band, windows_NWE in zip(bands_HSW, windows_NWD.chunk(len(bands_HSW), 2), strict=True)
        ]
        return torch.cat(outputs, 2).flatten(0, 1).index_select(0, self.index_T)


def _layouts(packing: Packing, taps: int) -> list[tuple[slice, _Layout]]:
    """List token rows and layout of several sequences at a time; the layers of a pass share them."""
    return packing.once(("layouts", taps), partial(_make_layouts, packing, taps))


def _make_layouts(packing: Packing, taps: int) -> list[tuple[slice, _Layout]]:
    layouts, row, sequence = [], 0, 0
    while sequence < packing.batch and packing.counts[sequence]:
        length = packing.length if packing.has_holes else packing.counts[sequence]
        counts = packing.counts[sequence : sequence + max(1, POSITIONS // length)]
        rows = slice(row, row + sum(counts))
        position_T, sequence_T = packing.position_T[rows], packing.sequence_T[rows] - sequence
        layouts.append((rows, _Layout(position_T, sequence_T, count=len(counts), length=length, taps=taps)))
        row, sequence = rows.stop, sequence + len(counts)
    return layouts


def packed_nystrom(
    qkv_PTD: Tensor,
    taps_HF: Tensor | None,
    packing: Packing,
    segments: Segments,
    inverse: LandmarkInverse,
    *,
    heads: int,
) -> Tensor:
    """Compute Nyström attention of packed tokens, `[T, H·E]`; H = `heads`.

    Args:
        taps_HF: filters of the value skip (the depthwise convolution), or None.
        segments: the segments whose means are the landmarks.
        inverse: multiplies the summary, which is kernel 3 times the values, with the pseudo-inverse of kernel 2.
    """
    out_TD: Tensor = _PackedNystrom.apply(qkv_PTD, taps_HF, packing, segments, inverse, heads)
    return out_TD


class _PackedNystrom(torch.autograd.Function):
    @staticmethod
    @without_autocast
    def forward(
        ctx: Any,
        qkv: Tensor,
        taps: Tensor | None,
        packing: Packing,
        segments: Segments,
        inverse: LandmarkInverse,
        heads: int,
    ) -> Tensor:
        q, k, v = (packing.in_groups(x, heads) for x in qkv)
        marks_q, marks_k = segments.means(qkv[:2]).unflatten(3, (heads, -1)).permute(0, 3, 1, 2, 4).contiguous()
        summary, attended = torch.zeros_like(marks_q), torch.empty_like(qkv[0])
        normalisers_3 = attend_each(_in_groups(marks_q, packing), k, v, _in_groups(summary, packing))
        trained = any(ctx.needs_input_grad[:2])
        leaves = [x.detach().requires_grad_(trained) for x in (marks_q, marks_k, summary)]
        with torch.set_grad_enabled(trained):
            marks_q_BHME, marks_k_BHME, summary_BHME = (x.transpose(0, 1) for x in leaves)
            mixed = inverse.apply(marks_q_BHME, marks_k_BHME, segments.used_BM, summary_BHME).transpose(0, 1)
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
