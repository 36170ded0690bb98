"""The middle factor of Nyström attention: the pseudo-inverse of kernel 2, or what takes its place.

Letters: B examples, H heads, E dims per head, M landmarks, G coarse landmarks.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from lra.base.protocol import PinvStart
from lra.ops.landmarks import valid_segment_means, valid_segments
from lra.ops.linear_algebra import exact_pinv, iterative_pinv, ridge_inverse
from lra.ops.softmax_attention import masked_softmax
from lra.types import UserError

Pinv = Literal["iterative", "exact", "regularised", "none"]


@dataclass(frozen=True, kw_only=True)
class LandmarkInverse:
    """Weighs the summaries of the landmarks; the attributes are those of `NystromAttention`.

    Raises:
        UserError: for options that exclude each other.
    """

    pinv: Pinv
    pinv_iterations: int
    pinv_start: PinvStart
    pinv_rtol: float
    pinv_ridge: float
    coarse_landmarks: int

    def __post_init__(self) -> None:
        """Refuse options that exclude each other."""
        if self.coarse_landmarks and self.pinv != "regularised":
            raise UserError(
                f"attention.coarse_landmarks={self.coarse_landmarks} inverts with a ridge, so"
                f" attention.pinv={self.pinv} would have no effect; type attention.pinv=regularised"
            )

    @property
    def batch_wide(self) -> bool:
        """Whether the start of the iterative pseudo-inverse depends on all examples."""
        return self.pinv == "iterative" and self.pinv_start == "batch"

    def weigh(self, q_BHME: Tensor, k_BHME: Tensor, used_BM: Tensor | None, x_BHME: Tensor) -> Tensor:
        """Multiply the pseudo-inverse of kernel 2 of landmark queries and keys with `x_BHME`, such as summaries."""
        if self.pinv == "none":
            return x_BHME
        if self.coarse_landmarks:
            return self._weigh_coarsely(q_BHME, k_BHME, used_BM, x_BHME)
        return self.inverse(landmark_kernel(q_BHME, k_BHME, used_BM, used_BM)) @ x_BHME

    def inverse(self, a_BHMM: Tensor) -> Tensor:
        """Compute the pseudo-inverse `[B, H, M, M]` of kernel 2."""
        if self.pinv == "exact":
            return exact_pinv(a_BHMM, rtol=self.pinv_rtol)
        if self.pinv == "regularised":
            return ridge_inverse(a_BHMM, ridge=self.pinv_ridge)
        return iterative_pinv(a_BHMM, iterations=self.pinv_iterations, start=self.pinv_start)

    def _weigh_coarsely(self, q_BHME: Tensor, k_BHME: Tensor, used_BM: Tensor | None, x_BHME: Tensor) -> Tensor:
        """Approximate kernel 2 itself by Nyström's method: A ≈ C W⁺ R, so that A⁺ ≈ R⁺ W C⁺."""
        if used_BM is None:
            used_BM = torch.ones(len(q_BHME), q_BHME.shape[2], dtype=torch.bool, device=q_BHME.device)
        segment_BM, sizes_BG = valid_segments(used_BM, self.coarse_landmarks)
        q_BHGE, k_BHGE = (valid_segment_means(x, segment_BM, sizes_BG) for x in (q_BHME, k_BHME))
        coarse_BG = sizes_BG > 0
        to_coarse = landmark_kernel(q_BHME, k_BHGE, used_BM, coarse_BG)
        between = landmark_kernel(q_BHGE, k_BHGE, coarse_BG, coarse_BG)
        from_coarse = landmark_kernel(q_BHGE, k_BHME, coarse_BG, used_BM)
        coarse = ridge_inverse(to_coarse, ridge=self.pinv_ridge) @ x_BHME
        # R⁺ = Rᵀ (R Rᵀ + λ I)⁻¹ needs the inverse of a small matrix, as C⁺ does.
        weighed: Tensor = ridge_inverse(from_coarse.mT, ridge=self.pinv_ridge).mT @ (between @ coarse)
        return weighed


def landmark_kernel(q_BHME: Tensor, k_BHGE: Tensor, used_rows: Tensor | None, used_columns: Tensor | None) -> Tensor:
    """Compute softmax(q̃ k̃ᵀ / √E), `[B, H, M, G]`; rows and columns of unused landmarks are 0."""
    scores = q_BHME @ k_BHGE.mT * q_BHME.shape[-1] ** -0.5
    if used_rows is None or used_columns is None:
        weights: Tensor = scores.softmax(-1)
        return weights
    return masked_softmax(scores, used_columns[:, None, None, :]) * used_rows[:, None, :, None]
