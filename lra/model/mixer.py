"""The contract of a sequence mixer: the layer of a block through which positions learn of each other.

Letters: B sequences, L positions, T real tokens of all sequences, D model width.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from torch import Tensor, nn
from torch.nn.functional import dropout

from lra.packed.dropout import DropoutMasks
from lra.packed.packing import Packing


@dataclass(frozen=True, kw_only=True)
class MixerDims:
    """What the encoder tells a mixer about itself.

    Attributes:
        width: D.
        num_heads: attention heads; a mixer without heads does not look at them.
        head_dim: dims per head.
        max_seq_len: the longest L that `forward` will be given.
        dropout: of the encoder, for dropout within the mixer; its output is dropped by the block.
    """

    width: int
    num_heads: int
    head_dim: int
    max_seq_len: int
    dropout: float


class SequenceMixer(nn.Module):
    """One way to mix along the sequence: self-attention, a state-space layer, a long convolution.

    A mixer owns all of its parameters. The block owns the LayerNorm before it, the dropout after it and the residual
    connection. Its promises are tested for every file in `conf/mixer/`: shape kept; finite and differentiable also for
    a row that is all padding; the content of a padded position never reaches a real token; batch-mates do not matter,
    unless `batch_wide` says so; outputs and gradients equal to those of its slow twin; its packed form says the same.

    Args:
        dims: of the encoder.
    """

    def __init__(self, dims: MixerDims):
        super().__init__()
        self.dims = dims

    @property
    def batch_wide(self) -> bool:
        """Whether `forward` takes or draws something for all sequences that it gets together."""
        return False

    def forward(self, x_BLD: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Mix along each sequence.

        Args:
            x_BLD: `[B, L, D]`, normalised; padded positions hold anything finite.
            valid_BL: `[B, L]` bool, True at real tokens (it may have holes); None when every position is real.

        Returns:
            `[B, L, D]`; what stands at padded positions is undefined but finite.
        """
        raise AssertionError(f"{type(self).__name__} has no forward")

    def residual_packed(self, x_TD: Tensor, norm: nn.LayerNorm, packing: Packing, masks: DropoutMasks | None) -> Tensor:
        """`x + dropout(self(norm(x)))` for the real tokens alone, `[T, D]`.

        By default through padding. A mixer that gains by it has a version of its own, which may fuse the LayerNorm
        before it and the dropout and residual after it.

        Args:
            x_TD: the packed tokens.
            norm: the block's LayerNorm before the mixer.
            packing: where the tokens stand.
            masks: of the block's dropout; None drops nothing.
        """
        x_BLD = packing.unpack(norm(x_TD)[None])[0]
        mixed_TD = packing.pack(self(x_BLD, packing.valid_BL))
        return x_TD + (mixed_TD if masks is None else dropout(mixed_TD, masks.rate))


MakeMixers = Callable[[MixerDims, int], Iterator[SequenceMixer]]  # from the number of layers: each one's mixer


def mixer_layers(
    dims: MixerDims, count: int, *, make_mixer: Callable[[MixerDims], SequenceMixer]
) -> Iterator[SequenceMixer]:
    """The mixers of `count` layers, each made when it is asked for."""
    for _ in range(count):
        yield make_mixer(dims)
