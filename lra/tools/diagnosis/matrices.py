"""Attention layers of a model, what they get on a batch, and the matrices that they multiply values with.

A matrix is that of one head for one sequence, so that memory does not grow with their numbers: of exact attention, and
of any other one, column by column. Only real tokens are rows and columns. The numbers of matrices are float64, computed
from the layer's own queries and keys.

Letters: B sequences, H heads, R rows, N real tokens, L positions, E dims per head.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor, nn

from lra.attention.base import AttentionBackend, real_positions
from lra.training.approximation import at_first_calls
from lra.types import Batch, UserError

MOST_ROWS = 512  # of a matrix; of longer sequences a sample of the rows is compared
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

    def of(self, sequences: Sequence[int]) -> "LayerInputs":
        """Return what the layer got for some of the sequences, as views where they are neighbours."""
        first, last = sequences[0], sequences[-1]
        assert list(sequences) == list(range(first, last + 1)), sequences
        q, k, v, valid = (x[first : last + 1] for x in (self.q, self.k, self.v, self.valid))
        return LayerInputs(backend=self.backend, q=q, k=k, v=v, valid=valid)


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
    """Compute a batch, and note what each attention layer gets for its first sequences.

    Raises:
        UserError: when a layer gets numbers that are not finite, as from a checkpoint whose weights are not.
    """

    def note(backend: AttentionBackend, q: Tensor, k: Tensor, v: Tensor, valid: Tensor | None) -> LayerInputs:
        """Keep what a layer gets for the first sequences with a real token.

        Raises:
            UserError: when it is not finite.
        """
        valid_BL = real_positions(valid, q)
        some = valid_BL.any(1).nonzero().flatten()[:sequences]
        read = valid_BL[some, None, :, None] | backend.reads_padding
        q, k, v = (x[some].float() * read for x in (q, k, v))
        if not all(x.isfinite().all() for x in (q, k, v)):
            line = "the model computes numbers that are not finite, so nothing can be compared; diagnose another run"
            raise UserError(line, kind="not_finite")
        return LayerInputs(backend=backend, q=q, k=k, v=v, valid=valid_BL[some])

    return at_first_calls(model, backends, batch, note)


@dataclass(frozen=True, kw_only=True, eq=False)
class ExactMatrix:
    """The exact attention matrix of one head for one sequence: softmax(q kᵀ / √E), `[R, N]`.

    `sequence` and `head` are numbers, from 0 on. `rows` are the positions of the compared rows, `[R]`, in order,
    `columns` those of the real tokens, `[N]`; `q`, `k` and `values` are of the real tokens, `[N, E]`.
    """

    sequence: int
    head: int
    rows: Tensor
    columns: Tensor
    q: Tensor
    k: Tensor
    values: Tensor
    matrix: Tensor

    def at(self, positions: Tensor) -> Tensor:
        """Compute the rows of some tokens, `[M, N]`; `positions` are numbers below N."""
        return softmax_rows(self.q[positions], self.k)


def compared_tokens(inputs: LayerInputs) -> list[tuple[Tensor, Tensor]]:
    """Choose what is compared of each sequence: the positions of its rows, `[R]`, and of its real tokens, `[N]`."""
    generator = torch.Generator().manual_seed(SEED)
    tokens = []
    for valid in inputs.valid:
        columns = valid.nonzero().flatten()
        chosen = torch.randperm(len(columns), generator=generator)[:MOST_ROWS].sort().values
        tokens.append((columns[chosen], columns))
    return tokens


def exact_matrices(inputs: LayerInputs) -> Iterator[ExactMatrix]:
    """Compute the exact matrices of a layer: of each sequence those of all heads, one at a time."""
    for sequence, (rows, columns) in enumerate(compared_tokens(inputs)):
        for head in range(inputs.q.shape[1]):
            q_NE, k_NE, v_NE = (x[sequence, head, columns].double() for x in (inputs.q, inputs.k, inputs.v))
            yield ExactMatrix(
                sequence=sequence,
                head=head,
                rows=rows,
                columns=columns,
                q=q_NE,
                k=k_NE,
                values=v_NE,
                matrix=softmax_rows(inputs.q[sequence, head, rows].double(), k_NE),
            )


def softmax_rows(q_RE: Tensor, k_NE: Tensor) -> Tensor:
    """Compute softmax(q kᵀ / √E), `[R, N]` (Vaswani et al. 2017, equation 1)."""
    matrix_RN: Tensor = (q_RE @ k_NE.mT * q_RE.shape[-1] ** -0.5).softmax(-1)
    return matrix_RN


class AttentionMatrices(Protocol):
    """The matrices that an attention of a layer multiplies values with."""

    def of(self, exact: ExactMatrix) -> Tensor:
        """Compute the matrix in the rows and columns of an exact one, `[R, N]`."""


class ColumnMatrices:
    """The matrices of any attention, from its `forward`.

    Each column is what the attention makes of a unit vector as values; `check_matrix` tells if that is its matrix.
    Those of a sequence's heads are computed together, and kept in float32 until another sequence's are asked for; of
    an attention whose examples share constants, those of all sequences.
    """

    def __init__(self, backend: AttentionBackend, inputs: LayerInputs):
        self.backend, self.inputs, self.tokens = backend, inputs, compared_tokens(inputs)
        self._of_sequences: dict[int, Tensor] = {}

    def of(self, exact: ExactMatrix) -> Tensor:
        """Compute the matrix in the rows and columns of an exact one, `[R, N]`."""
        if exact.sequence not in self._of_sequences:
            together = range(len(self.tokens)) if self.backend.batch_wide else [exact.sequence]
            self._of_sequences.clear()  # before the next ones are computed
            self._of_sequences = self._computed(together)
        return self._of_sequences[exact.sequence][exact.head].double()

    def _computed(self, sequences: Sequence[int]) -> dict[int, Tensor]:
        """Compute the matrices of some sequences, `[H, R, N]` by their numbers."""
        inputs = self.inputs.of(sequences)
        heads, length, width = inputs.q.shape[1:]
        matrices = {number: torch.empty(heads, len(self.tokens[number][0]), length) for number in sequences}
        for positions in torch.arange(length).split(width):
            unit_LE = torch.zeros(length, width)
            unit_LE[positions, positions - positions[0]] = 1.0
            mixed_BHLE = inputs.attend(self.backend, unit_LE.expand(*inputs.q.shape[:2], -1, -1))
            for number, mixed_HLE in zip(sequences, mixed_BHLE, strict=True):
                rows, _ = self.tokens[number]
                matrices[number][..., positions] = mixed_HLE[:, rows, : len(positions)]
        return {number: matrix[..., self.tokens[number][1]] for number, matrix in matrices.items()}


def check_matrix(matrix_RN: Tensor, exact: ExactMatrix, mixed_BHLE: Tensor, backend: AttentionBackend) -> None:
    """Check that a matrix of an attention times the values is what its `forward` makes of them, `mixed_BHLE`.

    Raises:
        UserError: if it is not, because the attention mixes parts of values, or its weights depend on them.
    """
    out_RE = mixed_BHLE[exact.sequence, exact.head, exact.rows].double()
    if torch.dist(matrix_RN @ exact.values, out_RE) > MOST_MISSED * max(out_RE.norm(), exact.values.norm()):
        raise UserError(
            f"{type(backend).__name__} has no attention matrix to compare: its output is no matrix times the"
            " values; choose an attention= that mixes whole values, with weights that do not depend on them",
            kind="no_matrix",
        )
