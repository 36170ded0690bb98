"""Landmarks: means of segments of a sequence (Xiong et al. 2021, section 3.2).

Letters: B examples, H heads, L positions, E dims per head, M landmarks.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad


def padded_segment_means(x_BHLE: Tensor, num_landmarks: int) -> Tensor:
    """Compute means over M segments of the padded length, as the released code does; `[B, H, M, E]`.

    Padded positions must hold zeros, and they count in the denominator. If M does not divide the length, zeros are
    added at the end.
    """
    batch, heads, length, dims = x_BHLE.shape
    size = -(-length // num_landmarks)
    if size * num_landmarks != length:
        x_BHLE = pad(x_BHLE, (0, 0, 0, size * num_landmarks - length))
    return x_BHLE.reshape(batch, heads, num_landmarks, size, dims).mean(3)


def padded_segments(valid_BL: Tensor, num_landmarks: int) -> tuple[Tensor, Tensor]:
    """Split all positions into segments as `padded_segment_means` does; returns what `valid_segments` returns."""
    batch, length = valid_BL.shape
    size = -(-length // num_landmarks)
    segment_L = torch.arange(length, device=valid_BL.device) // size
    sizes_M = (length - size * torch.arange(num_landmarks, device=valid_BL.device)).clamp(0, size)
    return segment_L.expand(batch, -1), sizes_M.expand(batch, -1)


def valid_segments(valid_BL: Tensor, num_landmarks: int) -> tuple[Tensor, Tensor]:
    """Split each example's real tokens, in order, into near-equal segments: M, or one per token if there are fewer.

    Args:
        valid_BL: `[B, L]` bool, True at real tokens.
        num_landmarks: M.

    Returns:
        The segment of each position, `[B, L]` int64, M at padded positions; and the number of tokens in each segment,
        `[B, M]` int64, 0 for an unused segment.
    """
    rank_BL = valid_BL.cumsum(1) - 1
    count_B1 = valid_BL.sum(1, keepdim=True)
    used_B1 = count_B1.clamp(max=num_landmarks)
    segment_BL = torch.where(valid_BL, rank_BL * used_B1 // count_B1.clamp(min=1), num_landmarks)
    sizes = torch.zeros(len(valid_BL), num_landmarks + 1, dtype=torch.long, device=valid_BL.device)
    sizes.scatter_add_(1, segment_BL, torch.ones_like(segment_BL))
    return segment_BL, sizes[:, :num_landmarks]


def valid_segment_means(x_BHLE: Tensor, segment_BL: Tensor, sizes_BM: Tensor) -> Tensor:
    """Compute means over the segments of `valid_segments`, zeros for an unused segment; `[B, H, M, E]`."""
    batch, heads, length, dims = x_BHLE.shape
    landmarks = sizes_BM.shape[1]
    rows = x_BHLE.transpose(1, 2).reshape(batch * length, heads * dims)
    target = segment_BL + (landmarks + 1) * torch.arange(batch, device=x_BHLE.device)[:, None]
    sums = rows.new_zeros(batch * (landmarks + 1), heads * dims).index_add(0, target.flatten(), rows)
    sums_BMHE = sums.view(batch, landmarks + 1, heads, dims)[:, :landmarks]
    return (sums_BMHE / sizes_BM.clamp(min=1)[..., None, None]).transpose(1, 2)
