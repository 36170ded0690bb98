"""The contract of an attention backend.

Letters: B examples, H heads, L positions, E dims per head.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor, nn

from lra.packed.packing import Packing


@dataclass(frozen=True, kw_only=True)
class AttentionDims:
    """What the encoder tells a backend about itself.

    Attributes:
        num_heads: H.
        head_dim: E.
        max_seq_len: the longest L that `forward` will be given.
    """

    num_heads: int
    head_dim: int
    max_seq_len: int


class AttentionBackend(nn.Module):
    """One way to mix values along the sequence.

    A backend owns no projections, no dropout on the residual and no precision switches: the block does, once,
    for all. Its promises are tested for every file in `conf/attention/`: shape and dtype kept; finite and
    differentiable also for a row that is all padding; the content of a padded position never reaches a real
    token; each pass of evaluation, begun by `eval()`, the same; outputs and gradients equal to those of its slow twin;
    batch-mates do not matter, unless `batch_wide` says so.

    Attributes:
        biased: whether the queries, keys and values that it is given have their projections' biases in them.
    """

    biased = True

    def __init__(self, dims: AttentionDims):
        super().__init__()
        self.dims = dims

    @property
    def batch_wide(self) -> bool:
        """Whether `forward` takes or draws something for all examples that it gets together.

        Then it matters which examples these are, so the classifier hands them over in the protocol's groups, see
        `lra.model.groups.BatchGroups`.
        """
        return False

    def share_with(self, first: AttentionBackend) -> None:
        """Reuse the first layer's parameters where the protocol shares them between layers; by default none."""

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Mix the values.

        Args:
            q_BHLE: queries `[B, H, L, E]`, unscaled.
            k_BHLE: keys, like the queries.
            v_BHLE: values, like the queries.
            valid_BL: `[B, L]` bool, True at real tokens (it may have holes); None when every position is real.

        Returns:
            `[B, H, L, E]`; what stands at padded positions is undefined but finite.
        """
        raise AssertionError(f"{type(self).__name__} has no forward")

    def forward_packed(self, qkv_PTD: Tensor, packing: Packing) -> Tensor:
        """The same mixing for the real tokens alone; a backend that gains by it has a version of its own.

        Args:
            qkv_PTD: queries, keys and values of the packed tokens, `[3, T, H·E]`.
            packing: where the tokens stand.

        Returns:
            `[T, H·E]`.
        """
        heads = packing.unpack(qkv_PTD).unflatten(3, (self.dims.num_heads, self.dims.head_dim))
        q_BHLE, k_BHLE, v_BHLE = heads.transpose(2, 3).unbind(0)
        return packing.pack(self(q_BHLE, k_BHLE, v_BHLE, packing.valid_BL).transpose(1, 2).flatten(2))
