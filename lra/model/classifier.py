"""The shared encoder with a classifier on top: the whole model except the sequence mixers.

Letters: B examples, N sequences per example, L positions, T real tokens, D model width, C classes.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor, nn

from lra.base.arguments import Count, Fraction, checked
from lra.base.protocol import Pooling, Sides
from lra.model.block import EncoderBlock
from lra.model.embedding import TokenPositionEmbedding
from lra.model.form import PRE_NORM, EncoderForm
from lra.model.groups import BatchGroups
from lra.model.head import ClassifierHead
from lra.model.mixer import MakeMixers, MixerDims
from lra.model.pooling import make_pooling
from lra.ops.packed.dropout import DropoutMasks
from lra.ops.packed.packing import Packing
from lra.types import TaskSpec, UserError


class Encoder(nn.Module):
    """Embedding, blocks and a last LayerNorm, which blocks with a LayerNorm at their end do not need."""

    def __init__(
        self,
        make_mixers: MakeMixers,
        *,
        vocab_size: int,
        seq_len: int,
        num_layers: int,
        width: int,
        num_heads: int,
        head_dim: int,
        feed_forward: int,
        dropout: float,
        tied_layers: bool,
        form: EncoderForm,
    ):
        super().__init__()
        dims = MixerDims(width=width, num_heads=num_heads, head_dim=head_dim, max_seq_len=seq_len, dropout=dropout)
        self.embedding = TokenPositionEmbedding(
            vocab_size=vocab_size, seq_len=seq_len, width=width, dropout=dropout, form=form
        )
        blocks = [
            EncoderBlock(mixer, feed_forward=feed_forward, dropout=dropout, form=form)
            for mixer in make_mixers(dims, 1 if tied_layers else num_layers)
        ]
        self.blocks = nn.ModuleList(blocks * num_layers if tied_layers else blocks)
        self.norm = nn.LayerNorm(width, eps=form.norm_eps) if form.norm == "pre" else nn.Identity()
        self.dropout = dropout
        self.packable = form == PRE_NORM and not any(block.mixer.reads_padding for block in blocks)
        self.batch_wide = any(block.mixer.batch_wide for block in blocks)

    def forward(self, tokens_BL: Tensor, valid_BL: Tensor | None, types_BL: Tensor | None = None) -> Tensor:
        """Encode token ids `[B, L]` to `[B, L, D]`; values at padded positions must not be used.

        `types_BL` are the tokens' types, for a form that has some; None: 0 everywhere.
        """
        x_BLD = self.embedding(tokens_BL, types_BL)
        for block in self.blocks:
            x_BLD = block(x_BLD, valid_BL)
        out_BLD: Tensor = self.norm(x_BLD)
        return out_BLD

    def forward_packed(self, tokens_BL: Tensor, packing: Packing) -> Tensor:
        """Encode only the real tokens of `[B, L]`, without the last LayerNorm; `[T, D]`."""
        masks = DropoutMasks(self.dropout) if self.training and self.dropout else None
        x_TD = self.embedding.forward_packed(tokens_BL, packing, masks)
        for block in self.blocks:
            assert isinstance(block, EncoderBlock)
            x_TD = block.forward_packed(x_TD, packing, masks)
        return x_TD


PACKED = {"auto": None, "true": True, "false": False}


def works_packed(device: torch.device) -> bool:
    """Tell whether the packed form works and is faster: on a CPU, not compiled, not in mixed precision."""
    return device.type == "cpu" and not torch.compiler.is_compiling() and not torch.is_autocast_enabled("cpu")


class SequenceClassifier(nn.Module):
    """One encoder for all sequences of an example, pooling, and a head (Xiong et al. 2021, released code).

    Args:
        spec: facts about the task.
        make_mixers: makes the mixers of the layers from the encoder's dimensions and the number of layers.
        num_layers: number of encoder blocks.
        width: D.
        num_heads: number of attention heads.
        head_dim: dims per head.
        feed_forward: hidden width of the feed-forward networks.
        head_hidden: hidden width of the classifier head.
        dropout: dropout rate after the embedding, mixer, GELU and feed-forward network, in [0, 1).
        tied_layers: whether one block is run `num_layers` times, which the released code offers too.
        pooling: `padded_mean` or `valid_mean`, see `MaskedMean`, or `cls`, see `FirstVector`.
        batch_constant_sides: `separate` or `together`: whether the two sequences of an example share an attention's
            batch-wide constants, see `BatchGroups`.
        batch_constant_examples: largest number of examples that share these constants; None: the whole batch.
        packed: whether real tokens are computed in packed form, without padding. `auto`: where this works and is
            faster, see `works_packed`; True: always; False: never. The logits are the same up to rounding, but dropout
            draws other masks.

    Raises:
        UserError: for an argument outside its declared type.
    """

    @checked
    def __init__(
        self,
        spec: TaskSpec,
        make_mixers: MakeMixers,
        *,
        num_layers: Count,
        width: Count,
        num_heads: Count,
        head_dim: Count,
        feed_forward: Count,
        head_hidden: Count,
        dropout: Fraction,
        tied_layers: bool,
        pooling: Pooling,
        batch_constant_sides: Sides,
        batch_constant_examples: Count | None,
        packed: Literal["auto", "true", "false"] | bool = "auto",
    ):
        super().__init__()
        self.packed = PACKED[str(packed).lower()]
        self.encoder = Encoder(
            make_mixers,
            vocab_size=spec.vocab_size,
            seq_len=spec.seq_len,
            num_layers=num_layers,
            width=width,
            num_heads=num_heads,
            head_dim=head_dim,
            feed_forward=feed_forward,
            dropout=dropout,
            tied_layers=tied_layers,
            form=PRE_NORM,
        )
        self.pooling = make_pooling(pooling, vocab_size=spec.vocab_size)
        self.groups = BatchGroups(sides=batch_constant_sides, examples=batch_constant_examples)
        self.head = ClassifierHead(
            num_sequences=spec.num_sequences, width=width, hidden=head_hidden, num_classes=spec.num_classes
        )

    def forward(self, tokens_BNL: Tensor, valid_BNL: Tensor | None, *, packed: bool | None = None) -> Tensor:
        """Classify token ids `[B, N, L]`, and return logits `[B, C]`.

        `packed` overrides the model's setting for this call.

        Raises:
            UserError: when `packed` is True but the packed form does not work here.
        """
        packed = self.packed if packed is None else packed
        if packed and not works_packed(tokens_BNL.device):
            raise UserError("model.packed=true works on a CPU in float32, not compiled; type model.packed=auto")
        if packed and not self.encoder.packable:
            raise UserError("model.packed=true has no padding, which this attention reads; type model.packed=auto")
        if packed is None:
            packed = self.encoder.packable and works_packed(tokens_BNL.device)
        pool = self._pool_packed if packed else self._pool
        tokens_BNL, valid_BNL = self.pooling.mark(tokens_BNL, valid_BNL)
        if self.encoder.batch_wide:
            pooled_BND = self.groups.encode(pool, tokens_BNL, valid_BNL)
        else:
            pooled_BND = pool(tokens_BNL, valid_BNL)
        logits_BC: Tensor = self.head(pooled_BND)
        return logits_BC

    def _pool(self, tokens_BNL: Tensor, valid_BNL: Tensor | None) -> Tensor:
        """Compute one vector per sequence, `[B, N, D]`, in the padded form."""
        tokens, valid = tokens_BNL.flatten(0, 1), None if valid_BNL is None else valid_BNL.flatten(0, 1)
        pooled_BND: Tensor = self.pooling(self.encoder(tokens, valid), valid).unflatten(0, tokens_BNL.shape[:2])
        return pooled_BND

    def _pool_packed(self, tokens_BNL: Tensor, valid_BNL: Tensor | None) -> Tensor:
        """Compute one vector per sequence, `[B, N, D]`, in the packed form."""
        tokens, valid = tokens_BNL.flatten(0, 1), None if valid_BNL is None else valid_BNL.flatten(0, 1)
        packing = Packing(valid, batch=len(tokens), length=tokens.shape[1])
        norm = self.encoder.norm
        assert isinstance(norm, nn.LayerNorm)
        pooled = self.pooling.forward_packed(self.encoder.forward_packed(tokens, packing), norm, packing)
        pooled_BND: Tensor = pooled.unflatten(0, tokens_BNL.shape[:2])
        return pooled_BND


def in_padded_form(model: nn.Module, tokens_BNL: Tensor, valid_BNL: Tensor | None) -> Tensor:
    """Compute logits in the padded form, so that hooks on the layers' `forward` are called.

    A model of the user's own has no other form, so it is simply called.
    """
    ours = {"packed": False} if isinstance(model, SequenceClassifier) else {}
    logits_BC: Tensor = model(tokens_BNL, valid_BNL, **ours)
    return logits_BC


def count_parameters(model: nn.Module) -> int:
    """Count the trainable parameters of a model; a parameter that several layers share counts once."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)
