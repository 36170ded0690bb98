"""Build the stage of self-pretraining from a configuration: the model that predicts what is masked, and its batches."""

from functools import partial
from typing import Any

from torch import Tensor, nn

from lra.data.loader import PixelScale
from lra.data.masking import ApplyMask, MaskedDataModule, Masking
from lra.from_config import (
    build_data_as,
    build_model,
    inputs_of_protocol,
    optimizer_maker,
    schedule_maker,
)
from lra.model.classifier import SequenceClassifier
from lra.model.masked_model import MaskedModel
from lra.model.pooling import FirstVector
from lra.runs.schema import own_model
from lra.settings.pretrain import L1, loss_of_pretraining
from lra.settings.run_config import RunConfig
from lra.training.module import ClassifierModule
from lra.training.value_accuracy import ValueAccuracy, value_loss
from lra.types import Batch, UserError

GREY_LEVELS = 256


def build_pretraining(stage: RunConfig) -> tuple[ClassifierModule, MaskedDataModule]:
    """Build the LightningModule and the LightningDataModule of a stage, see `lra.settings.pretrain.stage_config`.

    Raises:
        UserError: as `build_masked_model` and `build_data_as` do.
    """
    module = build_masked_module(stage)
    kind = partial(MaskedDataModule, masking=_masking(stage), apply_mask=_apply_mask(stage, module.model))
    return module, build_data_as(stage, kind)


def build_masked_module(stage: RunConfig) -> ClassifierModule:
    """Build the LightningModule of a stage.

    Raises:
        UserError: as `build_masked_model` does.
    """
    model = build_masked_model(stage)
    of_values: dict[str, Any] = {}
    if loss_of_pretraining(stage) == L1:
        scale = _scale(stage)
        assert scale is not None
        of_values = {"loss": value_loss, "accuracy": ValueAccuracy(scale.std)}
    return ClassifierModule(
        model,
        num_classes=model.head.out_features,
        make_optimizer=optimizer_maker(stage),
        make_schedule=schedule_maker(stage),
        label=f"{stage.task.name}/{stage.method_name} (pretraining)",
        rate="pretrain.lr",
        uneven=True,
        **of_values,
    )


def masked_batch(batch: Batch, stage: RunConfig, model: nn.Module) -> Batch:
    """Mask positions of any batch, such as one that is only counted or timed."""
    masked_BNL = _masking(stage).masked(batch, [(number,) for number in range(len(batch.label))])
    return _apply_mask(stage, model)(batch, masked_BNL)


def _masking(stage: RunConfig) -> Masking:
    return Masking(fraction=stage.pretrain.fraction, span=stage.pretrain.span)


def _apply_mask(stage: RunConfig, model: nn.Module) -> ApplyMask:
    assert isinstance(model, MaskedModel)
    return partial(apply_mask, model=model, scale=None if loss_of_pretraining(stage) == L1 else _scale(stage))


def _scale(stage: RunConfig) -> PixelScale | None:
    """How the real values of a task's pixels are made; None of tokens."""
    scale: PixelScale | None = inputs_of_protocol(stage).get("scale")
    return scale


def build_masked_model(stage: RunConfig) -> MaskedModel:
    """Build the model of a stage.

    Raises:
        UserError: as `lra.from_config.build_model` does; for a model of the user's own, whose parts are not known.
    """
    classifier = build_model(stage)
    if not isinstance(classifier, SequenceClassifier):
        own = own_model(stage.model)
        line = f"pretrain={stage.pretrain.name} trains lra's own encoder, not model={own}; leave it out"
        raise UserError(line, kind="no_effect", key="pretrain", value=stage.pretrain.name)
    token = classifier.encoder.embedding.token
    if isinstance(token, nn.Embedding):
        return MaskedModel(classifier, token.num_embeddings)
    return MaskedModel(classifier, 1 if loss_of_pretraining(stage) == L1 else GREY_LEVELS)


def apply_mask(batch: Batch, masked_BNL: Tensor, *, model: MaskedModel, scale: PixelScale | None) -> Batch:
    """Make of a batch what a model is pretrained on: its inputs without what is masked, and that as the labels, `[M]`.

    The labels are token ids, or with `scale` grey levels, else real values, in the order of the positions in
    `[B, N, L]`.
    """
    if isinstance(model.pooling, FirstVector):  # it pushes the last position out
        masked_BNL = masked_BNL.clone()
        masked_BNL[..., -1] = False
    targets_M = batch.tokens[masked_BNL]
    if scale is not None:
        targets_M = scale.levels(targets_M)
    return Batch(model.mask(batch.tokens, masked_BNL), batch.valid, targets_M)
