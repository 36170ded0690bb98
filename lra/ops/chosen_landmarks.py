"""Landmarks other than segment means: chosen tokens, and the centres of clusters.

Letters: B examples, H heads, L positions, E dims per head, M landmarks.
"""

from __future__ import annotations

import torch
from torch import Tensor


def middle_tokens(segment_BL: Tensor, sizes_BM: Tensor) -> tuple[Tensor, Tensor]:
    """Choose the token in the middle of each segment, the later one of two.

    Args:
        segment_BL: the segment of each position, in order; M at positions without one.
        sizes_BM: number of tokens in each segment.

    Returns:
        Positions `[B, M]` int64, 0 for a segment without tokens; and a mask of the segments that have some, `[B, M]`.
    """
    order_BL = segment_BL.argsort(dim=1, stable=True)  # tokens first, segment by segment
    middle_BM = sizes_BM.cumsum(1) - sizes_BM + sizes_BM // 2
    used_BM = sizes_BM > 0
    return order_BL.gather(1, middle_BM.clamp(max=order_BL.shape[1] - 1)) * used_BM, used_BM


def lowest_tokens(numbers_L: Tensor, among_BL: Tensor, num_landmarks: int) -> tuple[Tensor, Tensor]:
    """Choose the M tokens with the lowest numbers; random numbers choose without replacement.

    Args:
        numbers_L: a number below 2 for each position.
        among_BL: True at positions that can be chosen.
        num_landmarks: M.

    Returns:
        Positions `[B, M]` int64, in order; and a mask of those in use: fewer than M if there are fewer tokens.
    """
    batch, length = among_BL.shape
    ranked_BL = torch.where(among_BL, numbers_L, 2.0).argsort(dim=1)[:, :num_landmarks]
    used_BM = torch.arange(num_landmarks, device=among_BL.device) < among_BL.sum(1, keepdim=True)
    chosen_BM = among_BL.new_zeros(batch, num_landmarks, dtype=torch.long)
    chosen_BM[:, : ranked_BL.shape[1]] = ranked_BL
    chosen_BM = chosen_BM.masked_fill(~used_BM, length).sort(dim=1).values
    return chosen_BM * used_BM, used_BM


def take_tokens(x_BHLE: Tensor, position_BM: Tensor, used_BM: Tensor) -> Tensor:
    """Take the vectors at chosen positions, `[B, H, M, E]`; zeros for those not in use."""
    index = position_BM[:, None, :, None].expand(-1, x_BHLE.shape[1], -1, x_BHLE.shape[3])
    return x_BHLE.gather(2, index) * used_BM[:, None, :, None]


def cluster_means(x_BHLE: Tensor, centres_BHME: Tensor, used_BM: Tensor, among_BL: Tensor, *, steps: int) -> Tensor:
    """Move centres by steps of Lloyd's algorithm (k-means, Lloyd 1982), `[B, H, M, E]`.

    A token belongs to the nearest centre in use; each centre moves to the mean of its tokens, or stays if it has none.
    Gradients pass through the means, not through the choice of the nearest centre.

    Args:
        x_BHLE: the tokens.
        centres_BHME: where the centres begin.
        used_BM: True for centres in use.
        among_BL: True at positions that are clustered.
        steps: number of steps.
    """
    tokens = among_BL[:, None, :, None]
    for _ in range(steps):
        with torch.no_grad():
            distances = torch.cdist(x_BHLE, centres_BHME).masked_fill(~used_BM[:, None, None, :], float("inf"))
            nearest_BHL1 = distances.argmin(3, keepdim=True)
            counts_BHM1 = torch.zeros_like(centres_BHME[..., :1])
            counts_BHM1.scatter_add_(2, nearest_BHL1, tokens.expand_as(nearest_BHL1).to(x_BHLE.dtype))
        sums = torch.zeros_like(centres_BHME).scatter_add(2, nearest_BHL1.expand_as(x_BHLE), x_BHLE * tokens)
        centres_BHME = torch.where(counts_BHM1 > 0, sums / counts_BHM1.clamp(min=1), centres_BHME)
    return centres_BHME
