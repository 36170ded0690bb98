"""A Nyströmformer of the package transformers: its configuration, checked, and the names of its weights, both ways.

Only the attention's weights differ from ours in more than their names: our queries, keys and values are one layer, and
our value skip has no dimensions of size 1.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NotRequired

import torch
from pydantic import ConfigDict, Field, TypeAdapter, with_config
from torch import Tensor
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


def checked_config(config: Mapping[str, Any], location: object) -> TheirConfig:
    """Check a configuration that may come from anywhere; fields that a file may leave out get their defaults.

    Raises:
        UserError: for a model of another kind, for a missing or wrong field, and for fields that contradict each other;
            with `location`.
    """
    whole = checked(CONFIG_SCHEMA, {**DEFAULTS, **config}, location, NAME_THEIRS)
    width, heads, taps = whole["hidden_size"], whole["num_attention_heads"], whole["conv_kernel_size"]
    if width % heads:
        raise UserError(f"{location}: num_attention_heads={heads} does not divide hidden_size={width}; {NAME_THEIRS}")
    if taps is not None and taps % 2 == 0:
        raise UserError(f"{location}: conv_kernel_size={taps} is not odd; {NAME_THEIRS}")
    if whole["num_landmarks"] > whole["segment_means_seq_len"]:
        raise UserError(
            f"{location}: num_landmarks={whole['num_landmarks']} is more than"
            f" segment_means_seq_len={whole['segment_means_seq_len']}; {NAME_THEIRS}"
        )
    return whole


def landmark_length(config: TheirConfig) -> int | None:
    """The only length that their landmarks can be taken of; None if their attention is exact, for every length.

    Attention is exact where the number of landmarks equals `segment_means_seq_len`, as in the published checkpoints.
    """
    landmarks, segmented = config["num_landmarks"], config["segment_means_seq_len"]
    return None if landmarks == segmented else segmented // landmarks * landmarks


PREFIX = "nystromformer."  # of the encoder in models with a head; NystromformerModel has none
QUERY_KEY_VALUE = ("query", "key", "value")
NOT_WEIGHTS = re.compile(r"\.(position_ids|token_type_ids)$")  # constants that earlier versions of transformers saved
TIED = {"cls.predictions.decoder.weight": "encoder.embedding.token.weight", "cls.predictions.decoder.bias": "head.bias"}
ENCODER_NAMES = (  # patterns of theirs and ours; `{}` is the number of a layer
    ("embeddings.word_embeddings.", "encoder.embedding.token."),
    ("embeddings.position_embeddings.weight", "encoder.embedding.position"),
    ("embeddings.token_type_embeddings.", "encoder.embedding.token_type."),
    ("embeddings.LayerNorm.", "encoder.embedding.norm."),
    ("encoder.layer.{}.attention.output.dense.", "encoder.blocks.{}.mixer.out."),
    ("encoder.layer.{}.attention.output.LayerNorm.", "encoder.blocks.{}.mixer_norm."),
    ("encoder.layer.{}.intermediate.dense.", "encoder.blocks.{}.feed_forward.0."),
    ("encoder.layer.{}.output.dense.", "encoder.blocks.{}.feed_forward.3."),
    ("encoder.layer.{}.output.LayerNorm.", "encoder.blocks.{}.feed_forward_norm."),
    ("encoder.layer.{}.attention.self.conv.weight", "encoder.blocks.{}.mixer.backend.value_skip"),
)
HEAD_NAMES = (
    ("cls.predictions.transform.dense.", "head.dense."),
    ("cls.predictions.transform.LayerNorm.", "head.norm."),
    ("cls.predictions.bias", "head.bias"),
    ("classifier.dense.", "head.dense."),
    ("classifier.out_proj.", "head.out."),
)
THEIR_PROJECTION = "encoder.layer.{}.attention.self.{}."
OUR_PROJECTIONS = "encoder.blocks.{}.mixer.qkv."
VALUE_SKIP = "mixer.backend.value_skip"


def our_weights(theirs: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Rename their weights; a name without a counterpart stays as it is."""
    ours: dict[str, Tensor] = {}
    projections: dict[str, dict[str, Tensor]] = {}
    for name, weight in theirs.items():
        name = name.removeprefix(PREFIX)
        projection = re.fullmatch(r"encoder\.layer\.(\d+)\.attention\.self\.(query|key|value)\.(weight|bias)", name)
        if projection:
            layer, which, kind = projection.groups()
            projections.setdefault(OUR_PROJECTIONS.format(layer) + kind, {})[which] = weight
        elif not NOT_WEIGHTS.search(name) and name not in TIED:
            our_name = _renamed(name, (*ENCODER_NAMES, *HEAD_NAMES))
            ours[our_name] = weight[:, 0, :, 0] if our_name.endswith(VALUE_SKIP) and weight.ndim == 4 else weight
    for our_name, parts in projections.items():
        if len(parts) == len(QUERY_KEY_VALUE) and len({part.shape for part in parts.values()}) == 1:
            ours[our_name] = torch.cat([parts[which] for which in QUERY_KEY_VALUE])
        else:  # these names do not fit the model, which is what the user is told
            ours |= {f"{our_name} ({which})": part for which, part in parts.items()}
    return ours


def their_weights(ours: Mapping[str, Tensor], architecture: str) -> dict[str, Tensor]:
    """Rename our weights for a model of the class `architecture`; tied weights are in it twice, as there."""
    prefix = "" if architecture == "NystromformerModel" else PREFIX
    language = architecture == "NystromformerForMaskedLM"
    of_head = [(our, their) for their, our in HEAD_NAMES if their.startswith("cls.") == language]
    theirs: dict[str, Tensor] = {}
    for name, weight in ours.items():
        projections = re.fullmatch(r"encoder\.blocks\.(\d+)\.mixer\.qkv\.(weight|bias)", name)
        if projections:
            layer, kind = projections.groups()
            for which, part in zip(QUERY_KEY_VALUE, weight.chunk(3), strict=True):
                theirs[prefix + THEIR_PROJECTION.format(layer, which) + kind] = part
        elif name.startswith("head."):
            theirs[_renamed(name, of_head)] = weight
        else:
            shaped = weight[:, None, :, None] if name.endswith(VALUE_SKIP) else weight
            theirs[prefix + _renamed(name, ((our, their) for their, our in ENCODER_NAMES))] = shaped
    return theirs | ({their: ours[our] for their, our in TIED.items()} if language else {})


def _renamed(name: str, pairs: Iterable[tuple[str, str]]) -> str:
    """Rename by the first pair whose pattern the name begins with."""
    for pattern, other in pairs:
        match = re.match(re.escape(pattern).replace(r"\{\}", r"(\d+)"), name)
        if match:
            return str(other.format(*match.groups())) + name[match.end() :]
    return name
