"""Performer (Choromanski et al. 2021, arXiv 2009.14794): linear attention with random features.

Letters: B examples, H heads, L positions, E dims per head, R random features.
"""

from typing import ClassVar, Literal

import torch
from torch import Tensor

from lra.attention.base import AttentionBackend, AttentionDims, without_padding
from lra.base.option_types import Count, CountOrZero, Effects, checked
from lra.base.protocol import PerformerKeyMaximum, PerformerMaximumGradient, PerformerPaddedKeys, PerformerScaling
from lra.ops.linear_attention import linear_attention, orthogonal_gaussian, relu_features, softmax_features
from lra.ops.transforms import untransformed

EPSILON = {"softmax": 1e-4, "relu": 1e-3}


class PerformerAttention(AttentionBackend):
    """FAVOR+: attention with positive random features of a softmax kernel, or with ReLU features.

    A maximum is subtracted before the exponential, for numerical stability. It would cancel in the result, but for the
    ε of performer-pytorch that is added to each feature: so its choice changes outputs and gradients. Where queries and
    keys are long, or features many, the maximum is large, ε outweighs the exponentials, and attention nears a plain
    mean: for 64 normal queries and keys, E = 32 and `once`, the rows' distance from the mean (L1) is .74 in exact
    attention, .2 with 256 features, and .001 with 65,536.

    Args:
        features: R, at least 1.
        kernel: `softmax` or `relu`.
        redraw_every: training calls between two draws of the features; 0: they are drawn once.
        scaling: `twice` divides queries and keys by E^¼ two times, as the released Nyströmformer code does, so it
            approximates softmax(q kᵀ / E); `once` approximates softmax(q kᵀ / √E).
        key_maximum: whether the keys' maximum is taken over the whole `batch`, so that the other examples matter, or
            `per_head` of each example.
        maximum_gradient: whether gradients are `passed` through the maxima of queries and keys, as in performer-pytorch
            0.14 to 1.0.5, or `stopped`.
        padded_keys: `counted` as zero vectors in the normaliser (the released code), or `masked`.

    Raises:
        UserError: for an unknown choice, or a number outside its range.
    """

    projection: Tensor
    calls: Tensor
    effective_with: ClassVar[Effects] = {
        "key_maximum": {"kernel": Literal["softmax"]},
        "maximum_gradient": {"kernel": Literal["softmax"]},
    }
    shown = ("features", "kernel", "scaling")

    @checked
    def __init__(
        self,
        dims: AttentionDims,
        *,
        features: Count,
        kernel: Literal["softmax", "relu"],
        redraw_every: CountOrZero,
        scaling: PerformerScaling,
        key_maximum: PerformerKeyMaximum,
        maximum_gradient: PerformerMaximumGradient,
        padded_keys: PerformerPaddedKeys,
    ):
        super().__init__(dims)
        self.features, self.kernel, self.scaling, self.key_maximum = features, kernel, scaling, key_maximum
        self.pass_maximum = maximum_gradient == "passed"
        self.padded_keys, self.redraw_every = padded_keys, redraw_every
        self.batch_wide = kernel == "softmax" and key_maximum == "batch"
        self.reads_padded_length = padded_keys == "counted"  # vectors of zeros, in the normaliser
        # Buffers are saved with the weights, so that a restored model has the same features.
        self.register_buffer("projection", orthogonal_gaussian(features, dims.head_dim))
        self.register_buffer("calls", torch.zeros((), dtype=torch.long))

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Attend; see the base class."""
        self.redraw_when_due()
        k_BHLE, v_BHLE = without_padding(valid_BL, k_BHLE, v_BHLE)
        real_BHL1 = None if valid_BL is None or self.padded_keys == "counted" else valid_BL[:, None, :, None]
        q_BHLE, k_BHLE = q_BHLE * self.scale, k_BHLE * self.scale
        if self.kernel == "relu":
            q_BHLR, k_BHLR = (relu_features(x, self.projection, epsilon=EPSILON["relu"]) for x in (q_BHLE, k_BHLE))
        else:
            q_BHLR, k_BHLR = self._query_features(q_BHLE), self._key_features(k_BHLE, real_BHL1)
        if real_BHL1 is not None:
            k_BHLR = k_BHLR * real_BHL1
        return linear_attention(q_BHLR, k_BHLR, v_BHLE)

    @property
    def scale(self) -> float:
        """Factor of queries and keys."""
        power: float = self.dims.head_dim ** (-0.5 if self.scaling == "twice" else -0.25)
        return power

    def _query_features(self, q_BHLE: Tensor) -> Tensor:
        products = q_BHLE @ self.projection.T
        maximum = self._stabilisers(products).amax(-1, keepdim=True)
        return softmax_features(q_BHLE, products, maximum, epsilon=EPSILON["softmax"])

    def _key_features(self, k_BHLE: Tensor, real_BHL1: Tensor | None) -> Tensor:
        """Compute the features of keys; `real_BHL1` are those that count, None: all."""
        products = k_BHLE @ self.projection.T
        candidates = self._stabilisers(products)
        if self.key_maximum == "batch":
            maximum = candidates.amax()
        else:
            if real_BHL1 is not None:
                candidates = candidates.masked_fill(~(real_BHL1 | ~real_BHL1.any(2, keepdim=True)), float("-inf"))
            maximum = candidates.amax((2, 3), keepdim=True)
        return softmax_features(k_BHLE, products, maximum, epsilon=EPSILON["softmax"])

    def _stabilisers(self, products: Tensor) -> Tensor:
        """Return the products that maxima are taken of, with or without gradients."""
        return products if self.pass_maximum else products.detach()

    @torch.no_grad()
    def redraw_when_due(self) -> None:
        """Count a call, and draw the features anew if it is time to, in training."""
        if not self.training or not self.redraw_every:
            return
        with untransformed():
            if self.calls and int(self.calls) % self.redraw_every == 0:
                # A new tensor: an earlier call of the same step has saved the old one for its backward pass.
                self.projection = orthogonal_gaussian(*self.projection.shape).to(self.projection)
            self.calls += 1
