"""The configuration of a Nyströmformer of the package transformers, checked: it may come from anywhere."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, TypeAdapter, with_config
from typing_extensions import TypedDict

from lra.base.checked_json import checked
from lra.types import UserError

ARCHITECTURES = ("NystromformerModel", "NystromformerForMaskedLM", "NystromformerForSequenceClassification")
DEFAULTS = {  # what a config.json leaves out
    "hidden_act": "gelu_new",
    "hidden_dropout_prob": 0.1,
    "type_vocab_size": 2,
    "inv_coeff_init_option": False,
    "layer_norm_eps": 1e-5,
    "tie_word_embeddings": True,
}
NAME_THEIRS = "name the folder of a Nyströmformer that transformers has saved"

Size = Annotated[int, Field(ge=1, le=10**7)]
DropoutRate = Annotated[float, Field(ge=0, lt=1)]


@with_config(ConfigDict(strict=True, extra="allow"))
class TheirConfig(TypedDict):
    """The fields of `NystromformerConfig` that a model depends on, by the names of transformers; others are kept."""

    model_type: Literal["nystromformer"]
    vocab_size: Size
    hidden_size: Size
    num_hidden_layers: Size
    num_attention_heads: Size
    intermediate_size: Size
    hidden_act: Literal["gelu_new", "gelu", "relu"]
    hidden_dropout_prob: DropoutRate
    max_position_embeddings: Size
    type_vocab_size: Size
    segment_means_seq_len: Size
    num_landmarks: Size
    conv_kernel_size: Size | None
    inv_coeff_init_option: bool
    layer_norm_eps: Annotated[float, Field(gt=0, le=1)]
    tie_word_embeddings: Literal[True]
    num_labels: NotRequired[Size]
    id2label: NotRequired[dict[str | int, str] | None]


CONFIG_SCHEMA: TypeAdapter[TheirConfig] = TypeAdapter(TheirConfig)


def checked_config(config: Mapping[str, Any], place: object) -> TheirConfig:
    """Check a configuration that may come from anywhere; fields that a file may leave out get their defaults.

    Raises:
        UserError: for a model of another kind, for a missing or wrong field, and for fields that contradict each other;
            with `place`.
    """
    whole = checked(CONFIG_SCHEMA, {**DEFAULTS, **config}, place, NAME_THEIRS)
    width, heads, taps = whole["hidden_size"], whole["num_attention_heads"], whole["conv_kernel_size"]
    if width % heads:
        raise UserError(f"{place}: num_attention_heads={heads} does not divide hidden_size={width}; {NAME_THEIRS}")
    if taps is not None and taps % 2 == 0:
        raise UserError(f"{place}: conv_kernel_size={taps} is not odd; {NAME_THEIRS}")
    if whole["num_landmarks"] > whole["segment_means_seq_len"]:
        raise UserError(
            f"{place}: num_landmarks={whole['num_landmarks']} is more than"
            f" segment_means_seq_len={whole['segment_means_seq_len']}; {NAME_THEIRS}"
        )
    return whole


def landmark_length(config: TheirConfig) -> int | None:
    """The only length that their landmarks can be taken of; None if their attention is exact, for every length.

    Attention is exact where the number of landmarks equals `segment_means_seq_len`, as in the published checkpoints.
    """
    landmarks, segmented = config["num_landmarks"], config["segment_means_seq_len"]
    return None if landmarks == segmented else segmented // landmarks * landmarks
