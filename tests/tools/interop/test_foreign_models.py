"""A model that no Nyströmformer of transformers has become is refused in one line, whether or not it is installed."""

import pytest
from torch import nn

import lra
from lra.tools.interop.huggingface import build_text_model, to_huggingface
from lra.tools.interop.nystromformer import checked_config
from lra.types import UserError

SIZES = {
    "model_type": "nystromformer",
    "vocab_size": 20,
    "hidden_size": 8,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 8,
    "max_position_embeddings": 16,
    "segment_means_seq_len": 8,
    "num_landmarks": 4,
    "conv_kernel_size": 3,
}


def built_text_model() -> nn.Module:
    return build_text_model(checked_config(SIZES, "the test"), "NystromformerModel")


def classifier() -> nn.Module:
    return lra.build_model(lra.compose("size=tiny"))


@pytest.mark.parametrize("make", [built_text_model, classifier, lambda: nn.Linear(2, 2)])
def test_a_model_that_was_not_converted_is_refused(make):
    model = make()
    with pytest.raises(UserError, match=f"^this {type(model).__name__} was not made from .*from_huggingface") as caught:
        to_huggingface(model)
    assert "\n" not in str(caught.value)
