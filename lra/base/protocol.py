"""The switches of a protocol with their choices; `conf/protocol/*.yaml` says what each choice does.

Constructors use the same types, because the configuration hands most switches on to them.
"""

from dataclasses import dataclass
from typing import Literal

from lra.base.option_types import Count

Pooling = Literal["padded_mean", "valid_mean", "cls"]
Norm = Literal["layer", "batch", "batch_padded"]
Inputs = Literal["tokens", "values"]
AttentionDtype = Literal["float32", "autocast"]
Positions = Literal["learned", "rotary", "none"]
Head = Literal["hidden", "linear"]
PinvStart = Literal["batch", "per_matrix"]
Landmarks = Literal["padded", "valid"]
Sides = Literal["separate", "together"]
LinformerSharing = Literal["all", "layer", "none"]
ReformerBiases = Literal["unused", "used"]
ReformerLookBack = Literal["across_hashes", "within_hash"]
ReformerRotations = Literal["each_call", "stored_for_evaluation"]
PerformerScaling = Literal["twice", "once"]
PerformerKeyMaximum = Literal["batch", "per_head"]
PerformerMaximumGradient = Literal["passed", "stopped"]
PerformerPaddedKeys = Literal["counted", "masked"]
DevSplit = Literal["own", "test", "held_out"]
TestLastBatch = Literal["kept", "dropped"]
TextLength = Literal[4000, 1000]
ListopsBrackets = Literal["kept", "dropped"]
Padding = Literal["task", "batch"]


@dataclass(frozen=True, kw_only=True)
class Protocol:
    """The switches of a protocol."""

    name: str
    pixel_zero_is_padding: bool
    pooling: Pooling
    pinv_start: PinvStart
    nystrom_landmarks: Landmarks
    batch_constant_sides: Sides
    batch_constant_examples: Count | None
    linformer_sharing: LinformerSharing
    reformer_biases: ReformerBiases
    reformer_look_back: ReformerLookBack
    reformer_rotations: ReformerRotations
    performer_scaling: PerformerScaling
    performer_key_maximum: PerformerKeyMaximum
    performer_maximum_gradient: PerformerMaximumGradient
    performer_padded_keys: PerformerPaddedKeys
    text_dev: Literal["test", "held_out"]
    test_last_batch: TestLastBatch
    text_length: TextLength
    listops_brackets: ListopsBrackets
    pixels: Literal["tokens", "values"]
    text_symbols: Literal["bytes", "characters"]
    end_token: bool
    padding: Padding
