"""Build plain typed objects from a Hydra configuration."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from hydra.utils import instantiate

from lra.base.paths import read_choice
from lra.runs.files import BEST
from lra.runs.schema import TARGET, own_model
from lra.settings.check_values import OWN_MODEL, check_values
from lra.settings.cuda_graphs import records_step
from lra.settings.run_config import RunConfig
from lra.settings.which_run import store_dir
from lra.types import TaskSpec, UserError

if TYPE_CHECKING:  # slow imports, made only where they are used: `lra prepare` and `lra doctor` start fast
    from torch import nn
    from torch.optim import Optimizer
    from torch.optim.lr_scheduler import LRScheduler

    from lra.data.codec import Codec
    from lra.data.datamodule import StoreDataModule
    from lra.data.store_data import StoreData
    from lra.model.mixer import MakeMixers
    from lra.training.module import ClassifierModule

Data = TypeVar("Data", bound="StoreData")


def make_from(settings: Mapping[str, Any] | list[Any]) -> Any:
    """Make what the `_target_` of some settings names; lists and groups in its arguments are plain lists and dicts."""
    return instantiate(settings, _convert_="all")


def build_spec(cfg: RunConfig) -> TaskSpec:
    """Build the specification of the task."""
    spec: TaskSpec = make_from(cfg.task.spec)
    return spec


def build_mixers(cfg: RunConfig) -> MakeMixers:
    """Build the function that makes the mixer of each layer: self-attention with its backend, or `mixer=NAME`.

    An encoder calls it with its dimensions and its number of layers.

    Examples:
        >>> import lra
        >>> make_mixers = lra.build_mixers(lra.compose("attention=linformer", "protocol=clean"))
        >>> lra.SequenceEncoder.build(embed_dim=3, make_mixers=make_mixers).output_size()
        256
    """
    from lra.model.mixer import mixer_layers
    from lra.model.self_attention import attention_layers

    make = build_method(cfg)
    if cfg.mixes_by_attention:
        return partial(attention_layers, make_backend=make)
    return partial(mixer_layers, make_mixer=make)


def build_codec(cfg: RunConfig) -> Codec:
    """Build the codec of the task, which shows its token sequences in readable form."""
    codec: Codec = make_from(_part_of_task(cfg, "codec"))
    return codec


def build_source(cfg: RunConfig) -> Any:
    """Build the function that opens the source of the task's data, see `data_prep.source`."""
    return make_from(_part_of_task(cfg, "open_source"))


def _part_of_task(cfg: RunConfig, key: str) -> Any:
    part = getattr(cfg.task, key)
    if part is None:
        raise UserError(f"task={cfg.task.name} has no {key}:, as conf/task/listops.yaml has; add it to its own file")
    return part


def build_method(cfg: RunConfig) -> Any:
    """Build the function that makes one attention backend, or one mixer, from the encoder's dimensions.

    Raises:
        UserError: for an option of the configuration, of any group, that is wrong or that nothing reads.
    """
    check_values(cfg, classes=True)
    return _instantiate_named(cfg.mixer_settings)


def build_model(cfg: RunConfig) -> nn.Module:
    """Build the classifier for the configuration's task, attention or mixer, and protocol.

    It maps token ids `[B, N, L]` and their mask, or None, to logits `[B, C]`.

    Raises:
        UserError: as `build_method` does; when a model of the user's own does not take the encoder's options.

    Examples:
        >>> import lra
        >>> model = lra.build_model(lra.compose("task=listops", "attention=nystrom"))
        >>> sum(weight.numel() for weight in model.parameters())
        209942
    """
    make_mixers, spec = build_mixers(cfg), build_spec(cfg)
    make = _instantiate_named(cfg.model)
    try:
        model: nn.Module = make(spec, make_mixers)
    except TypeError as error:
        if own_model(cfg.model) is None:
            raise
        raise UserError(
            f"model._target_={cfg.model[TARGET]} does not take the encoder's options ({error}); {OWN_MODEL}"
        ) from error
    return model


def check_classes(cfg: RunConfig) -> None:
    """Refuse arguments that the classes of a configuration do not take, and options of theirs that exclude each other.

    Model, optimizer and schedule are built for that, without moving the random generator.
    """
    import torch

    with torch.random.fork_rng(devices=[]):
        model = build_model(cfg)
    schedule_maker(cfg)(optimizer_maker(cfg)(model))


def _instantiate_named(settings: dict[str, Any]) -> Any:
    """Instantiate a config group without `name`, which is for people, and the optimizer's `parameter_groups`."""
    return make_from({key: value for key, value in settings.items() if key not in ("name", "parameter_groups")})


