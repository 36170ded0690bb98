"""Skyformer (Chen et al. 2021, arXiv 2111.00035): a Gaussian kernel in place of the softmax, approximated by landmarks.

Letters: B examples, H heads, L positions, E dims per head, M landmarks, X longest length.
"""

import torch
from torch import Tensor

from lra.attention.base import AttentionBackend, AttentionDims, real_positions
from lra.base.option_types import Count, Positive, checked
from lra.ops.linear_algebra import solve
from lra.ops.transforms import draw


class SkyformerAttention(AttentionBackend):
    """κ(q, z) (κ(z, z) + γ I)⁻¹ κ(z, k) v, with κ(x, y) = exp(−‖x − y‖² / (2 √E)): the weights are not normalised.

    This is the Nyström method for the positive semi-definite kernel of all queries and keys together. The landmarks z
    are a random sample, without replacement, of the queries and keys of a sequence's real tokens. The inverse is exact;
    the released code approximates it with six iterations, and samples with replacement.

    Training samples at each call from the device's generator. Evaluation samples from a seed that is saved with the
    weights, always the same positions, whatever the other examples of a batch are.

    Args:
        num_landmarks: M, at least 1.
        regularisation: γ, above 0; the paper's lemma asks for a small one, the released code has 0.1.

    Raises:
        UserError: for a number outside its range.
    """

    landmark_seed: Tensor
    shown = ("num_landmarks", "regularisation")
    draws_on_host = True  # in evaluation, so that every device has the same landmarks

    @checked
    def __init__(self, dims: AttentionDims, *, num_landmarks: Count, regularisation: Positive):
        super().__init__(dims)
        self.num_landmarks, self.regularisation = num_landmarks, regularisation
        self.register_buffer("landmark_seed", torch.randint(2**62, ()))

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Attend; see the base class."""
        _, heads, _, dims = q_BHLE.shape
        valid_BL = real_positions(valid_BL, q_BHLE)
        index_BM, used_BM = self._sample(valid_BL)
        qk = torch.cat([q_BHLE, k_BHLE], 2) * self.dims.head_dim**-0.25
        z_BHME = qk.gather(2, index_BM[:, None, :, None].expand(-1, heads, -1, dims))
        q_BHLE, k_BHLE = qk.chunk(2, 2)
        used_B1M1 = used_BM[:, None, :, None]
        inner_BHMM = _gaussian(z_BHME, z_BHME) * used_B1M1 * used_B1M1.mT
        eye = torch.eye(inner_BHMM.shape[2], dtype=inner_BHMM.dtype, device=inner_BHMM.device)
        inner_BHMM = inner_BHMM + self.regularisation * eye
        summary_BHME = _gaussian(z_BHME, k_BHLE) @ (v_BHLE * valid_BL[:, None, :, None])
        solved_BHME = solve(inner_BHMM, summary_BHME * used_B1M1)
        return _gaussian(q_BHLE, z_BHME) @ (solved_BHME * used_B1M1)

    def _sample(self, valid_BL: Tensor) -> tuple[Tensor, Tensor]:
        """Sample landmarks: places among the queries followed by the keys, `[B, M]`, and whether each one is used.

        Every place has a random number, and the real places with the smallest ones are taken. So the padding and the
        other examples of a batch have no effect.
        """
        size, seed = (2, self.dims.max_seq_len), self.landmark_seed  # for each query and key of the longest sequence
        number_2X = draw(torch.rand, size, seed, training=self.training, device=valid_BL.device)
        number_2L = number_2X[:, : valid_BL.shape[1]]
        number_BN = torch.where(valid_BL[:, None], number_2L, torch.inf).flatten(1)
        smallest_BM, index_BM = number_BN.topk(min(self.num_landmarks, number_BN.shape[1]), largest=False)
        return index_BM, smallest_BM < torch.inf


def _gaussian(x_BHLE: Tensor, y_BHME: Tensor) -> Tensor:
    """Compute exp(−‖x − y‖² / 2), `[B, H, L, M]`."""
    half_x, half_y = (v.square().sum(-1, keepdim=True) / 2 for v in (x_BHLE, y_BHME))
    return (x_BHLE @ y_BHME.mT - half_x - half_y.mT).exp()
