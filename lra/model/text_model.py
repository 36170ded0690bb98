"""The encoder for text in subwords, with a head that predicts tokens, or a class from the first token, or with none.

Letters: B sequences, L positions, D model width, V tokens of the vocabulary, C classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from lra.model.block import ACTIVATIONS
from lra.model.classifier import Encoder


class TokenHead(nn.Module):
    """Logits of every token at each position: Linear, activation, LayerNorm, then the token embedding's own table.

    Source: BERT (Devlin et al. 2019), whose output table is that of the token embedding.
    """

    def __init__(self, *, width: int, vocab_size: int, activation: str, norm_eps: float):
        super().__init__()
        self.dense = nn.Linear(width, width)
        self.activation = ACTIVATIONS[activation]()
        self.norm = nn.LayerNorm(width, eps=norm_eps)
        self.bias = nn.Parameter(torch.zeros(vocab_size))

    def forward(self, x_BLD: Tensor, table_VD: Tensor) -> Tensor:
        """Compute logits `[B, L, V]`; `table_VD` is the table of the token embedding."""
        return linear(self.norm(self.activation(self.dense(x_BLD))), table_VD, self.bias)


class FirstTokenHead(nn.Module):
    """Logits of the classes from the vector of the first token: dropout, Linear, activation, dropout, Linear."""

    def __init__(self, *, width: int, num_classes: int, activation: str, dropout: float):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.dense = nn.Linear(width, width)
        self.activation = ACTIVATIONS[activation]()
        self.out = nn.Linear(width, num_classes)

    def forward(self, x_BLD: Tensor) -> Tensor:
        """Compute logits `[B, C]`."""
        first_BD = self.activation(self.dense(self.dropout(x_BLD[:, 0])))
        logits_BC: Tensor = self.out(self.dropout(first_BD))
        return logits_BC


class TextModel(nn.Module):
    """An encoder with one of the heads above, or without one.

    `source` is class and configuration of the model of transformers that it was made from, see `lra.interop`; or None.
    """

    source: tuple[str, Mapping[str, Any]] | None = None

    def __init__(self, encoder: Encoder, head: TokenHead | FirstTokenHead | None):
        super().__init__()
        self.encoder, self.head = encoder, head

    def forward(self, tokens_BL: Tensor, valid_BL: Tensor | None = None, types_BL: Tensor | None = None) -> Tensor:
        """Compute the head's logits, or the encoder's output `[B, L, D]` without a head.

        `valid_BL` is True at real tokens; None: all are real. `types_BL` are token types; None: 0 everywhere.
        """
        x_BLD: Tensor = self.encoder(tokens_BL, valid_BL, types_BL)
        if self.head is None:
            return x_BLD
        if isinstance(self.head, TokenHead):
            return self.head(x_BLD, self.encoder.embedding.token.weight)  # type: ignore[no-any-return]
        return self.head(x_BLD)  # type: ignore[no-any-return]