def _parameter_groups(cfg: RunConfig) -> dict[str, dict[str, Any]]:
    """Collect the optimizer's parameter groups by their full keys.

    The mixer's groups come before the recipe's, and the first group that matches a parameter takes it. The stored
    configuration of an older run may have no parameter groups.
    """
    owners = {cfg.mixer_group: cfg.mixer_settings, "recipe": cfg.plain("recipe")}
    return {
        f"{owner}.parameter_groups.{name}": group
        for owner, settings in owners.items()
        for name, group in settings.get("parameter_groups", {}).items()
    }


def build_module(cfg: RunConfig) -> ClassifierModule:
    """Build the LightningModule: the classifier with its optimizer and schedule, compiled as `compile=` says.

    Raises:
        UserError: as `build_model` does.

    Examples:
        >>> import lra
        >>> module = lra.build_module(lra.compose("task=image", "recipe.optimizer.lr=0.001"))
        >>> module.make_optimizer().param_groups[0]["lr"]
        0.001
    """
    from lra.training.compiled import compile_model
    from lra.training.module import ClassifierModule

    model = build_model(cfg)
    compile_model(model, cfg.compile)
    return ClassifierModule(
        model,
        num_classes=build_spec(cfg).num_classes,
        make_optimizer=optimizer_maker(cfg),
        make_schedule=schedule_maker(cfg),
        label=f"{cfg.task.name}/{cfg.method_name}",
        records_step=records_step(cfg),
    )


def optimizer_maker(cfg: RunConfig) -> Callable[[nn.Module], Optimizer]:
    """Make the function that makes the recipe's optimizer, with its groups of parameters, for a model."""
    from lra.training.optimizer import fused_where_possible, group_parameters

    groups, make_optimizer = _parameter_groups(cfg), make_from(cfg.recipe.optimizer)
    if cfg.trainer.fused_optimizer:
        make_optimizer = fused_where_possible(make_optimizer)

    @_arguments_of("recipe.optimizer", cfg.recipe.optimizer)
    def optimizer_of(model: nn.Module) -> Optimizer:
        return group_parameters(model, make_optimizer, groups)

    return optimizer_of


def schedule_maker(cfg: RunConfig) -> Callable[[Optimizer], LRScheduler]:
    """Make the function that makes the recipe's schedule for an optimizer."""
    from lra.training.schedule_check import make_checked_schedule

    make_schedule, options = make_from(cfg.recipe.schedule), dict(cfg.recipe.schedule)
    usual_beta: float = read_choice("recipe", "base")["optimizer"]["betas"][0]

    @_arguments_of("recipe.schedule", cfg.recipe.schedule)
    def schedule_of(optimizer: Optimizer) -> LRScheduler:
        return make_checked_schedule(make_schedule, optimizer, options=options, usual_beta=usual_beta)

    return schedule_of


def build_trained_model(cfg: RunConfig, folder: Path) -> nn.Module:
    """Build the classifier of a run, with the weights that had the best dev accuracy.

    Raises:
        UserError: when the checkpoint is damaged or does not fit the settings.
    """
    model = build_model(cfg)
    load_best_weights(model, folder)
    return model


def load_best_weights(model: nn.Module, folder: Path) -> None:
    """Give a model the weights that had the best dev accuracy in the run of `folder`."""
    from lra.training.checkpoints import read_matching_weights

    model.load_state_dict(read_matching_weights(folder / BEST, model))


@contextmanager
def _arguments_of(key: str, settings: Mapping[str, Any]) -> Iterator[None]:
    """Word the error of a class that does not take the arguments in its settings."""
    try:
        yield
    except UserError:
        raise
    except (TypeError, ValueError) as error:
        raise UserError(
            f"{key}._target_={settings[TARGET]} does not take its options: {error}; ~{key}.KEY takes one away,"
            f" +{key}.KEY=VALUE adds one"
        ) from error


def build_datamodule(cfg: RunConfig) -> StoreDataModule:
    """Build the task's LightningDataModule; gradient accumulation makes its batches smaller.

    Its loaders give `lra.types.Batch`: tokens `[B, N, L]`, their mask or None, labels `[B]`. The training loader gives
    as many batches as the run has steps, in an order that depends on `seed` alone.

    Raises:
        UserError: when the data is missing or does not match its manifest, when the batch cannot be split evenly over
            the devices and the parts to accumulate, and when there are more devices than dev or test batches.

    Examples:
        >>> import lra
        >>> cfg = lra.compose("task=listops", "size=tiny")
        >>> store = lra.prepare_data(cfg)
        >>> tokens, valid, label = next(iter(lra.build_datamodule(cfg).train_dataloader()))
        >>> tuple(tokens.shape), tuple(label.shape)
        ((8, 1, 256), (8,))
    """
    from lra.data.datamodule import StoreDataModule

    return build_data_as(cfg, StoreDataModule)


