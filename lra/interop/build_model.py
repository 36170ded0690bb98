"""Build the model of ours that a configuration of the package transformers describes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from lra.attention.base import options_of
from lra.attention.nystrom import NystromAttention
from lra.interop.config import ARCHITECTURES, TheirConfig, landmark_length
from lra.model.block import EncoderForm
from lra.model.classifier import Encoder
from lra.model.self_attention import attention_layers
from lra.model.text_model import FirstTokenHead, TextModel, TokenHead

FIRST_POSITION = 2  # rows 0 and 1 of their position table are never used, as in RoBERTa
THEIR_ITERATIONS = 6  # of the pseudo-inverse; no setting there
ACTIVATION_NAMES = {"gelu_new": "gelu_tanh", "gelu": "gelu", "relu": "relu"}


def build_text_model(config: TheirConfig, architecture: str) -> TextModel:
    """Build our model, with weights drawn at random.

    Args:
        config: the configuration.
        architecture: one of `ARCHITECTURES`.
    """
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
        vocab_size=config["vocab_size"],
        seq_len=longest,
        num_layers=config["num_hidden_layers"],
        width=width,
        num_heads=config["num_attention_heads"],
        head_dim=width // config["num_attention_heads"],
        feed_forward=config["intermediate_size"],
        dropout=dropout,
        tied_layers=False,
        form=EncoderForm(
            norm="post",
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
