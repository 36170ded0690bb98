"""Attention layers of a model, what they get on a batch, and the matrices that they multiply values with.

The matrices of exact attention and of any other one, column by column. Only real tokens are rows and columns. The
numbers of matrices are float64, computed from the layer's own queries and keys.

Letters: B or S sequences, H heads, R rows, N real tokens, L positions, E dims per head.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from lra.attention.base import AttentionBackend, real_positions
from lra.attention.nystrom import NystromAttention
from lra.diagnosis.approximation import at_first_calls
from lra.types import Batch, UserError

MOST_ROWS = 512  # of a matrix; of longer sequences a sample of the rows is compared
COLUMNS_TOGETHER = 512  # columns that Nyström attention, which takes values of any width, computes at once
SEED = 0  # of the sample of rows
MOST_MISSED = 0.01  # of the output that its matrix times the values may differ by


@dataclass(frozen=True, kw_only=True, eq=False)
class LayerInputs:
    """What an attention layer got for some sequences.

    `q`, `k` and `v` are `[B, H, L, E]`, unscaled, zeros at padding unless the attention reads it; `valid`, `[B, L]`, is
    True at real tokens.
    """

    backend: AttentionBackend
    q: Tensor
    k: Tensor
    v: Tensor
    valid: Tensor

    def attend(self, backend: AttentionBackend, v_BHLE: Tensor) -> Tensor:
        """Let an attention mix values with this layer's queries and keys; it draws what an evaluation pass draws."""
        mixed_BHLE: Tensor = backend.eval()(self.q, self.k, v_BHLE, self.valid)
        return mixed_BHLE


def attentions(model: nn.Module, method: str) -> list[AttentionBackend]:
    """List the attention backends of a model, in the order of its layers; tied layers have one.

    Raises:
        UserError: when the model has none; with the name `method`.
    """
    backends = [module for module in model.modules() if isinstance(module, AttentionBackend)]
    if not backends:
        line = (
            f"{method} is no attention, so nothing can be compared with softmax attention; choose a run of"
            " another method, or type for example attention=nystrom"
        )
        raise UserError(line, kind="no_attention", value=method)
    return backends


def layer_inputs(model: nn.Module, backends: list[AttentionBackend], batch: Batch, sequences: int) -> list[LayerInputs]:
    """Compute a batch, and note what each attention layer gets for its first sequences."""

    def note(backend: AttentionBackend, q: Tensor, k: Tensor, v: Tensor, valid: Tensor | None) -> LayerInputs:
        valid_BL = real_positions(valid, q)
        some = valid_BL.any(1).nonzero().flatten()[:sequences]
        read = valid_BL[some, None, :, None] | backend.reads_padding
        q, k, v = (x[some].float() * read for x in (q, k, v))
        return LayerInputs(backend=backend, q=q, k=k, v=v, valid=valid_BL[some])

    return at_first_calls(model, backends, batch, note)


@dataclass(frozen=True, kw_only=True, eq=False)
class ExactMatrix:
    """The exact attention matrices of the heads of one sequence: softmax(q kᵀ / √E), `[H, R, N]`.

    `rows` are the positions of the compared rows, `[R]`, in order, `columns` those of the real tokens, `[N]`; `q`, `k`
    and `values` are of the real tokens, `[H, N, E]`.
    """

    rows: Tensor
    columns: Tensor
    q: Tensor
    k: Tensor
    values: Tensor
    matrix: Tensor

    def at(self, places: Tensor) -> Tensor:
        """Compute the rows of some tokens, `[H, M, N]`; `places` are numbers below N."""
        return softmax_rows(self.q[:, places], self.k)


def exact_matrices(inputs: LayerInputs) -> list[ExactMatrix]:
    """Compute the exact matrices of a layer, one sequence at a time."""
    generator = torch.Generator().manual_seed(SEED)
    matrices = []
    for q, k, v, valid in zip(inputs.q, inputs.k, inputs.v, inputs.valid, strict=True):
        columns = valid.nonzero().flatten()
        q_HNE, k_HNE, v_HNE = (x[:, columns].double() for x in (q, k, v))
        chosen = torch.randperm(len(columns), generator=generator)[:MOST_ROWS].sort().values
        matrix = softmax_rows(q_HNE[:, chosen], k_HNE)
        matrices.append(
            ExactMatrix(rows=columns[chosen], columns=columns, q=q_HNE, k=k_HNE, values=v_HNE, matrix=matrix)
        )
    return matrices


def softmax_rows(q_HRE: Tensor, k_HNE: Tensor) -> Tensor:
    """Compute softmax(q kᵀ / √E), `[H, R, N]` (Vaswani et al. 2017, equation 1)."""
    matrix_HRN: Tensor = (q_HRE @ k_HNE.mT * q_HRE.shape[-1] ** -0.5).softmax(-1)
    return matrix_HRN


def attention_matrices(backend: AttentionBackend, inputs: LayerInputs, exact: list[ExactMatrix]) -> list[Tensor]:
    """Compute the matrices of an attention in the rows and columns of the exact ones, `[H, R, N]` for each sequence.

    Each column is what the attention makes of a unit vector as values; `check_matrices` tells if that is its matrix.
    """
    length = inputs.q.shape[2]
    width = COLUMNS_TOGETHER if isinstance(backend, NystromAttention) else inputs.q.shape[3]
    parts: list[list[Tensor]] = [[] for _ in exact]
    for places in torch.arange(length).split(width):
        unit_LE = torch.zeros(length, width)
        unit_LE[places, places - places[0]] = 1.0
        mixed_BHLE = inputs.attend(backend, unit_LE.expand(*inputs.q.shape[:2], -1, -1))
        for part, mixed_HLE, of_one in zip(parts, mixed_BHLE, exact, strict=True):
            part.append(mixed_HLE[:, of_one.rows].double())
    return [torch.cat(part, -1)[..., of_one.columns] for part, of_one in zip(parts, exact, strict=True)]


def check_matrices(
    matrices: list[Tensor], backend: AttentionBackend, inputs: LayerInputs, exact: list[ExactMatrix]
) -> None:
    """Check that an attention's matrices, as `attention_matrices` computes them, times the values are its output.

    Raises:
        UserError: if they are not, because the attention mixes parts of values, or its weights depend on them.
    """
    for matrix, mixed_HLE, of_one in zip(matrices, inputs.attend(backend, inputs.v), exact, strict=True):
        out = mixed_HLE[:, of_one.rows].double()
        if torch.dist(matrix @ of_one.values, out) > MOST_MISSED * max(out.norm(), of_one.values.norm()):
            raise UserError(
                f"{type(backend).__name__} has no attention matrix to compare: its output is no matrix times the"
                " values; choose an attention= that mixes whole values, with weights that do not depend on them"
            )
