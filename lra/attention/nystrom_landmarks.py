"""The landmarks of Nyström attention: which queries and keys stand for all.

Letters: B examples, H heads, L positions, E dims per head, M landmarks.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from lra.attention.base import real_positions
from lra.base.protocol import Landmarks as Positions
from lra.ops.landmarks import (
    cluster_means,
    lowest_tokens,
    middle_tokens,
    padded_segment_means,
    padded_segments,
    take_tokens,
    valid_segment_means,
    valid_segments,
)

Rule = Literal["segment_means", "strided", "random", "kmeans"]
Source = Literal["both", "keys"]


class Landmarks(nn.Module):
    """Computes landmark queries and keys; the arguments are those of `NystromAttention`."""

    landmark_seed: Tensor

    def __init__(
        self,
        max_seq_len: int,
        *,
        num_landmarks: int,
        landmarks: Positions,
        landmark_rule: Rule,
        landmark_source: Source,
        kmeans_steps: int,
    ):
        super().__init__()
        self.max_seq_len, self.num_landmarks, self.kmeans_steps = max_seq_len, num_landmarks, kmeans_steps
        self.padded, self.rule, self.of_keys = landmarks == "padded", landmark_rule, landmark_source == "keys"
        self.draws_on_host = landmark_rule == "random"  # in evaluation, so that every device has the same landmarks
        if self.draws_on_host:  # the seed is saved with the weights, so that an evaluation can be repeated
            self.register_buffer("landmark_seed", torch.randint(2**62, ()))

    @property
    def chosen_anew(self) -> bool:
        """Whether they are something else than the segment means of queries and keys, which have a packed form."""
        return self.rule != "segment_means" or self.of_keys

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, valid_BL: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """Compute landmark queries and keys `[B, H, M, E]`, and a mask of the used ones `[B, M]` (None: all)."""
        if self.of_keys:
            (k_BHME,), used_BM = self._of([k_BHLE], valid_BL)
            return k_BHME, k_BHME, used_BM
        (q_BHME, k_BHME), used_BM = self._of([q_BHLE, k_BHLE], valid_BL)
        return q_BHME, k_BHME, used_BM

    def _of(self, tensors: list[Tensor], valid_BL: Tensor | None) -> tuple[list[Tensor], Tensor | None]:
        if self.padded and self.rule == "segment_means":
            return [padded_segment_means(x_BHLE, self.num_landmarks) for x_BHLE in tensors], None
        among_BL = real_positions(None if self.padded else valid_BL, tensors[0])
        if self.rule == "random":
            position_BM, used_BM = lowest_tokens(self._numbers(among_BL), among_BL, self.num_landmarks)
            return [take_tokens(x_BHLE, position_BM, used_BM) for x_BHLE in tensors], used_BM
        segment_BL, sizes_BM = (padded_segments if self.padded else valid_segments)(among_BL, self.num_landmarks)
        if self.rule == "strided":
            position_BM, used_BM = middle_tokens(segment_BL, sizes_BM)
            return [take_tokens(x_BHLE, position_BM, used_BM) for x_BHLE in tensors], used_BM
        if self.padded:  # a segment of nothing but the zeros that are added at the end counts too
            means = [padded_segment_means(x_BHLE, self.num_landmarks) for x_BHLE in tensors]
            used_BM = torch.ones_like(sizes_BM, dtype=torch.bool)
        else:
            means = [valid_segment_means(x_BHLE, segment_BL, sizes_BM) for x_BHLE in tensors]
            used_BM = sizes_BM > 0
        if self.rule == "segment_means":
            return means, used_BM
        together = zip(tensors, means, strict=True)
        return [cluster_means(x, mean, used_BM, among_BL, steps=self.kmeans_steps) for x, mean in together], used_BM

    def _numbers(self, among_BL: Tensor) -> Tensor:
        """Draw a number for each position: in training new ones at each call, in evaluation always the same."""
        device = among_BL.device
        drawn = torch.rand(self.max_seq_len, device=device) if self.training else self._numbers_for_evaluation()
        return drawn[: among_BL.shape[1]].to(device)

    @torch.compiler.disable
    def _numbers_for_evaluation(self) -> Tensor:
        return torch.rand(self.max_seq_len, generator=torch.Generator().manual_seed(int(self.landmark_seed)))
