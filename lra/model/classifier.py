"""The shared encoder with a classifier on top: the whole model except the blocks and their sequence mixers.

Letters: B examples (in the embedding: sequences), N sequences per example, L positions, D model width, C classes.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from types import EllipsisType
from typing import ClassVar, Literal

import torch
from torch import Tensor, nn

from lra.base.option_types import (
    AtLeastTwo,
    Count,
    Depth,
    Effects,
    Fraction,
    Positive,
    PositiveFraction,
    Width,
    WidthOrZero,
    checked,
)
from lra.base.packed_form import encode_packed
from lra.base.protocol import AttentionDtype, Head, Inputs, Norm, Pooling, Positions, Sides
from lra.model.block import PRE_NORM, EncoderBlock, EncoderForm
from lra.model.layers import normalise
from lra.model.mixer import MakeMixers, MixerDims
from lra.model.pooling import FirstVector, MarkedPositions, MaskedMean, make_pooling
from lra.model.self_attention import SelfAttention
from lra.ops.transforms import runs_plainly
from lra.types import Batch, TaskSpec, UserError, inputs_and_mask

POSITION_STD = 0.02  # of the tables of positions and token types at the start
PACKED = {"auto": None, "true": True, "false": False}


class TokenPositionEmbedding(nn.Module):
    """Token embedding plus a learned position embedding, then dropout; `form` may add token types and a norm.

    The tables are initialised from N(0, .02²), or that of tokens as `form` says. Token 0 (padding) has a row like any
    other token; the mask decides where padding is ignored. Instead of a token, a position may hold a real value, which
    a linear layer embeds; `form` may leave the positions out.
    """

    def __init__(self, dims: MixerDims, *, vocab_size: int, form: EncoderForm):
        super().__init__()
        width, rows = dims.width, form.first_position + dims.max_seq_len
        self.first = form.first_position
        self.token = nn.Linear(1, width) if form.inputs == "values" else nn.Embedding(vocab_size, width)
        self.position = nn.Parameter(torch.empty(rows, width)) if form.positions == "learned" else None
        self.token_type = nn.Embedding(form.token_types, width) if form.token_types else None
        self.norm = form.make_norm(width) if form.embedding_norm else None
        self.dropout = nn.Dropout(dims.dropout if form.embedding_dropout else 0.0)
        if isinstance(self.token, nn.Embedding):
            nn.init.normal_(self.token.weight, std=form.token_std)
        types = None if self.token_type is None else self.token_type.weight
        for table in (self.position, types):
            if table is not None:
                nn.init.normal_(table, std=POSITION_STD)

    def forward(self, tokens_BL: Tensor, valid_BL: Tensor | None = None, types_BL: Tensor | None = None) -> Tensor:
        """Embed ids or values `[B, L]`, L at most `max_seq_len`, to `[B, L, D]`; values of channels are `[B, L, C]`.

        `valid_BL` is for a batch norm; without `types_BL` every type is 0.
        """
        values = isinstance(self.token, nn.Linear) and tokens_BL.dim() == 2
        x_BLD: Tensor = self.token(tokens_BL[..., None] if values else tokens_BL)
        if self.token_type is not None:
            x_BLD = x_BLD + self.token_type(torch.zeros_like(tokens_BL) if types_BL is None else types_BL)
        if self.position is not None:
            end = self.first + tokens_BL.shape[1]
            assert end <= len(self.position), f"length {tokens_BL.shape[1]} > {len(self.position) - self.first}"
            x_BLD = x_BLD + self.position[self.first : end]
        if self.norm is not None:
            x_BLD = normalise(self.norm, x_BLD, valid_BL)
        dropped_BLD: Tensor = self.dropout(x_BLD)
        return dropped_BLD


@dataclass(frozen=True, kw_only=True)
class BatchGroups:
    """Splits a batch into groups that are encoded one after the other, each with its own batch-wide constants.

    Several devices, or gradient accumulation, split a batch before, and each part is split into groups. If each of
    these equal parts is one group or several whole groups, the groups are those of the undivided batch.

    Attributes:
        sides: `separate`: the first sequences of all pairs are one group and the second ones another, as in the
            released code of Xiong et al. (2021). `together`: both are in the same group.
        examples: largest number of examples in a group, 128 in the released code; None: no limit.
    """

    sides: Sides
    examples: int | None

    def encode(
        self, encode_group: Callable[[Tensor, Tensor | None], Tensor], tokens_BNL: Tensor, valid_BNL: Tensor | None
    ) -> Tensor:
        """Encode `[B, N, L]` to `[B, N, D]`, with one call of `encode_group` for each group."""
        batch, sequences = tokens_BNL.shape[:2]
        examples, side = self.examples or batch, 1 if self.sides == "separate" else sequences
        parts = []
        for first in range(0, batch, examples):
            part_sides = []
            for begin in range(0, sequences, side):
                group = (slice(first, first + examples), slice(begin, begin + side))
                valid = None if valid_BNL is None else valid_BNL[group]
                part_sides.append(encode_group(tokens_BNL[group], valid))
            parts.append(torch.cat(part_sides, dim=1))
        return torch.cat(parts)


class ClassifierHead(nn.Sequential):
    """Linear, ReLU, Linear on the vector of one sequence or on the features of a pair.

    The features of a pair are `[a, b, a·b, a − b]`, as in the released code's head for Retrieval. The `linear` head is
    that of S4's code: one linear layer for one sequence; for a pair, whose features it has in another order, GELU.
    """

    def __init__(self, *, num_sequences: int, width: int, hidden: int, num_classes: int, kind: Head):
        assert num_sequences in (1, 2), num_sequences
        features = width if num_sequences == 1 else 4 * width
        if kind == "linear" and num_sequences == 1:
            super().__init__(nn.Linear(features, num_classes))
            return
        activation = nn.ReLU() if kind == "hidden" else nn.GELU()
        super().__init__(nn.Linear(features, hidden), activation, nn.Linear(hidden, num_classes))

    def forward(self, pooled_BND: Tensor) -> Tensor:
        """Compute logits `[B, C]` from `[B, N, D]`."""
        features = pooled_BND[:, 0]
        if pooled_BND.shape[1] == 2:
            a, b = pooled_BND.unbind(1)
            features = torch.cat([a, b, a * b, a - b], dim=-1)
        logits_BC: Tensor = super().forward(features)
        return logits_BC


class Encoder(nn.Module):
    """Embedding, blocks and a last norm, which blocks with a norm at their end do not need.

    Raises:
        UserError: for options of self-attention with another mixer.
    """

    def __init__(
        self,
        make_mixers: MakeMixers,
        dims: MixerDims,
        *,
        vocab_size: int,
        num_layers: int,
        feed_forward: int,
        tied_layers: bool,
        form: EncoderForm,
    ):
        super().__init__()
        self.embedding = TokenPositionEmbedding(dims, vocab_size=vocab_size, form=form)
        blocks = [
            EncoderBlock(mixer, feed_forward=feed_forward, form=form)
            for mixer in make_mixers(dims, 1 if tied_layers else num_layers)
        ]
        for_queries = {"positions=rotary": dims.rotary, "attention_dtype=autocast": dims.attention_dtype == "autocast"}
        for option in [option for option, chosen in for_queries.items() if chosen]:
            if not all(isinstance(block.mixer, SelfAttention) for block in blocks):
                line = f"model.{option} has no effect on a mixer without queries; leave it out"
                raise UserError(line, kind="no_effect", key=f"model.{option.partition('=')[0]}")
        self.blocks = nn.ModuleList(blocks * num_layers if tied_layers else blocks)
        self.norm = form.make_norm(dims.width) if form.norm == "pre" else nn.Identity()
        self.dropout = dims.dropout
        usual = form == PRE_NORM and not dims.tied_dropout and feed_forward > 0
        self.packable = usual and not any(block.mixer.reads_padding for block in blocks)
        self.batch_wide = any(block.mixer.batch_wide for block in blocks)

    def forward(self, tokens_BL: Tensor, valid_BL: Tensor | None, types_BL: Tensor | None = None) -> Tensor:
        """Encode token ids or values `[B, L]` to `[B, L, D]`; what is at padded positions must not be used.

        `types_BL` are the tokens' types, for a form that has some; None: 0 everywhere.
        """
        x_BLD = self.embedding(tokens_BL, valid_BL, types_BL)
        for block in self.blocks:
            x_BLD = block(x_BLD, valid_BL)
        return normalise(self.norm, x_BLD, valid_BL)

    def pool(
        self,
        tokens_BL: Tensor,
        valid_BL: Tensor | None,
        pooling: MaskedMean | FirstVector | MarkedPositions,
        *,
        packed: bool | None,
    ) -> Tensor:
        """Encode each sequence to what `pooling` makes of it, such as one vector, `[B, D]`.

        `packed`: without padding, which None does where it works.
        """
        if packed is None:
            packed = self.packable and works_packed(tokens_BL.device)
        if packed:
            return encode_packed(self, tokens_BL, valid_BL, pooling)
        vector_BD: Tensor = pooling(self(tokens_BL, valid_BL), valid_BL)
        return vector_BD


def works_packed(device: torch.device) -> bool:
    """Tell whether the packed form works and is faster: on a CPU, by itself, not in mixed precision."""
    return device.type == "cpu" and runs_plainly() and not torch.is_autocast_enabled("cpu")


class SequenceClassifier(nn.Module):
    """One encoder for all sequences of an example, pooling, and a head (Xiong et al. 2021, released code).

    Args:
        make_mixers: makes the mixers of the layers from the encoder's dimensions and the number of layers.
        feed_forward, head_hidden: hidden widths of the feed-forward networks, 0 for none, and of the classifier head.
        head: `hidden`: two linear layers with a ReLU. `linear`: one; for a pair two with a GELU, see `ClassifierHead`.
        norm: `layer`: LayerNorm. `batch`: batch norm over the real positions of a batch. `batch_padded`: over all.
        norm_place: `before` each mixer and feed-forward network, and at the end; or `after` each sum.
        inputs: `tokens`: ids of a table. `values`: real numbers, through a linear layer.
        positions: `learned`: added to the embedding. `rotary`: self-attention rotates queries and keys, before its
            backend sees them: Nyström's landmarks are means of rotated queries and keys, Linformer projects rotated
            keys along the positions, and the features of `cosformer`, `linear` and `performer` are computed of rotated
            queries and keys. So their products depend on distances alone in exact attention, and in sparse ones.
            `none`: the mixer must see the order.
        vocab_size: rows of the token embedding; None: those of the task's specification.
        token_std: standard deviation of these rows at the start.
        embedding_dropout: whether there is dropout after the embedding.
        tied_dropout: whether dropout after a mixer or a feed-forward network drops whole channels of a sequence.
        dropout: dropout rate after the embedding, mixer, GELU and feed-forward network, in [0, 1).
        tied_layers: whether one block is run `num_layers` times, which the released code offers too.
        pooling: `padded_mean` or `valid_mean`, see `MaskedMean`, or `cls`, see `FirstVector`.
        batch_constant_sides: `separate` or `together`: whether the two sequences of an example share an attention's
            batch-wide constants, see `BatchGroups`.
        batch_constant_examples: largest number of examples that share these constants; None: the whole batch.
        packed: whether real tokens are computed in packed form, without padding. `auto`: where this works and is
            faster, see `works_packed`; True: always; False: never. The logits are the same up to rounding, but dropout
            draws other masks.
        attention_dtype: what attention computes in, in mixed precision: `float32`, as the released code, or the types
            that `autocast` gives to each operator.

    Raises:
        UserError: for an argument outside its declared type.
    """

    effective_with: ClassVar[Effects] = {
        "head_hidden": {"head": Literal["hidden"], "task.spec.num_sequences": Literal[2]},
        "vocab_size": {"inputs": Literal["tokens"]},
        "token_std": {"inputs": Literal["tokens"]},
        "embedding_dropout": {"dropout": PositiveFraction},
        "tied_dropout": {"dropout": PositiveFraction},
        "tied_layers": {"num_layers": AtLeastTwo},
    }

    @checked
    def __init__(
        self,
        spec: TaskSpec,
        make_mixers: MakeMixers,
        *,
        num_layers: Depth,
        width: Width,
        num_heads: Width,
        head_dim: Width,
        feed_forward: WidthOrZero,
        head_hidden: Width,
        head: Head,
        norm: Norm,
        norm_place: Literal["before", "after"],
        inputs: Inputs,
        positions: Positions,
        vocab_size: Count | None,
        token_std: Positive,
        embedding_dropout: bool,
        tied_dropout: bool,
        dropout: Fraction,
        tied_layers: bool,
        pooling: Pooling,
        batch_constant_sides: Sides,
        batch_constant_examples: Count | None,
        attention_dtype: AttentionDtype,
        packed: Literal["auto", "true", "false"] | bool = "auto",
    ):
        super().__init__()
        if inputs == "values" and pooling == "cls":
            raise UserError(
                "protocol.pooling=cls puts a token before the sequence, but model.inputs=values has none;"
                " type protocol.pooling=valid_mean"
            )
        self.packed = PACKED[str(packed).lower()]
        rows = vocab_size or spec.vocab_size
        self.encoder = Encoder(
            make_mixers,
            MixerDims(
                width=width,
                num_heads=num_heads,
                head_dim=head_dim,
                max_seq_len=spec.seq_len,
                dropout=dropout,
                tied_dropout=tied_dropout,
                rotary=positions == "rotary",
                attention_dtype=attention_dtype,
            ),
            vocab_size=rows,
            num_layers=num_layers,
            feed_forward=feed_forward,
            tied_layers=tied_layers,
            form=replace(
                PRE_NORM,
                norm="pre" if norm_place == "before" else "post",
                norm_kind=norm,
                inputs=inputs,
                positions=positions,
                token_std=token_std,
                embedding_dropout=embedding_dropout,
            ),
        )
        self.pooling = make_pooling(pooling, vocab_size=rows)
        self.groups = BatchGroups(sides=batch_constant_sides, examples=batch_constant_examples)
        self.head = ClassifierHead(
            num_sequences=spec.num_sequences, width=width, hidden=head_hidden, num_classes=spec.num_classes, kind=head
        )

    def forward(
        self,
        tokens_BNL: Tensor | Batch,
        valid_BNL: Tensor | EllipsisType | None = ...,
        *,
        packed: bool | None = None,
    ) -> Tensor:
        """Classify a batch, `model(batch)`, or its inputs and their mask, `model(tokens, valid)`.

        Args:
            tokens_BNL: a `Batch`, whose labels are not used; or token ids, or real values, `[B, N, L]`.
            valid_BNL: `[B, N, L]` bool, True at real positions; None when every position is real. It must be given
                beside tokens, so that no mask is forgotten, and not beside a batch, which has its own.
            packed: overrides the model's setting for this call.

        Returns:
            Logits `[B, C]`.

        Raises:
            TypeError: when the mask of tokens is missing, or a batch has a second one.
            UserError: when `packed` is True but the packed form does not work here.
        """
        tokens_BNL, valid_BNL = inputs_and_mask(tokens_BNL, valid_BNL)
        packed = self.packed if packed is None else packed
        if packed and not works_packed(tokens_BNL.device):
            raise UserError("model.packed=true works on a CPU in float32, not compiled; type model.packed=auto")
        if packed and not self.encoder.packable:
            raise UserError("model.packed=true has no padding, which this attention reads; type model.packed=auto")
        pool = partial(self._pool, packed=packed)
        tokens_BNL, valid_BNL = self.pooling.add_token(tokens_BNL, valid_BNL)
        if self.encoder.batch_wide:
            pooled_BND = self.groups.encode(pool, tokens_BNL, valid_BNL)
        else:
            pooled_BND = pool(tokens_BNL, valid_BNL)
        logits_BC: Tensor = self.head(pooled_BND)
        return logits_BC

    def _pool(self, tokens_BNL: Tensor, valid_BNL: Tensor | None, *, packed: bool | None) -> Tensor:
        """Compute one vector per sequence, `[B, N, D]`."""
        tokens, valid = tokens_BNL.flatten(0, 1), None if valid_BNL is None else valid_BNL.flatten(0, 1)
        pooled_BD = self.encoder.pool(tokens, valid, self.pooling, packed=packed)
        pooled_BND: Tensor = pooled_BD.unflatten(0, tokens_BNL.shape[:2])
        return pooled_BND


def in_padded_form(model: nn.Module, tokens_BNL: Tensor, valid_BNL: Tensor | None) -> Tensor:
    """Compute logits in the padded form, so that hooks on the layers' `forward` are called.

    A model of the user's own has no other form, so it is simply called.
    """
    options = {"packed": False} if isinstance(model, SequenceClassifier) else {}
    logits_BC: Tensor = model(tokens_BNL, valid_BNL, **options)
    return logits_BC


def placeholder_inputs(model: nn.Module, shape: tuple[int, ...], device: torch.device | None = None) -> Tensor:
    """Make inputs of a shape `[B, N, L]` that a model takes: real values for one that embeds them, else token ids."""
    is_real = isinstance(model, SequenceClassifier) and isinstance(model.encoder.embedding.token, nn.Linear)
    return torch.ones(shape, dtype=torch.float32 if is_real else torch.long, device=device)


def count_parameters(model: nn.Module) -> int:
    """Count the trainable parameters of a model; a parameter that several layers share counts once."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)
