"""A Nyströmformer of the package transformers as our model, and back.

`from_huggingface` and `to_huggingface` need no transformers of their own: the caller has it. Ours computes what theirs
does, up to rounding, for the lengths that theirs takes, see `landmark_length`. Theirs does not train the vector of its
padding token, and ours does.

Letters: B sequences, L positions, D model width, V tokens of the vocabulary, C classes.
"""

import importlib
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from lra.attention.base import options_of
from lra.attention.nystrom import NystromAttention
from lra.model.block import ACTIVATIONS, PRE_NORM
from lra.model.classifier import Encoder
from lra.model.mixer import MixerDims
from lra.model.self_attention import attention_layers
from lra.tools.interop.files import first_misfit
from lra.tools.interop.nystromformer import (
    ARCHITECTURES,
    TheirConfig,
    checked_config,
    landmark_length,
    our_weights,
    their_weights,
)
from lra.types import UserError

FIRST_POSITION = 2  # rows 0 and 1 of their position table are never used, as in RoBERTa
THEIR_ITERATIONS = 6  # of the pseudo-inverse; no setting there
ACTIVATION_NAMES = {"gelu_new": "gelu_tanh", "gelu": "gelu", "relu": "relu"}


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

    `source` is class and configuration of the model of transformers that it was made from, see `lra.tools.interop`;
    or None.
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


def build_text_model(config: TheirConfig, architecture: str) -> TextModel:
    """Build our model for one of `ARCHITECTURES`, with weights drawn at random."""
    assert architecture in ARCHITECTURES, architecture
    width, longest = config["hidden_size"], config["max_position_embeddings"]
    activation, dropout = ACTIVATION_NAMES[config["hidden_act"]], config["hidden_dropout_prob"]
    options = options_of("nystrom", protocol="paper") | {
        "num_landmarks": longest if landmark_length(config) is None else config["num_landmarks"],
        "pinv_iterations": THEIR_ITERATIONS,
        "pinv_start": "per_matrix" if config["inv_coeff_init_option"] else "batch",
        "value_skip_taps": config["conv_kernel_size"] or 0,
        "masking": "kernel_3",
        "exact_when_short": landmark_length(config) is None,
    }
    backend = partial(NystromAttention, **options)
    encoder = Encoder(
        partial(attention_layers, make_backend=backend),
        MixerDims(
            width=width,
            num_heads=config["num_attention_heads"],
            head_dim=width // config["num_attention_heads"],
            max_seq_len=longest,
            dropout=dropout,
        ),
        vocab_size=config["vocab_size"],
        num_layers=config["num_hidden_layers"],
        feed_forward=config["intermediate_size"],
        tied_layers=False,
        form=replace(
            PRE_NORM,
            norm="post",
            embedding_norm=True,
            norm_eps=config["layer_norm_eps"],
            activation=activation,
            inner_dropout=False,
            first_position=FIRST_POSITION,
            token_types=config["type_vocab_size"],
        ),
    )
    head: TokenHead | FirstTokenHead | None = None
    if architecture == "NystromformerForMaskedLM":
        head = TokenHead(
            width=width, vocab_size=config["vocab_size"], activation=activation, norm_eps=config["layer_norm_eps"]
        )
    elif architecture == "NystromformerForSequenceClassification":
        head = FirstTokenHead(width=width, num_classes=num_labels(config), activation=activation, dropout=dropout)
    return TextModel(encoder, head)


def num_labels(config: Mapping[str, Any]) -> int:
    """Number of classes: a config.json has their names instead, and nothing when there are two."""
    return len(config["id2label"]) if config.get("id2label") else int(config.get("num_labels", 2))


def from_huggingface(model: nn.Module) -> TextModel:
    """Convert a `NystromformerModel`, `NystromformerForMaskedLM` or `NystromformerForSequenceClassification`.

    The model of transformers stays as it is.

    Returns:
        Our model with copies of the weights, of the same dtype, in the same mode (training or evaluation).

    Raises:
        UserError: for a model of another class, or with a setting that ours does not have.
    """
    architecture = type(model).__name__
    known_architecture(architecture, "the model")
    config: Any = model.config
    fields = checked_config({**config.to_dict(), "num_labels": config.num_labels}, architecture)
    dtype = next(model.parameters()).dtype
    ours = converted(fields, architecture, model.state_dict(), architecture, dtype=dtype)
    return ours.train(model.training)


def to_huggingface(model: TextModel) -> nn.Module:
    """Convert a model that `from_huggingface` or `converted` has made to one of transformers, with the same weights.

    Raises:
        UserError: for a model that they have not made or whose layers have changed since, and when transformers is not
            installed.
    """
    source = model.source if isinstance(model, TextModel) else None
    if source is None:
        raise UserError(
            f"this {type(model).__name__} was not made from a Nyströmformer of transformers; convert what"
            " lra.tools.interop.huggingface.from_huggingface returns"
        )
    transformers = import_transformers("lra.tools.interop.huggingface.to_huggingface")
    architecture, config = source
    theirs: nn.Module = getattr(transformers, architecture)(transformers.NystromformerConfig.from_dict(dict(config)))
    weights = their_weights(model.state_dict(), architecture)
    misfit = first_misfit(weights, theirs)
    if misfit is not None:
        raise UserError(
            f"this model's layers have changed since it was made from a {architecture}: {misfit}; convert the model"
            " that lra.tools.interop.huggingface.from_huggingface returns"
        )
    theirs.to(next(model.parameters()).dtype).load_state_dict(weights)
    return theirs.train(model.training)


def converted(
    config: TheirConfig,
    architecture: str,
    weights: Mapping[str, Tensor],
    location: object,
    *,
    dtype: torch.dtype = torch.float32,
) -> TextModel:
    """Build our model from a configuration and weights by the names of transformers, for one of `ARCHITECTURES`.

    Weights of a head that `architecture` does not have are left out.

    Raises:
        UserError: when the weights do not fit the configuration, with `location` and the first that does not.
    """
    with torch.device("meta"):  # shapes alone: a wrong configuration may name sizes that no memory holds
        shapes = build_text_model(config, architecture)
    ours = our_weights(weights)
    if shapes.head is None:
        ours = {name: weight for name, weight in ours.items() if name.startswith("encoder.")}
    misfit = first_misfit(ours, shapes)
    if misfit is not None:
        raise UserError(
            f"{location}: the weights do not fit config.json of a {architecture}: {misfit};"
            " bring the checkpoint's own files together"
        )
    model = build_text_model(config, architecture).to(dtype)
    model.load_state_dict(ours)
    model.source = (architecture, config)
    return model


def known_architecture(architecture: object, location: object) -> str:
    """Return the name of a class of transformers that we have too.

    Raises:
        UserError: for another one.
    """
    if architecture not in ARCHITECTURES:
        raise UserError(f"{location} is a {architecture}; convert one of {', '.join(ARCHITECTURES)}")
    return str(architecture)


def import_transformers(what: str) -> Any:
    """Import transformers.

    Raises:
        UserError: when it is not installed; with `what` needs it.
    """
    try:
        return importlib.import_module("transformers")
    except ImportError as error:
        raise UserError(f"{what} needs transformers ({error}); type: pip install -e '.[hf]'") from error