def build_data(cfg: RunConfig) -> StoreData:
    """Build the task's data as `build_datamodule` does, for use without a Trainer."""
    from lra.data.store_data import StoreData

    return build_data_as(cfg, StoreData)


def inputs_of_protocol(cfg: RunConfig) -> dict[str, Any]:
    """Collect what the protocol makes of the stored tokens.

    Raises:
        UserError: for a model that does not take that.
    """
    from lra.data.loader import PixelScale

    task, has_symbols = cfg.task, cfg.task.least_count is not None
    inputs: dict[str, Any] = {"padding": cfg.protocol.padding}
    if task.pixel_mean is not None and task.pixel_std is not None:
        real = cfg.protocol.pixels == "values"
        if own_model(cfg.model) is None and real is not (cfg.model["inputs"] == "values"):
            raise UserError(
                f"protocol.pixels={cfg.protocol.pixels} does not fit model.inputs={cfg.model['inputs']}; type both:"
                " protocol.pixels=values model.inputs=values",
                kind="no_effect",
                key="model.inputs",
            )
        return inputs | {"scale": PixelScale(task.pixel_mean, task.pixel_std) if real else None}
    inputs["end_token"] = cfg.protocol.end_token
    if has_symbols and cfg.protocol.text_symbols == "characters":
        inputs["least_count"] = task.least_count
    if "least_count" in inputs or (cfg.protocol.end_token and not has_symbols):
        inputs["vocabulary"] = task.vocabulary
    ids = inputs.get("vocabulary") or task.spec["vocab_size"]
    if (cfg.model.get("vocab_size") or ids) < ids:
        raise UserError(
            f"model.vocab_size={cfg.model['vocab_size']} has too few rows for the {ids} ids of these tokens;"
            " type model.vocab_size=null",
            key="model.vocab_size",
        )
    return inputs


def build_data_as(cfg: RunConfig, kind: Callable[..., Data]) -> Data:
    """Build the task's data by a class that takes the arguments of `StoreData`.

    Raises:
        UserError: as `build_datamodule` does.
    """
    parts, nodes, count, batch_size = cfg.batch_parts, cfg.trainer.num_nodes, cfg.num_processes, cfg.recipe.batch_size
    typed = f"trainer.devices={cfg.trainer.devices}" + (f" × trainer.num_nodes={nodes}" if nodes > 1 else "")
    if batch_size % count:
        common = math.gcd(nodes, batch_size)
        fitting = math.gcd(cfg.trainer.devices, batch_size // common)
        right = f"trainer.devices={fitting}" if common == nodes else f"trainer.num_nodes={common}"
        raise UserError(
            f"{typed} does not divide recipe.batch_size={batch_size}; type {right}",
            kind="wrong_value",
            key="trainer.devices",
            value=count,
            right=right,
        )
    if batch_size // count % parts:
        over = f" over {count} devices" if count > 1 else ""
        raise UserError(
            f"trainer.accumulate_grad_batches={parts} does not divide recipe.batch_size={batch_size}{over}; type"
            f" trainer.accumulate_grad_batches={math.gcd(parts, batch_size // count)}"
        )
    datamodule = kind(
        spec=build_spec(cfg),
        store_dir=store_dir(cfg),
        mask_zero=cfg.task.mask_zero,
        dev_split=cfg.task.dev_split,
        text_length=cfg.task.longest,  # only Text has it
        listops_brackets=cfg.task.listops_brackets,  # only ListOps has it
        **inputs_of_protocol(cfg),
        test_last_batch=cfg.protocol.test_last_batch,
        batch_size=batch_size // parts,
        dev_batch_size=cfg.trainer.dev_batch_size,
        num_train_batches=cfg.recipe.steps * parts,
        seed=cfg.seed,
        on_device=cfg.trainer.data_on_device,
    )
    batches = min(len(datamodule.val_dataloader()), len(datamodule.test_dataloader()))
    if count > batches:
        fitting = max(number for number in range(1, batches + 1) if batch_size % number == 0)
        raise UserError(
            f"{typed}, but the dev or the test split has only {batches} batches, so a device would have none; type"
            f" trainer.devices={fitting}" + (" trainer.num_nodes=1" if nodes > 1 else "")
        )
    return datamodule
