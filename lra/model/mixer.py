"""The contract of a sequence mixer: the layer of a block that passes information between positions.

Letters: B sequences, L positions, D model width.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import ClassVar

from torch import Tensor, nn

from lra.base.option_types import Effects
from lra.base.protocol import AttentionDtype


@dataclass(frozen=True, kw_only=True)
class MixerDims:
    """The dimensions of the encoder that a mixer is built for: D, heads and their dims, and the longest L of `forward`.

    A mixer without heads ignores theirs. `dropout` is the encoder's rate, for dropout inside the mixer, which drops
    whole channels of a sequence if it is `tied_dropout`; the block applies dropout to the mixer's output. `rotary`:
    self-attention rotates queries and keys by their positions. `attention_dtype`: what its backend computes in with
    mixed precision, float32 or the types that `autocast` gives to each operator.
    """

    width: int
    num_heads: int
    head_dim: int
    max_seq_len: int
    dropout: float
    tied_dropout: bool = False
    rotary: bool = False
    attention_dtype: AttentionDtype = "float32"


class SequenceMixer(nn.Module):
    """Base class of sequence mixers, such as self-attention, a state-space layer or a long convolution.

    A mixer owns all of its parameters. The LayerNorm before it, the dropout after it and the residual connection belong
    to the block. A mixer makes these promises, which are tested for every file in `conf/mixer/`:

    - The shape is kept.
    - Outputs and gradients are finite, also for a row that is all padding.
    - The content of a padded position never changes the output of a real token.
    - The other sequences of a batch do not change a sequence's output, unless `batch_wide` is True.
    - Outputs and gradients equal those of its slow reference implementation in `tests/reference`.

    Attributes:
        batch_wide: whether the sequences of a batch share something; `lra.attention.base.AttentionBackend` says more of
            this and of the next three.
        reads_padding: whether the content of padding matters.
        reads_padded_length: whether the number of padded positions matters.
        effective_with: options that other options may turn off.
        ignores: options of the encoder that have no effect on the mixer; typed with it, they are refused.
    """

    batch_wide = reads_padding = reads_padded_length = False
    effective_with: ClassVar[Effects] = {}
    ignores: tuple[str, ...] = ()

    def __init__(self, dims: MixerDims):
        super().__init__()
        self.dims = dims

    def forward(self, x_BLD: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Mix along each sequence.

        Args:
            x_BLD: `[B, L, D]`, normalised; padded positions may hold any finite values.
            valid_BL: `[B, L]` bool, True at real tokens (it may have holes); None when every position is real.

        Returns:
            `[B, L, D]`; values at padded positions are undefined but finite.
        """
        raise AssertionError(f"{type(self).__name__} has no forward")


MakeMixers = Callable[[MixerDims, int], Iterator[SequenceMixer]]  # the int is the number of layers


def mixer_layers(
    dims: MixerDims, count: int, *, make_mixer: Callable[[MixerDims], SequenceMixer]
) -> Iterator[SequenceMixer]:
    """Make the mixers of `count` layers lazily, one after the other."""
    for _ in range(count):
        yield make_mixer(dims)
