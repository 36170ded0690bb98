"""Attention with the kernel φ(q)ᵀ φ(k), and random features φ whose products approximate a softmax kernel.

Sources: Katharopoulos et al. 2020; Choromanski et al. 2021 (FAVOR+).

Letters: B examples, H heads, L positions, E dims per head, R features.
"""

import torch
from torch import Tensor


def linear_attention(q_BHLR: Tensor, k_BHLR: Tensor, v_BHLE: Tensor) -> Tensor:
    """Compute φ(q) (φ(k)ᵀ v), divided by φ(q) Σ φ(k): attention in O(L · R · E); `[B, H, L, E]`.

    A row whose normaliser is 0, because there is no key, gives zeros.
    """
    total_BHRE = k_BHLR.mT @ v_BHLE
    normaliser_BHL1 = q_BHLR @ k_BHLR.sum(2)[..., None]
    return (q_BHLR @ total_BHRE) / torch.where(normaliser_BHL1 > 0, normaliser_BHL1, 1.0)


def orthogonal_gaussian(features: int, dims: int) -> Tensor:
    """Draw rows `[R, E]` with the lengths of Gaussian vectors, orthogonal within each block of E rows.

    They are drawn from torch's generator. Source: Choromanski et al. 2021, section 2.4. The directions are those of a
    QR decomposition, as in performer-pytorch, whose signs are not random: the first row of each block points away from
    the first axis. So they are not uniform on the sphere, and the features' products have a bias that more features do
    not remove: for vectors along the diagonal of length 1 to 2, E = 32, 10 to 25 %.
    """
    blocks = [torch.linalg.qr(torch.randn(dims, dims))[0].T for _ in range(-(-features // dims))]
    directions = torch.cat(blocks)[:features]
    lengths = torch.randn(features, dims).norm(dim=1)
    drawn: Tensor = directions * lengths[:, None]
    return drawn


def softmax_features(x_BHLE: Tensor, products_BHLR: Tensor, maximum: Tensor, *, epsilon: float) -> Tensor:
    """Compute positive features φ(x) = (exp(w·x − ‖x‖²/2 − maximum) + ε) / √R, whose products approximate exp(q·k).

    `products_BHLR` are w·x of the scaled x for every direction w. `maximum`, for numerical stability, can be broadcast
    to them. Each query may have its own, because the normaliser cancels it.
    """
    half_norm = x_BHLE.square().sum(-1, keepdim=True) / 2
    exponentials_BHLR = torch.exp(products_BHLR - half_norm - maximum)
    features_BHLR: Tensor = (exponentials_BHLR + epsilon) * products_BHLR.shape[-1] ** -0.5
    return features_BHLR


def relu_features(x_BHLE: Tensor, projection_RE: Tensor, *, epsilon: float) -> Tensor:
    """Compute φ(x) = (relu(w·x) + ε) / √R: generalized attention of Choromanski et al. 2021, section 2.2."""
    features_BHLR: Tensor = (torch.relu(x_BHLE @ projection_RE.T) + epsilon) * projection_RE.shape[0] ** -0.5
    return features_BHLR
