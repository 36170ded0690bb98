"""Nyström attention (Xiong et al., AAAI 2021, arXiv 2102.03902).

softmax(q kᵀ) is approximated with M landmarks q̃ and k̃, which are means over segments of the queries and of the keys:
softmax(q k̃ᵀ) · pinv(softmax(q̃ k̃ᵀ)) · softmax(q̃ kᵀ), all scaled by 1/√E. The three factors are kernels 1, 2 and 3.

Letters: B examples, H heads, L positions, E dims per head, M landmarks, T taps.
"""

from typing import ClassVar, Literal

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d

from lra.attention.base import AttentionBackend, AttentionDims, real_positions, without_padding
from lra.base.option_types import Count, CountOrZero, Effects, Fraction, PositiveFraction, checked
from lra.base.protocol import Landmarks as LandmarkPositions
from lra.base.protocol import PinvStart
from lra.ops.banded_convolution import convolve
from lra.ops.landmarks import (
    LandmarkInverse,
    Pinv,
    cluster_means,
    lowest_tokens,
    middle_tokens,
    padded_segment_means,
    padded_segments,
    take_tokens,
    valid_segment_means,
    valid_segments,
)
from lra.ops.softmax_attention import exact_attention
from lra.ops.transforms import draw
from lra.types import UserError

LandmarkRule = Literal["segment_means", "strided", "random", "kmeans"]
LandmarkSource = Literal["both", "keys"]


class Landmarks(nn.Module):
    """Computes landmark queries and keys; the arguments are those of `NystromAttention`."""

    landmark_seed: Tensor

    def __init__(
        self,
        max_seq_len: int,
        *,
        num_landmarks: int,
        landmarks: LandmarkPositions,
        landmark_rule: LandmarkRule,
        landmark_source: LandmarkSource,
        kmeans_steps: int,
    ):
        super().__init__()
        self.max_seq_len, self.num_landmarks, self.kmeans_steps = max_seq_len, num_landmarks, kmeans_steps
        self.padded, self.rule, self.of_keys = landmarks == "padded", landmark_rule, landmark_source == "keys"
        self.draws_on_host = landmark_rule == "random"  # in evaluation, so that every device has the same landmarks
        if self.draws_on_host:  # the seed is saved with the weights, so that an evaluation can be repeated
            self.register_buffer("landmark_seed", torch.randint(2**62, ()))

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, valid_BL: Tensor | None) -> tuple[Tensor, Tensor, Tensor | None]:
        """Compute landmark queries and keys `[B, H, M, E]`, and a mask of the used ones `[B, M]` (None: all)."""
        chosen, used_BM = self._of([k_BHLE] if self.of_keys else [q_BHLE, k_BHLE], valid_BL)
        return chosen[0], chosen[-1], used_BM

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
        starts = zip(tensors, means, strict=True)
        return [cluster_means(x, mean, used_BM, among_BL, steps=self.kmeans_steps) for x, mean in starts], used_BM

    def _numbers(self, among_BL: Tensor) -> Tensor:
        """Draw a number for each position: in training new ones at each call, in evaluation always the same."""
        size, seed = (self.max_seq_len,), self.landmark_seed
        return draw(torch.rand, size, seed, training=self.training, device=among_BL.device)[: among_BL.shape[1]]


