"""Nyström attention (Xiong et al., AAAI 2021, arXiv 2102.03902).

softmax(q kᵀ) is approximated with M landmarks q̃ and k̃, which are means over segments of the queries and of the keys:
softmax(q k̃ᵀ) · pinv(softmax(q̃ k̃ᵀ)) · softmax(q̃ kᵀ), all scaled by 1/√E. The three factors are kernels 1, 2 and 3.

Letters: B examples, H heads, L positions, E dims per head, M landmarks, T taps.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, scaled_dot_product_attention

from lra.attention.base import AttentionBackend, AttentionDims
from lra.ops.landmarks import padded_segment_means, valid_segment_means, valid_segments
from lra.ops.pseudo_inverse import exact_pinv, iterative_pinv
from lra.ops.softmax import attendable, exact_attention, masked_softmax
from lra.packed.nystrom import packed_nystrom
from lra.packed.packing import Packing
from lra.packed.segments import Segments
from lra.types import UserError

CHOICES = {
    "landmarks": ("padded", "valid"),
    "pinv": ("iterative", "exact"),
    "pinv_start": ("batch", "per_matrix"),
}


class NystromAttention(AttentionBackend):
    """Attention approximated with landmarks, plus a depthwise convolution of the values (the value skip).

    Args:
        dims: dimensions of the encoder.
        num_landmarks: M, at least 1.
        landmarks: `padded`: M segments of the padded length, and exact attention when M ≥ L (the released code).
            `valid`: segments of each example's real tokens, with unused landmarks masked.
        pinv: `iterative`, or `exact`, which uses a singular value decomposition.
        pinv_iterations: iterations of the iterative pseudo-inverse, at least 1.
        pinv_start: `batch` or `per_matrix`, see `iterative_pinv`.
        pinv_rtol: relative cut-off of the exact pseudo-inverse, in [0, 1), see `exact_pinv`.
        value_skip_taps: T, odd: length of the value skip's filters; 0 for no value skip.

    Raises:
        UserError: for an unknown choice, or a number outside its range.
    """

    def __init__(
        self,
        dims: AttentionDims,
        *,
        num_landmarks: int,
        landmarks: str,
        pinv: str,
        pinv_iterations: int,
        pinv_start: str,
        pinv_rtol: float,
        value_skip_taps: int,
    ):
        super().__init__(dims)
        for name, chosen in (("landmarks", landmarks), ("pinv", pinv), ("pinv_start", pinv_start)):
            if chosen not in CHOICES[name]:
                raise UserError(f"attention.{name}={chosen} is not known; choose one of {', '.join(CHOICES[name])}")
        for name, count in (("num_landmarks", num_landmarks), ("pinv_iterations", pinv_iterations)):
            if count < 1:
                raise UserError(f"attention.{name}={count}, but at least 1 is needed; the paper has 64 and 6")
        if not 0 <= pinv_rtol < 1:
            raise UserError(f"attention.pinv_rtol={pinv_rtol} is not in [0, 1); type attention.pinv_rtol=1e-4")
        if value_skip_taps < 0 or (value_skip_taps and value_skip_taps % 2 == 0):
            raise UserError(
                f"attention.value_skip_taps={value_skip_taps} is not odd; the paper has 35, and 0 is without"
            )
        self.num_landmarks, self.landmarks = num_landmarks, landmarks
        self.pinv, self.pinv_iterations, self.pinv_start, self.pinv_rtol = pinv, pinv_iterations, pinv_start, pinv_rtol
        self.value_skip = None
        if value_skip_taps:
            bound = value_skip_taps**-0.5  # torch's default for a convolution: U(−1/√T, 1/√T)
            self.value_skip = nn.Parameter(torch.empty(dims.num_heads, value_skip_taps).uniform_(-bound, bound))

    @property
    def batch_wide(self) -> bool:
        """Whether the start of the iterative pseudo-inverse depends on all examples."""
        return self.pinv == "iterative" and self.pinv_start == "batch"

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Attend; see the base class."""
        if valid_BL is not None:
            real = valid_BL[:, None, :, None]
            q_BHLE, k_BHLE, v_BHLE = q_BHLE * real, k_BHLE * real, v_BHLE * real
        if self.is_exact(q_BHLE.shape[2]):
            out = exact_attention(q_BHLE, k_BHLE, v_BHLE, valid_BL)
        else:
            out = self._through_landmarks(q_BHLE, k_BHLE, v_BHLE, valid_BL)
        if self.value_skip is not None:
            # The taps are the last dimension: torch 2.13's CPU gradient for a [taps, 1] filter is wrong by percents.
            heads, taps = self.value_skip.shape
            filters = self.value_skip.view(heads, 1, 1, taps)
            skip_BHEL = conv2d(v_BHLE.transpose(2, 3), filters, padding=(0, taps // 2), groups=heads)
            out = out + skip_BHEL.transpose(2, 3)
        return out

    def is_exact(self, length: int) -> bool:
        """Tell whether attention over `length` positions is exact, not approximated."""
        return self.landmarks == "padded" and self.num_landmarks >= length

    def _through_landmarks(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Multiply the three kernels; the two of size L × M are never stored, because fused attention computes them."""
        q_BHME, k_BHME, used_BM = self.landmarks_of(q_BHLE, k_BHLE, valid_BL)
        kernel_2 = self.kernel_2(q_BHME, k_BHME, used_BM)
        summary_BHME = exact_attention(q_BHME, k_BHLE, v_BHLE, valid_BL)  # kernel 3 times the values
        weighted_BHME = self.pseudo_inverse(kernel_2) @ summary_BHME
        return scaled_dot_product_attention(q_BHLE, k_BHME, weighted_BHME, attn_mask=attendable(used_BM))

    def landmarks_of(
        self, q_BHLE: Tensor, k_BHLE: Tensor, valid_BL: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        """Compute landmark queries and keys `[B, H, M, E]`, and a mask of the used ones `[B, M]` (None: all)."""
        if self.landmarks == "padded":
            q_BHME, k_BHME = (padded_segment_means(x, self.num_landmarks) for x in (q_BHLE, k_BHLE))
            return q_BHME, k_BHME, None
        batch, _, length, _ = q_BHLE.shape
        everywhere = torch.ones(batch, length, dtype=torch.bool, device=q_BHLE.device)
        segment_BL, sizes_BM = valid_segments(everywhere if valid_BL is None else valid_BL, self.num_landmarks)
        q_BHME = valid_segment_means(q_BHLE, segment_BL, sizes_BM)
        k_BHME = valid_segment_means(k_BHLE, segment_BL, sizes_BM)
        return q_BHME, k_BHME, sizes_BM > 0

    def forward_packed(self, qkv_PTD: Tensor, packing: Packing) -> Tensor:
        """Attend within packed tokens; see the base class."""
        if self.is_exact(packing.length):
            return super().forward_packed(qkv_PTD, packing)
        key = (self.num_landmarks, self.landmarks)
        if key not in packing.segments:  # the first layer computes them for all layers
            packing.segments[key] = Segments(packing, *key)
        segments = packing.segments[key]

        def mix(q_HBME: Tensor, k_HBME: Tensor, summary_HBME: Tensor) -> Tensor:
            kernel_2 = self.kernel_2(q_HBME.transpose(0, 1), k_HBME.transpose(0, 1), segments.used_BM)
            return self.pseudo_inverse(kernel_2).transpose(0, 1) @ summary_HBME

        return packed_nystrom(qkv_PTD, self.value_skip, packing, segments, mix, heads=self.dims.num_heads)

    def kernel_2(self, q_BHME: Tensor, k_BHME: Tensor, used_BM: Tensor | None) -> Tensor:
        """Compute softmax(q̃ k̃ᵀ / √E), `[B, H, M, M]`; rows and columns of unused landmarks are 0."""
        scores = q_BHME @ k_BHME.mT * self.dims.head_dim**-0.5
        if used_BM is None:
            weights: Tensor = scores.softmax(-1)
            return weights
        return masked_softmax(scores, used_BM[:, None, None, :]) * used_BM[:, None, :, None]

    def pseudo_inverse(self, a_BHMM: Tensor) -> Tensor:
        """Compute the pseudo-inverse `[B, H, M, M]` of kernel 2, iteratively or exactly."""
        if self.pinv == "exact":
            return exact_pinv(a_BHMM, rtol=self.pinv_rtol)
        return iterative_pinv(a_BHMM, iterations=self.pinv_iterations, start=self.pinv_start)

    def extra_repr(self) -> str:
        """Show the knobs when a model is printed."""
        return f"num_landmarks={self.num_landmarks}, landmarks={self.landmarks}, pinv={self.pinv}"
