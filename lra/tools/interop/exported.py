"""Load an exported model: weights and settings in a folder, without Hydra, Lightning or anything of its training.

The folder may come from anywhere. Its settings may name only classes of this package, and of packages that the caller
trusts; its weights are a safetensors file, which holds tensors alone.
"""

import importlib
import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

import torch
from pydantic import ConfigDict, Field, TypeAdapter, with_config
from torch import nn
from typing_extensions import TypedDict

from lra.attention.base import AttentionBackend
from lra.base.checked_json import Positive, checked
from lra.model.mixer import MakeMixers, SequenceMixer, mixer_layers
from lra.model.self_attention import attention_layers
from lra.runs.settings_hash import drop_removed_settings, values_before
from lra.tools.interop.files import CONFIG_JSON, SAFETENSORS, first_misfit, read_json, read_tensors
from lra.types import TaskSpec, UserError

OUR_ROOMS = ("lra.attention", "lra.mixers", "lra.model")
TARGET_KEY = "_target_"  # in a group of settings: the dotted name of the class that takes the others
AGAIN = "export the run again: lra export"
# what constructors raise for settings that no run has; UserError, which speaks of the command line, is a ValueError
WRONG_SETTINGS = (ArithmeticError, AssertionError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


class SpecFields(TypedDict):
    """The fields of `TaskSpec`."""

    name: str
    vocab_size: Positive
    seq_len: Positive
    num_sequences: Annotated[int, Field(ge=1, le=2)]
    num_classes: Positive


@with_config(ConfigDict(strict=True, extra="forbid"))
class ExportedConfig(TypedDict):
    """The content of an exported model's config.json; a model has either `attention` or `mixer`.

    `mask_zero` says that token 0 is padding, so that the mask is `tokens != 0`.
    """

    lra_export: Literal[1]
    task: SpecFields
    mask_zero: bool
    model: dict[str, Any]
    attention: NotRequired[dict[str, Any]]
    mixer: NotRequired[dict[str, Any]]


EXPORTED_SCHEMA: TypeAdapter[ExportedConfig] = TypeAdapter(ExportedConfig)


def load_exported(folder: str | Path, *, trusted: Sequence[str] = ()) -> nn.Module:
    """Load the model that `lra export` has written, on the CPU, in evaluation mode.

    It maps token ids `[B, N, L]` and their mask, or None when every position is real, to logits `[B, C]`. N is 1, or 2
    for tasks with pairs.

    Args:
        folder: the folder that `to=` named.
        trusted: packages of your own whose classes the folder may name. They are imported, so their code runs.

    Raises:
        UserError: when the folder is not that of an exported model, or names a class of another package.
    """
    folder = Path(folder).expanduser()
    path = folder / CONFIG_JSON
    config = checked(EXPORTED_SCHEMA, read_json(path, AGAIN), path, AGAIN)
    weights = read_tensors(folder / SAFETENSORS, AGAIN)
    layers = config["model"].get("num_layers")
    if isinstance(layers, int) and layers > len(weights) and not config["model"].get("tied_layers"):
        raise UserError(f"{path}: {layers:,} layers, but {SAFETENSORS} has {len(weights)} weights; {AGAIN}")
    with torch.random.fork_rng(devices=[]):  # random weights are drawn and then replaced
        model = _build(config, path, tuple(trusted))
    dtypes = {weight.dtype for weight in weights.values() if weight.is_floating_point()}
    if len(dtypes) == 1:  # float64 for trainer.precision=64-true
        model.to(dtypes.pop())
    misfit = first_misfit(weights, model)
    if misfit is not None:
        raise UserError(f"{folder / SAFETENSORS} does not fit {CONFIG_JSON}: {misfit}; {AGAIN}")
    model.load_state_dict(weights)
    return model.eval()


def _build(config: ExportedConfig, path: Path, trusted: tuple[str, ...]) -> nn.Module:
    if ("attention" in config) == ("mixer" in config):
        raise UserError(f"{path}: either attention or mixer belongs in it; {AGAIN}")
    if "attention" in config:
        make_backend = _maker("attention", config["attention"], AttentionBackend, path, trusted)
        make_mixers: MakeMixers = partial(attention_layers, make_backend=make_backend)
    else:
        make_mixer = _maker("mixer", config["mixer"], SequenceMixer, path, trusted)
        make_mixers = partial(mixer_layers, make_mixer=make_mixer)
    make = _maker("model", config["model"], nn.Module, path, trusted)
    try:
        model: nn.Module = make(TaskSpec(**config["task"]), make_mixers)
    except WRONG_SETTINGS as error:
        message = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"{path}: no model can be built from it ({message}); {AGAIN}") from error
    return model


def _maker(
    group: str, settings: Mapping[str, Any], kind: type[nn.Module], path: Path, trusted: tuple[str, ...]
) -> Callable[..., Any]:
    """Find the class that settings name, and bind its settings."""
    target = str(settings.get(TARGET_KEY, ""))
    module, _, name = target.rpartition(".")
    if not any(f"{module}.".startswith(f"{package}.") for package in (*OUR_ROOMS, *trusted)):
        own = target.split(".")[0]
        raise UserError(
            f"{path} names {target}, which is not a class of lra; if it is your own code, type"
            f' lra.load_exported(FOLDER, trusted=["{own}"])'
        )
    try:
        named_class = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise UserError(f"{path} names {target}, whose module cannot be imported ({error})") from error
    if not (inspect.isclass(named_class) and issubclass(named_class, kind)):
        raise UserError(f"{path} names {target}, which is no {kind.__name__}; {AGAIN}")
    values = {**values_before(settings), **settings}
    try:
        drop_removed_settings(group, values)
    except UserError as error:
        raise UserError(f"{path}: {error}; load it with the version that exported it") from error
    del values[TARGET_KEY]
    return partial(named_class, **values)