class NystromAttention(AttentionBackend):
    """Attention approximated with landmarks, plus a depthwise convolution of the values (the value skip).

    Args:
        num_landmarks: M, at least 1.
        landmarks: `padded`: M segments of the padded length, and exact attention when M ≥ L (the released code).
            `valid`: segments of each example's real tokens, with unused landmarks masked.
        landmark_rule: `segment_means` (the paper); `strided`: the token in the middle of each segment; `random`: tokens
            at random positions, the same in all examples of a call, new ones at each training call; `kmeans`: centres
            of clusters, from the segment means.
        landmark_source: `both`: landmark queries from queries, landmark keys from keys; `keys`: both from keys.
        kmeans_steps: steps of Lloyd's algorithm, at least 1.
        coarse_landmarks: number of landmarks of the landmarks, with which kernel 2 itself is approximated, so that many
            landmarks need no large inverse, O(M · coarse²); 0: none. An extension; the paper has none.
        pinv: `iterative`, `exact`, which uses a singular value decomposition, `regularised`, see `ridge_inverse`, or
            `none`, which leaves the pseudo-inverse out.
        pinv_iterations: iterations of the iterative pseudo-inverse, at least 1.
        pinv_start: `batch` or `per_matrix`, see `iterative_pinv`.
        pinv_rtol: relative cut-off of the exact pseudo-inverse, in [0, 1), see `exact_pinv`.
        pinv_ridge: ridge of the regularised pseudo-inverse and of coarse landmarks, in (0, 1).
        value_skip_taps: T, odd: length of the value skip's filters; 0 for no value skip.
        value_skip_form: how padded sequences are convolved: by torch's `convolution`, or as a `product`, see
            `convolve`, which is the same up to rounding.
        masking: `all`: padded queries, keys and values count nowhere. `kernel_3`: kernel 3 alone leaves padded keys
            out, so that landmarks and value skip see padding, as in the models of the package transformers.
        exact_when_short: whether `padded` landmarks give exact attention when M ≥ L; else tokens are landmarks.

    Raises:
        UserError: for an unknown choice, a number outside its range, or choices that exclude each other.
    """

    effective_with: ClassVar[Effects] = {
        "kmeans_steps": {"landmark_rule": Literal["kmeans"]},
        "pinv_iterations": {"pinv": Literal["iterative"]},
        "pinv_start": {"pinv": Literal["iterative"]},
        "pinv_rtol": {"pinv": Literal["exact"]},
        "pinv_ridge": {"pinv": Literal["regularised"]},
        "value_skip_form": {"value_skip_taps": Count},
        "exact_when_short": {"landmarks": Literal["padded"]},
    }
    shown = ("num_landmarks", "landmarks", "pinv")

    @checked
    def __init__(
        self,
        dims: AttentionDims,
        *,
        num_landmarks: Count,
        landmarks: LandmarkPositions,
        landmark_rule: LandmarkRule,
        landmark_source: LandmarkSource,
        kmeans_steps: Count,
        coarse_landmarks: CountOrZero,
        pinv: Pinv,
        pinv_iterations: Count,
        pinv_start: PinvStart,
        pinv_rtol: Fraction,
        pinv_ridge: PositiveFraction,
        value_skip_taps: CountOrZero,
        value_skip_form: Literal["convolution", "product"],
        masking: Literal["all", "kernel_3"],
        exact_when_short: bool,
    ):
        super().__init__(dims)
        self.landmarks_of = Landmarks(
            dims.max_seq_len,
            num_landmarks=num_landmarks,
            landmarks=landmarks,
            landmark_rule=landmark_rule,
            landmark_source=landmark_source,
            kmeans_steps=kmeans_steps,
        )
        self.inverse = LandmarkInverse(
            pinv=pinv,
            pinv_iterations=pinv_iterations,
            pinv_start=pinv_start,
            pinv_rtol=pinv_rtol,
            pinv_ridge=pinv_ridge,
            coarse_landmarks=coarse_landmarks,
        )
        if coarse_landmarks and pinv != "regularised":
            raise UserError(
                f"attention.coarse_landmarks={coarse_landmarks} inverts with a ridge, so attention.pinv={pinv} would"
                " have no effect; type attention.pinv=regularised"
            )
        if value_skip_taps and value_skip_taps % 2 == 0:
            line = f"attention.value_skip_taps={value_skip_taps} is not odd; the paper has 35, and 0 is without"
            raise UserError(line)
        if masking == "kernel_3" and landmarks != "padded":
            line = "attention.masking=kernel_3 is for attention.landmarks=padded; type this, or attention.masking=all"
            raise UserError(line)
        self.batch_wide = pinv == "iterative" and pinv_start == "batch"
        self.reads_padding, self.reads_padded_length = masking == "kernel_3", landmarks == "padded"
        self.exact_when_short, self.value_skip_form = exact_when_short, value_skip_form
        self.num_landmarks, self.landmarks, self.pinv = num_landmarks, landmarks, pinv
        self.value_skip = None
        if value_skip_taps:
            bound = value_skip_taps**-0.5  # torch's default for a convolution: U(−1/√T, 1/√T)
            self.value_skip = nn.Parameter(torch.empty(dims.num_heads, value_skip_taps).uniform_(-bound, bound))

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Attend; see the base class."""
        q_BHLE, k_BHLE, v_BHLE = self.without_padding(valid_BL, q_BHLE, k_BHLE, v_BHLE)
        if self.is_exact(q_BHLE.shape[2]):
            out = exact_attention(q_BHLE, k_BHLE, v_BHLE, valid_BL)
        else:
            out = self._through_landmarks(q_BHLE, k_BHLE, v_BHLE, valid_BL)
        return out if self.value_skip is None else out + self._skip(v_BHLE, self.value_skip)

    def without_padding(self, valid_BL: Tensor | None, *tensors: Tensor) -> list[Tensor]:
        """Set the vectors `[B, H, L, E]` of padded positions to 0, unless `masking` lets them count."""
        return without_padding(None if self.reads_padding else valid_BL, *tensors)

    def is_exact(self, length: int) -> bool:
        """Tell whether attention over `length` positions is exact, not approximated."""
        return self.exact_when_short and self.landmarks == "padded" and self.num_landmarks >= length

    def _through_landmarks(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Multiply the three kernels; the two of size L × M are never stored, because fused attention computes them."""
        q_BHME, k_BHME, used_BM = self.landmarks_of(q_BHLE, k_BHLE, valid_BL)
        summary_BHME = exact_attention(q_BHME, k_BHLE, v_BHLE, valid_BL)  # kernel 3 times the values
        weighted_BHME = self.inverse.apply(q_BHME, k_BHME, used_BM, summary_BHME)
        return exact_attention(q_BHLE, k_BHME, weighted_BHME, used_BM)

    def _skip(self, v_BHLE: Tensor, taps_HT: Tensor) -> Tensor:
        """Convolve the values along the sequence; `[B, H, L, E]`."""
        if self.value_skip_form == "product":
            return convolve(v_BHLE, taps_HT)
        # The taps are the last dimension: torch 2.13's CPU gradient for a [taps, 1] filter is wrong by percents.
        heads, taps = taps_HT.shape
        filters = taps_HT.view(heads, 1, 1, taps)
        skip_BHEL: Tensor = conv2d(v_BHLE.transpose(2, 3), filters, padding=(0, taps // 2), groups=heads)
        return skip_BHEL.transpose(2, 3)
