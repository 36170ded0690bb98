"""The attention matrices of Nyström attention, as a product of its kernels, and these kernels.

The product of the compared rows alone costs a fraction of what `forward` costs for unit vectors as values.

Letters: B sequences, H heads, R rows, N real tokens, L positions, E dims per head, M landmarks.
"""

import torch
from torch import Tensor

from lra.attention.base import AttentionBackend
from lra.attention.nystrom import NystromAttention
from lra.ops.landmarks import landmark_kernel
from lra.tools.diagnosis.matrices import AttentionMatrices, ColumnMatrices, ExactMatrix, LayerInputs, softmax_rows


def attention_matrices(backend: AttentionBackend, inputs: LayerInputs) -> AttentionMatrices:
    """Prepare the matrices of an attention for a layer's queries and keys.

    Those of Nyström attention are without its value skip. A class of a user's own that is derived from it may compute
    something else, so its matrices come from its `forward`.
    """
    return LandmarkMatrices(backend, inputs) if type(backend) is NystromAttention else ColumnMatrices(backend, inputs)


class LandmarkMatrices:
    """The matrices of Nyström attention: kernel 1 · pseudo-inverse of kernel 2 · kernel 3, in float32 as in `forward`.

    Landmarks are computed sequence by sequence, the pseudo-inverses of all sequences together, because they may share
    constants.
    """

    def __init__(self, backend: NystromAttention, inputs: LayerInputs):
        backend.eval()
        self.q, self.k = inputs.q, inputs.k  # a matrix is of real tokens alone
        self.is_exact = backend.is_exact(self.q.shape[2])
        if self.is_exact:
            return
        self.q_BHME, self.k_BHME, self.used_BM = landmarks(backend, inputs)
        eye_MM = torch.eye(self.q_BHME.shape[2])
        identity_BHMM = eye_MM.expand(*self.q_BHME.shape[:2], -1, -1)
        self.z_BHMM = backend.inverse.apply(self.q_BHME, self.k_BHME, self.used_BM, identity_BHMM)

    def of(self, exact: ExactMatrix) -> Tensor:
        """Compute the matrix in the rows and columns of an exact one, `[R, N]`."""
        index = exact.sequence, exact.head
        q_RE, k_NE = self.q[index][exact.rows], self.k[index][exact.columns]
        if self.is_exact:
            return softmax_rows(q_RE, k_NE).double()
        used = self.used_BM[exact.sequence]
        kernel_1 = softmax_rows(q_RE, self.k_BHME[index][used])
        kernel_3 = softmax_rows(self.q_BHME[index][used], k_NE)
        return (kernel_1 @ (self.z_BHMM[index][used][:, used] @ kernel_3)).double()


def landmarks(backend: NystromAttention, inputs: LayerInputs) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the landmark queries and keys of each sequence, `[B, H, M, E]`, and which are in use, `[B, M]`."""
    of_sequences = []
    for number in range(len(inputs.valid)):
        one = inputs.of([number])
        q_1HLE, k_1HLE = backend.without_padding(one.valid, one.q, one.k)
        q_1HME, k_1HME, used_1M = backend.landmarks_of(q_1HLE, k_1HLE, one.valid)
        if used_1M is None:
            used_1M = torch.ones(1, q_1HME.shape[2], dtype=torch.bool)
        of_sequences.append((q_1HME, k_1HME, used_1M))
    q_BHME, k_BHME, used_BM = (torch.cat(parts) for parts in zip(*of_sequences, strict=True))
    return q_BHME, k_BHME, used_BM


def landmark_kernels(backend: NystromAttention, inputs: LayerInputs) -> tuple[Tensor, Tensor]:
    """Compute kernel 2 in float64, `[B, H, M, M]`, and which landmarks are in use, `[B, M]`."""
    q_BHME, k_BHME, used_BM = landmarks(backend, inputs)
    return landmark_kernel(q_BHME.double(), k_BHME.double(), used_BM, used_BM), used_BM
