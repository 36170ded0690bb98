"""Landmarks: means of segments of a sequence (Xiong et al. 2021, section 3.2), chosen tokens, and centres of clusters.

`LandmarkInverse` is the pseudo-inverse of their kernel, for Nyström attention.

Letters: B examples, H heads, L positions, E dims per head, M landmarks, G coarse landmarks.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import pad

from lra.base.protocol import PinvStart
from lra.ops.first_order import without_autocast
from lra.ops.linear_algebra import exact_pinv, iterative_pinv, ridge_inverse
from lra.ops.softmax_attention import masked_softmax
from lra.ops.transforms import known_length

Pinv = Literal["iterative", "exact", "regularised", "none"]


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

    Returns:
        The segment of each position, `[B, L]` int64, M at padded positions; and the number of tokens in each segment,
            `[B, M]` int64, 0 for an unused segment.
    """
    rank_BL = valid_BL.cumsum(1) - 1
    count_B1 = valid_BL.sum(1, keepdim=True)
    used_B1 = count_B1.clamp(max=num_landmarks)
    segment_BL = torch.where(valid_BL, rank_BL * used_B1 // count_B1.clamp(min=1), num_landmarks)
    sizes = valid_BL.new_zeros(valid_BL.shape[0], num_landmarks + 1, dtype=torch.long)
    sizes = sizes.scatter_add(1, segment_BL, torch.ones_like(segment_BL))  # in place, torch.func.vmap would refuse it
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


def middle_tokens(segment_BL: Tensor, sizes_BM: Tensor) -> tuple[Tensor, Tensor]:
    """Choose the token in the middle of each segment, the later one of two; the segments are those of `valid_segments`.

    Returns:
        Positions `[B, M]` int64, 0 for a segment without tokens; and a mask of the segments that have some, `[B, M]`.
    """
    order_BL = segment_BL.argsort(dim=1, stable=True)  # tokens first, segment by segment
    middle_BM = sizes_BM.cumsum(1) - sizes_BM + sizes_BM // 2
    used_BM = sizes_BM > 0
    return order_BL.gather(1, middle_BM.clamp(max=order_BL.shape[1] - 1)) * used_BM, used_BM


def lowest_tokens(numbers_L: Tensor, among_BL: Tensor, num_landmarks: int) -> tuple[Tensor, Tensor]:
    """Choose the M tokens of `among_BL` with the lowest numbers, below 2; random ones choose without replacement.

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
    """Move the centres in use by steps of k-means (Lloyd 1982) over the tokens of `among_BL`; `[B, H, M, E]`.

    A token belongs to the nearest centre in use; each centre moves to the mean of its tokens, or stays if it has none.
    Gradients pass through the means, not through the choice of the nearest centre.
    """
    known_length(x_BHLE.shape[2])  # torch.cdist takes another way for more than 25
    tokens = among_BL[:, None, :, None]
    for _ in range(steps):
        distances = torch.cdist(x_BHLE.detach(), centres_BHME.detach())
        nearest_BHL1 = distances.masked_fill(~used_BM[:, None, None, :], float("inf")).argmin(3, keepdim=True)
        counts_BHM1 = torch.zeros_like(centres_BHME[..., :1])
        counts_BHM1 = counts_BHM1.scatter_add(2, nearest_BHL1, tokens.expand_as(nearest_BHL1).to(x_BHLE.dtype))
        sums = torch.zeros_like(centres_BHME).scatter_add(2, nearest_BHL1.expand_as(x_BHLE), x_BHLE * tokens)
        centres_BHME = torch.where(counts_BHM1 > 0, sums / counts_BHM1.clamp(min=1), centres_BHME)
    return centres_BHME


@dataclass(frozen=True, kw_only=True)
class LandmarkInverse:
    """Weighs the summaries of the landmarks; the attributes are those of `NystromAttention`."""

    pinv: Pinv
    pinv_iterations: int
    pinv_start: PinvStart
    pinv_rtol: float
    pinv_ridge: float
    coarse_landmarks: int

    @without_autocast
    def apply(self, q_BHME: Tensor, k_BHME: Tensor, used_BM: Tensor | None, x_BHME: Tensor) -> Tensor:
        """Multiply the pseudo-inverse of kernel 2 of landmark queries and keys with `x_BHME`, such as summaries.

        It is computed at least in float32: rounding to a shorter type, an inverse magnifies.
        """
        dtype = torch.promote_types(q_BHME.dtype, torch.float32)
        q_BHME, k_BHME, x_BHME = q_BHME.to(dtype), k_BHME.to(dtype), x_BHME.to(dtype)
        if self.pinv == "none":
            return x_BHME
        if self.coarse_landmarks:
            return self._apply_coarse_inverse(q_BHME, k_BHME, used_BM, x_BHME)
        return self.inverse(landmark_kernel(q_BHME, k_BHME, used_BM, used_BM)) @ x_BHME

    def inverse(self, a_BHMM: Tensor) -> Tensor:
        """Compute the pseudo-inverse `[B, H, M, M]` of kernel 2."""
        if self.pinv == "exact":
            return exact_pinv(a_BHMM, rtol=self.pinv_rtol)
        if self.pinv == "regularised":
            return ridge_inverse(a_BHMM, ridge=self.pinv_ridge)
        return iterative_pinv(a_BHMM, iterations=self.pinv_iterations, start=self.pinv_start)

    def _apply_coarse_inverse(self, q_BHME: Tensor, k_BHME: Tensor, used_BM: Tensor | None, x_BHME: Tensor) -> Tensor:
        """Approximate kernel 2 itself by Nyström's method: A ≈ C W⁺ R, so that A⁺ ≈ R⁺ W C⁺."""
        if used_BM is None:
            used_BM = q_BHME.new_ones(len(q_BHME), q_BHME.shape[2], dtype=torch.bool)
        segment_BM, sizes_BG = valid_segments(used_BM, self.coarse_landmarks)
        q_BHGE, k_BHGE = (valid_segment_means(x, segment_BM, sizes_BG) for x in (q_BHME, k_BHME))
        coarse_BG = sizes_BG > 0
        to_coarse = landmark_kernel(q_BHME, k_BHGE, used_BM, coarse_BG)
        between = landmark_kernel(q_BHGE, k_BHGE, coarse_BG, coarse_BG)
        from_coarse = landmark_kernel(q_BHGE, k_BHME, coarse_BG, used_BM)
        coarse = ridge_inverse(to_coarse, ridge=self.pinv_ridge) @ x_BHME
        # R⁺ = Rᵀ (R Rᵀ + λ I)⁻¹ needs the inverse of a small matrix, as C⁺ does.
        return ridge_inverse(from_coarse.mT, ridge=self.pinv_ridge).mT @ (between @ coarse)


def landmark_kernel(q_BHME: Tensor, k_BHGE: Tensor, used_rows: Tensor | None, used_columns: Tensor | None) -> Tensor:
    """Compute softmax(q̃ k̃ᵀ / √E), `[B, H, M, G]`; rows and columns of unused landmarks are 0."""
    scores = q_BHME @ k_BHGE.mT * q_BHME.shape[-1] ** -0.5
    if used_rows is None or used_columns is None:
        return masked_softmax(scores, None)
    return masked_softmax(scores, used_columns[:, None, None, :]) * used_rows[:, None, :, None]
