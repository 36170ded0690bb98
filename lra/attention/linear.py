"""Linear attention (Katharopoulos et al. 2020, arXiv 2006.16236): the features of queries and keys are elu(x) + 1.

Letters: B examples, H heads, L positions, E dims per head.
"""

from torch import Tensor

from lra.attention.base import AttentionBackend, without_padding
from lra.ops.linear_attention import linear_attention


class LinearAttention(AttentionBackend):
    """φ(q) (φ(k)ᵀ v), divided by φ(q) Σ φ(k), with φ(x) = elu(x) + 1; queries and keys are not scaled."""

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Attend; see the base class."""
        k_BHLE, v_BHLE = without_padding(valid_BL, elu_features(k_BHLE), v_BHLE)
        return linear_attention(elu_features(q_BHLE), k_BHLE, v_BHLE)


def elu_features(x: Tensor) -> Tensor:
    """Compute elu(x) + 1 as min(exp(x), 1) + relu(x), which for a large negative x is not rounded to 0."""
    return x.clamp(max=0).exp() + x.relu()
