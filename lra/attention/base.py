"""The contract of an attention backend, and the options of one without Hydra.

Letters: B examples, H heads, L positions, E dims per head.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import torch
from torch import Tensor, nn

from lra.base.option_types import Effects
from lra.base.paths import DESCRIPTION, NO_OPTION_KEYS, read_choice

OF_PROTOCOL = "${protocol."


@dataclass(frozen=True, kw_only=True)
class AttentionDims:
    """The dimensions of the encoder that a backend is built for: H heads of E dims, and the longest L of `forward`."""

    num_heads: int
    head_dim: int
    max_seq_len: int


class AttentionBackend(nn.Module):
    """Base class of attention backends, which mix values along the sequence.

    Projections, dropout on the residual and precision are the same for all backends, so they belong to the mixer and
    the block. A backend makes these promises, which are tested for every file in `conf/attention/`:

    - Shape and dtype are kept.
    - Outputs and gradients are finite, also for a row that is all padding.
    - The content of a padded position never changes the output of a real token.
    - Every evaluation pass, which begins with `eval()`, gives the same outputs.
    - Outputs and gradients equal those of its slow reference implementation in `tests/reference`.
    - The other examples of a batch do not change an example's output, unless `batch_wide` is True.

    Attributes:
        batch_wide: whether `forward` uses a constant or a random draw that all examples of its input share. The output
            of an example then depends on the others, so the classifier passes the protocol's groups of examples one by
            one, see `lra.model.classifier.BatchGroups`.
        reads_padding: whether padded positions change the output of real tokens; they are then always computed. No
            setting of the benchmark is so.
        reads_padded_length: whether the number of padded positions at the end of a row changes it.
        biased: whether the projections that make queries, keys and values add their biases.
        quadratic: whether an L × L tensor is computed.
        has_matrix: whether the output is a matrix times the values; `lra diagnose` compares matrices.
        uses_queries: whether queries and keys have an effect; if not, `model.positions=rotary`, which rotates them,
            gives the model no positions, and a line says so.
        effective_with: the options that others may turn off, see `lra.base.option_types.Effects`; typed without effect,
            they are refused.
        shown: attributes that are shown when a model is printed.
    """

    batch_wide = reads_padding = reads_padded_length = False
    biased, quadratic, has_matrix, uses_queries = True, False, True, True
    effective_with: ClassVar[Effects] = {}
    shown: tuple[str, ...] = ()

    def __init__(self, dims: AttentionDims):
        super().__init__()
        self.dims = dims

    def share_with(self, first: AttentionBackend) -> None:
        """Use the parameters of the first layer's backend that all layers share; by default there are none."""

    def extra_repr(self) -> str:
        """Show some attributes, such as options, when a model is printed."""
        return ", ".join(f"{name}={getattr(self, name)}" for name in self.shown)

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Mix the values.

        Args:
            q_BHLE, k_BHLE, v_BHLE: queries, unscaled, keys and values `[B, H, L, E]`.
            valid_BL: `[B, L]` bool, True at real tokens (it may have holes); None when every position is real.

        Returns:
            `[B, H, L, E]`; values at padded positions are undefined but finite.
        """
        raise AssertionError(f"{type(self).__name__} has no forward")


def real_positions(valid_BL: Tensor | None, q_BHLE: Tensor) -> Tensor:
    """Return the mask of real tokens `[B, L]`, also where it is None because every position is real."""
    if valid_BL is None:
        return q_BHLE.new_ones(q_BHLE.shape[0], q_BHLE.shape[2], dtype=torch.bool)
    return valid_BL


def without_padding(valid_BL: Tensor | None, *tensors: Tensor) -> list[Tensor]:
    """Set the vectors `[B, H, L, E]` of padded positions to 0."""
    if valid_BL is None:
        return list(tensors)
    return [x_BHLE * valid_BL[:, None, :, None] for x_BHLE in tensors]


def options_of(attention: str, *, protocol: str) -> dict[str, Any]:
    """Read the arguments of the class of one of lra's attentions, with the values of `conf/`."""
    options, switches = read_choice("attention", attention), read_choice("protocol", protocol)
    return {
        key: switches[value.removeprefix(OF_PROTOCOL).rstrip("}")] if str(value).startswith(OF_PROTOCOL) else value
        for key, value in options.items()
        if key not in (*NO_OPTION_KEYS, *DESCRIPTION["attention"])
    }
