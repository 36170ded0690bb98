"""Random features of a softmax kernel, for tiles of packed tokens.

A feature is φ(x) = exp(w·x − ‖x‖²/2 − maximum) + ε; the factor 1 / √R of `lra.ops.random_features` cancels. What is the
same for a whole row, exp(−‖x‖²/2), is kept apart, to multiply a narrow matrix beside the features instead of them.

Letters: H heads, E dims per head, R random features, W tokens.
"""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor

TILE_ENTRIES = 1 << 18  # features of a tile for each thread, over all heads: 1 MiB in float32


class Features:
    """How queries and keys become features.

    Args:
        projection_RE: w.
        scale: factor of queries and keys.
        epsilon: ε.
        pass_maximum: whether gradients pass through the maxima of queries and keys.
    """

    def __init__(self, projection_RE: Tensor, *, scale: float, epsilon: float, pass_maximum: bool):
        self.directions_RE = projection_RE * scale
        self.scale, self.epsilon, self.pass_maximum = scale, epsilon, pass_maximum

    def products(self, x_HWE: Tensor) -> Tensor:
        """Compute w·x, `[H, W, R]`."""
        return torch.bmm(x_HWE, self.directions_RE.T.expand(len(x_HWE), -1, -1))

    def of_queries(self, q_HWE: Tensor) -> tuple[Tensor, Tensor]:
        """Compute exponentials `[H, W, R]`, at most 1 in each row, and the factors of the rows `[H, W, 1]`."""
        products = self.products(q_HWE)
        return products.sub_(products.amax(2, keepdim=True)).exp_(), self._row_factors(q_HWE)

    def of_keys(self, k_HWE: Tensor, maximum_H: Tensor) -> tuple[Tensor, Tensor]:
        """Compute exponentials `[H, W, R]`, and the factors of the rows `[H, W, 1]`."""
        return self.products(k_HWE).sub_(maximum_H[:, None, None]).exp_(), self._row_factors(k_HWE)

    def backward(self, grad_HWR: Tensor, x_HWE: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the gradient of queries or keys from that of the exponents, and the sums of its rows `[H, W, 1]`."""
        totals_HW1 = grad_HWR.sum(2, keepdim=True)
        grad_x = torch.bmm(grad_HWR, self.directions_RE.expand(len(x_HWE), -1, -1))
        return grad_x.addcmul_(x_HWE, totals_HW1, value=-(self.scale**2)), totals_HW1

    def tiles(self, x_HWE: Tensor) -> Iterator[slice]:
        """Split the tokens into tiles."""
        size = max(1, TILE_ENTRIES * torch.get_num_threads() // (len(x_HWE) * len(self.directions_RE)))
        return (slice(start, start + size) for start in range(0, x_HWE.shape[1], size))

    def _row_factors(self, x_HWE: Tensor) -> Tensor:
        return x_HWE.square().sum(2, keepdim=True).mul_(-(self.scale**2) / 2).exp_()
