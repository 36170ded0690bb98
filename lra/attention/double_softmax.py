"""Efficient attention (Shen et al. 2021, arXiv 1812.01243): one softmax of the queries and one of the keys.

Letters: B examples, H heads, L positions, E dims per head.
"""

from torch import Tensor

from lra.attention.base import AttentionBackend
from lra.ops.softmax_attention import masked_softmax


class DoubleSoftmaxAttention(AttentionBackend):
    """softmax(q) (softmax(kᵀ) v): the softmax of a query is over its E features, that of a feature over the real keys.

    Each row of the product of the two softmaxes sums to 1, so it needs no normaliser. Queries and keys are not scaled.
    Without keys the output is zeros.
    """

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Attend; see the base class."""
        keep = None if valid_BL is None else valid_BL[:, None, None, :]
        return q_BHLE.softmax(-1) @ (masked_softmax(k_BHLE.mT, keep) @ v_BHLE)
