"""The encoder for any sequence of real-valued vectors, such as a time series: one vector for each sequence.

Letters: B sequences, L positions, I numbers at a position, D model width.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import torch
from torch import Tensor, nn

from lra.attention.base import options_of
from lra.attention.nystrom import NystromAttention
from lra.base.option_types import Count, Fraction, checked
from lra.model.block import PRE_NORM, EncoderBlock
from lra.model.classifier import count_parameters, works_packed
from lra.model.mixer import MakeMixers, MixerDims
from lra.model.pooling import LastVector, MaskedMean
from lra.model.self_attention import attention_layers
from lra.ops.packing import Packing
from lra.ops.transforms import runs_plainly
from lra.packed.encoder_forms import dropout_masks, encode, transform_and_pool
from lra.types import UserError

VECTOR_OF: dict[str, Callable[[], LastVector | MaskedMean]] = {
    "last": LastVector,
    "mean": partial(MaskedMean, "valid_mean"),
}


class VectorPositionEmbedding(nn.Module):
    """A linear layer plus a learned position embedding, then dropout.

    The table of positions is initialised from N(0, .02²), as that of the benchmark's encoder.
    """

    def __init__(self, *, embed_dim: int, window_size: int, width: int, dropout: float):
        super().__init__()
        self.project = nn.Linear(embed_dim, width)
        self.position = nn.Parameter(torch.empty(window_size, width))
        self.dropout = nn.Dropout(dropout)
        nn.init.normal_(self.position, std=0.02)

    def forward(self, x_BLI: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Embed `[B, L, I]` to `[B, L, D]`; padded positions count as zeros, because NaN times zero is NaN."""
        if valid_BL is not None:
            x_BLI = x_BLI.masked_fill(~valid_BL[..., None], 0)
        x_BLD: Tensor = self.dropout(self.project(x_BLI) + self.position[: x_BLI.shape[1]])
        return x_BLD


def checked_vectors(x_BLI: Tensor, embedding: VectorPositionEmbedding) -> Tensor:
    """Return the input, if the embedding can take it.

    Raises:
        UserError: for what is no tensor, another shape, a sequence longer than the window, or another dtype, and for
            weights that are shorter than float32, in which attention would not be accurate.
    """
    _check_tensor("the input", x_BLI)
    embed_dim, window_size = embedding.project.in_features, len(embedding.position)
    shape, weights = list(x_BLI.shape), embedding.project.weight.dtype
    if torch.finfo(weights).bits < 32:
        raise UserError(
            f"the weights are {_name(weights)}, but attention needs at least float32; type encoder.float(), and call it"
            f' under torch.autocast("{x_BLI.device.type}", dtype={weights})'
        )
    if len(shape) != 3 or shape[2] != embed_dim:
        line = f"an input of shape {shape} is not [batch, seq_len, {embed_dim}], as embed_dim={embed_dim} says"
        raise UserError(line)
    if shape[1] > window_size:
        raise UserError(
            f"{shape[1]} positions do not fit into window_size={window_size}; build with window_size={shape[1]},"
            f" or give the last ones: x[:, -{window_size}:]"
        )
    if shape[1] == 0:
        raise UserError(f"an input of shape {shape} has no position; a sequence without any needs padding and a mask")
    if x_BLI.dtype != weights and not torch.is_autocast_enabled(x_BLI.device.type):
        line = f"the input is {_name(x_BLI.dtype)}, but the weights are {_name(weights)}; type x.to({weights})"
        raise UserError(line)
    return x_BLI


def checked_mask(x_BLI: Tensor, mask: Tensor | None, lengths: Tensor | None) -> Tensor | None:
    """Return the mask of real positions, `[B, L]` bool, which may be given as lengths; None: every position is real.

    Raises:
        UserError: for a mask or lengths that are no tensor or of another shape or dtype, for both, and for lengths
            outside [0, L].
    """
    batch, length, _ = x_BLI.shape
    if mask is not None and lengths is not None:
        raise UserError("mask and lengths both say which positions are real; give one of them")
    if mask is not None:
        _check_tensor("the mask", mask)
        if mask.dtype != torch.bool:
            raise UserError(f"the mask is {_name(mask.dtype)}, not bool, True at real positions; type mask.bool()")
        if mask.shape != (batch, length):
            raise UserError(f"a mask of shape {list(mask.shape)} does not fit the input; it is {[batch, length]}")
        return mask
    if lengths is None:
        return None
    _check_tensor("the lengths", lengths)
    if lengths.is_floating_point() or lengths.dtype == torch.bool:
        raise UserError(f"the lengths are {_name(lengths.dtype)}, not whole numbers; type lengths.long()")
    if lengths.shape != (batch,):
        raise UserError(f"lengths of shape {list(lengths.shape)} do not fit the input; the shape is {[batch]}")
    if runs_plainly() and batch:  # else nothing may depend on values
        shortest, longest = int(lengths.min()), int(lengths.max())
        if shortest < 0 or longest > length:
            raise UserError(f"lengths from {shortest} to {longest} are not all in the input's range, 0 to {length}")
    return torch.arange(length, device=x_BLI.device) < lengths.to(x_BLI.device)[:, None]


def _check_tensor(what: str, given: object) -> None:
    if not isinstance(given, Tensor):
        raise UserError(f"{what} must be a tensor, not {type(given).__name__}; type for example torch.as_tensor(…)")


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def nystrom_layers(**options: object) -> MakeMixers:
    """Return what makes layers of Nyström attention with the options of `protocol=clean`, but for those given."""
    make = partial(NystromAttention, **{**options_of("nystrom", protocol="clean"), **options})
    return partial(attention_layers, make_backend=make)


class SequenceEncoder(nn.Module):
    """A linear layer, learned positions, the benchmark's encoder blocks, a last LayerNorm, and one vector per sequence.

    What is at a padded position never matters, not even NaN. Neither do the other sequences of a batch. A sequence
    without any real position gives zeros. `build` has default values.

    Args:
        make_mixers: makes the mixers of the layers, as `lra.build_mixers` returns it.
        embed_dim: I, the numbers at a position.
        hidden_size: D, divisible by `num_heads`; the feed-forward networks have twice this width, as in the benchmark.
        dropout: dropout rate after the embedding, mixer, GELU and feed-forward network, in [0, 1).
        window_size: the longest L.
        pooling: `last`: the vector at the last real position; `mean`: the mean of those at real positions.

    Raises:
        UserError: for a setting outside its range, and a mixer whose output depends on the other sequences of a batch
            or on padding.
    """

    @checked
    def __init__(
        self,
        make_mixers: MakeMixers,
        *,
        embed_dim: Count,
        hidden_size: Count,
        num_layers: Count,
        num_heads: Count,
        dropout: Fraction,
        window_size: Count,
        pooling: Literal["last", "mean"],
    ):
        super().__init__()
        if hidden_size % num_heads:
            raise UserError(
                f"hidden_size={hidden_size} is not divisible by num_heads={num_heads};"
                f" type hidden_size={-(-hidden_size // num_heads) * num_heads}"
            )
        if not callable(make_mixers):
            raise UserError(
                f"make_mixers is of type {type(make_mixers).__name__}, which makes no mixers; type for example"
                ' lra.build_mixers(lra.compose("attention=performer", "protocol=clean"))'
            )
        self.embedding = VectorPositionEmbedding(
            embed_dim=embed_dim, window_size=window_size, width=hidden_size, dropout=dropout
        )
        dims = MixerDims(
            width=hidden_size,
            num_heads=num_heads,
            head_dim=hidden_size // num_heads,
            max_seq_len=window_size,
            dropout=dropout,
        )
        mixers = list(make_mixers(dims, num_layers))
        if any(mixer.batch_wide or mixer.reads_padding or mixer.reads_padded_length for mixer in mixers):
            raise UserError(
                "with these mixers a sequence's vector would depend on the others of its batch, or on padding; choose"
                ' settings without that, for example: lra.compose("attention=performer", "protocol=clean")'
            )
        self.blocks = nn.ModuleList(
            EncoderBlock(mixer, feed_forward=2 * hidden_size, form=PRE_NORM) for mixer in mixers
        )
        self.norm = nn.LayerNorm(hidden_size)
        self.pooling = VECTOR_OF[pooling]()
        self.dropout = dropout

    @classmethod
    def build(
        cls,
        *,
        embed_dim: int,
        hidden_size: int = 256,
        num_landmarks: int = 32,
        num_layers: int = 4,
        num_heads: int = 4,
        dropout: float = 0.1,
        window_size: int = 60,
        landmark_source: str = "both",
        pooling: Literal["last", "mean"] = "last",
        make_mixers: MakeMixers | None = None,
    ) -> SequenceEncoder:
        """Build an encoder with Nyström attention, or with `make_mixers`; other arguments are those of the class.

        Args:
            num_landmarks: landmarks of Nyström attention, at least 1.
            landmark_source: `both`: Nyström's landmark queries come from queries and its landmark keys from keys;
                `keys`: both from keys.
            make_mixers: what `lra.build_mixers` returns for any other attention or mixer. The two settings of
                Nyström's landmarks then have no effect and must keep their default values.

        Raises:
            UserError: as the class does, and for settings of landmarks beside `make_mixers`.

        Examples:
            >>> import lra, torch
            >>> encoder = lra.SequenceEncoder.build(embed_dim=6)
            >>> encoder(torch.zeros(2, 60, 6), lengths=torch.tensor([60, 17])).shape
            torch.Size([2, 256])
            >>> cfg = lra.compose("attention=performer", "attention.features=128", "protocol=clean")
            >>> encoder = lra.SequenceEncoder.build(embed_dim=6, make_mixers=lra.build_mixers(cfg))
        """
        landmarks = {"num_landmarks": num_landmarks, "landmark_source": landmark_source}
        defaults = cls.recommended_defaults()
        for name, value in landmarks.items():
            if make_mixers is not None and value != defaults[name]:
                raise UserError(
                    f"{name}={value} has no effect beside make_mixers; the mixers have their own options:"
                    f' lra.compose("attention.{name}={value}", "protocol=clean")'
                )
        return cls(
            make_mixers or nystrom_layers(num_landmarks=num_landmarks, landmark_source=landmark_source),
            embed_dim=embed_dim,
            hidden_size=hidden_size,
            num_layers=num_layers,
            num_heads=num_heads,
            dropout=dropout,
            window_size=window_size,
            pooling=pooling,
        )

    @classmethod
    def recommended_defaults(cls) -> dict[str, Any]:
        """Return the default values of `build`, by name; `embed_dim` has none, `make_mixers` is left out."""
        arguments = inspect.signature(cls.build).parameters.values()
        return {one.name: one.default for one in arguments if one.default not in (one.empty, None)}

    def output_size(self) -> int:
        """Return D, the size of a sequence's vector."""
        return self.norm.normalized_shape[0]

    def param_count(self) -> int:
        """Count the trainable parameters."""
        return count_parameters(self)

    def forward(
        self, x_BLI: Tensor, mask: Tensor | None = None, *, lengths: Tensor | None = None, packed: bool | None = None
    ) -> Tensor:
        """Encode each sequence to one vector.

        Args:
            x_BLI: `[B, L, I]`, L at most `window_size`, in the dtype of the weights, float32 or float64. Padding may
                hold anything.
            mask: `[B, L]` bool, True at real positions; padding may be at both ends and in between. A position keeps
                its place: padding before it counts. None: every position is real, unless there are `lengths`.
            lengths: `[B]`, integers in [0, L]: instead of a mask, the number of real positions, which come first.
            packed: whether real positions are computed in packed form, without padding: the same vectors up to
                rounding. None: where this works and is faster, see `works_packed`.

        Returns:
            `[B, D]`.

        Raises:
            UserError: for inputs of another shape or dtype, when `packed` is True but the packed form does not work
                here, and for what a method does not know of `torch.func` and `torch.export`.
        """
        x_BLI = checked_vectors(x_BLI, self.embedding)
        valid_BL = checked_mask(x_BLI, mask, lengths)
        works = works_packed(x_BLI.device)
        if packed and not works:
            raise UserError("packed=True works on a CPU without autocast, torch.compile or .func; leave packed out")
        if x_BLI.shape[0] == 0:
            return x_BLI.new_zeros(0, self.output_size())
        if packed is None:
            packed = works
        if packed:
            return encode(self, x_BLI, valid_BL, self.pooling)
        x_BLD = self.embedding(x_BLI, valid_BL)
        for block in self.blocks:
            x_BLD = block(x_BLD, valid_BL)
        vector_BD: Tensor = self.pooling(self.norm(x_BLD), valid_BL)
        return vector_BD


@encode.register
def encode_vectors(encoder: SequenceEncoder, x_BLI: Tensor, valid_BL: Tensor | None, pooling: nn.Module) -> Tensor:
    """Encode vectors in the packed form."""
    embedding = encoder.embedding
    packing = Packing(valid_BL, batch=len(x_BLI), length=x_BLI.shape[1])
    masks = dropout_masks(encoder.dropout, training=encoder.training)
    x_TD = embedding.project(packing.pack(x_BLI)) + embedding.position.index_select(0, packing.position_T)
    x_TD = embedding.dropout(x_TD)
    return transform_and_pool(x_TD, packing, masks, blocks=encoder.blocks, norm=encoder.norm, pooling=pooling)
