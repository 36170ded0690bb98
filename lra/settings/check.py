"""The one check of a configuration, of a command or of a stored run: before anything is prepared, built or written.

Values have their declared types and do not contradict each other; every option is read by something.
"""

import re

from omegaconf import DictConfig

from lra.base.checked_json import checked
from lra.base.files import checked_name
from lra.base.printed_commands import typed_overrides
from lra.runs.schema import TARGET, TUNED, is_ours
from lra.settings.added_keys import CALLBACKS_INSTEAD, USER_GROUPS, targets_of
from lra.settings.check_values import check_values
from lra.settings.cuda_graphs import attention_obstacle, obstacle
from lra.settings.pretrain import L1, SOURCE, loss_of_pretraining, predicts_values
from lra.settings.run_config import Config, RunConfig
from lra.settings.wandb_arguments import names_of_training, wandb_arguments
from lra.training.compiled import GRAPH_MODES
from lra.types import UserError

LEAST_LENGTH = 5  # one more than the tokens of the shortest ListOps expression, because the bound is exclusive
DRAWN_SIDE = 32  # pixels in a row of a source image, unless the task sets `drawn_side`
ON_CPU_INSTEAD = {"16-mixed": "bf16", "tf32": "float32"}  # precisions that only GPUs have


def check_config(cfg: Config, verb: str | None) -> None:
    """Refuse a configuration whose values are wrong, or contradict each other; it may lack options.

    Args:
        cfg: the configuration.
        verb: the verb that composed it: the arguments of classes are checked later, by
            `lra.from_config.check_classes`. None: the stored configuration of a run.

    Raises:
        UserError: for the first wrong option, with its value and what is right.
    """
    check_values(cfg, classes=verb is None, verb=verb)
    if cfg.read("run_group") is not None:
        checked_name(cfg.read("run_group"), "run_group=", example="mine", nested=True)
    if cfg.read("tuned") is not None:
        checked(TUNED, cfg.plain("tuned"), "tuned", "lra table run recipe=tuned sets it")
    for group, (own, example) in USER_GROUPS.items():
        if cfg.has(group):
            _check_entries(group, cfg.composed[group], own, example)
    _check_run(RunConfig.view(cfg), verb)


def _check_run(cfg: RunConfig, verb: str | None) -> None:
    """Refuse settings of a run that contradict each other; a command may have some of its groups alone."""
    _check_schedule(cfg)
    if verb not in (None, "train") and cfg.is_pretrained:
        line = f"pretrain={cfg.pretrain.name} has no effect on lra {verb}, which trains nothing; leave it out"
        raise UserError(line, kind="no_effect", key="pretrain", value=cfg.pretrain.name)
    if cfg.is_pretrained and loss_of_pretraining(cfg) == L1 and not predicts_values(cfg):
        line = "pretrain.loss=l1 is the distance of real pixel values, which only protocol.pixels=values has, as in"
        line += " protocol=s4; leave it out"
        raise UserError(line, kind="wrong_value", key="pretrain.loss", value=L1)
    if verb == "train" and (digits := cfg.taken_from) is not None:
        _check_taken(digits)
    if cfg.value("task.data") is not None:
        _check_data(cfg)
    if cfg.has("trainer"):
        _check_trainer(cfg)
    if verb == "train" and cfg.logs_to_wandb:
        wandb_arguments(cfg, **names_of_training(cfg), config={})


def _check_taken(digits: str) -> None:
    """Refuse what is no hash of settings, and options of a pretraining that another run has had."""
    if not re.fullmatch("[0-9a-f]{8}", digits):
        right = f"{SOURCE}=a1b9200f"
        line = f"{SOURCE}={digits} is no hash of a run's settings, eight digits as lra show runs lists them; type for"
        line += f" example {right}"
        raise UserError(line, kind="wrong_value", key=SOURCE, value=digits, right=right)
    beside = typed_overrides("pretrain.").without(SOURCE)
    if beside:
        line = f"{beside[0]} has no effect beside {SOURCE}={digits}, whose pretraining is done; leave it out"
        raise UserError(line, kind="no_effect", key=beside[0].key, value=beside[0])


def _check_entries(group: str, entries: DictConfig, own: tuple[str, ...], example: str) -> None:
    """Refuse an entry of the callbacks or the loggers that nothing would be made of, or that counts epochs."""
    if group == "logger" and entries.get("wandb") is not None and "mode" not in entries.wandb:
        raise UserError("logger.wandb has options, but no W&B run was chosen; type logger=wandb, or take them away")
    for name in (str(name) for name in entries if name not in own):
        right = f"+{group}.{name}.{TARGET}={example}"
        if name not in targets_of(entries):
            line = f"{group}.{name} names no class, so nothing would be made of it; type for example {right}"
            raise UserError(line, kind="missing_option", key=f"{group}.{name}.{TARGET}", right=right)
        called = str(entries[name][TARGET]).rpartition(".")[2]
        if called in CALLBACKS_INSTEAD:
            line = f"{group}.{name}: {called} needs Lightning's epochs and batches, and lra counts steps"
            raise UserError(f"{line}; type {CALLBACKS_INSTEAD[called]} in its place")


def _check_schedule(cfg: RunConfig) -> None:
    """Refuse a schedule of ours that ends before the run; each number by itself is checked already."""
    keys = ("steps", "schedule.steps", "schedule._target_")
    steps, scheduled, target = (cfg.value(f"recipe.{key}") for key in keys)
    if isinstance(steps, int) and isinstance(scheduled, int) and scheduled < steps and is_ours(target):
        why = f"is fewer than recipe.steps={steps}: there would be no learning rate for the last steps"
        raise _contradiction(cfg, "recipe.schedule.steps", why, f"recipe.schedule.steps={steps}")


def _check_trainer(cfg: RunConfig) -> None:
    """Refuse settings of the trainer that contradict each other; each by itself is checked already."""
    trainer = cfg.trainer
    is_mixed = trainer.precision.endswith("-mixed")
    if trainer.accelerator == "cpu" and trainer.precision in ON_CPU_INSTEAD:
        why = f"needs a GPU: on a CPU torch would compute in {ON_CPU_INSTEAD[trainer.precision]} instead"
        right = "trainer=gpu, or trainer.precision=32-true"
        raise _contradiction(cfg, "trainer.precision", why, right, kind="needs_gpu")
    if cfg.value("model.attention_dtype") == "autocast" and not is_mixed:
        why = f"has no effect on trainer.precision={trainer.precision}: leave it out, or choose mixed precision"
        raise _contradiction(cfg, "model.attention_dtype", why, "trainer.precision=bf16-mixed", kind="no_effect")
    _check_graphs(cfg)
    if trainer.cuda_graph is True and (found := obstacle(cfg)) is not None:
        why = f"records a step once for all, and {found.setting} {found.does}"
        raise _contradiction(cfg, "trainer.cuda_graph", why, f"trainer.cuda_graph=auto, or {found.right}")
    if trainer.fused_optimizer and cfg.value("trainer.gradient_clip_val") and is_mixed:
        right = "trainer.fused_optimizer=false, or leave trainer.gradient_clip_val out"
        raise _contradiction(cfg, "trainer.precision", "cannot clip gradients with a fused optimizer", right)


def _check_graphs(cfg: RunConfig) -> None:
    """Refuse CUDA graphs for a training step that they would compute wrongly, that waits for the GPU, or that changes.

    The graph of a batch's second part overwrites the gradients of the first: torch says so with an error, or adds them
    up wrongly (github.com/pytorch/pytorch, issues 169545 and 96693).
    """
    parts = cfg.trainer.accumulate_grad_batches
    if cfg.compile not in GRAPH_MODES:
        return
    if isinstance(parts, int) and parts != 1:
        why = f"overwrites the gradients of the parts of trainer.accumulate_grad_batches={parts}"
        raise _contradiction(cfg, "compile", why, "compile=true")
    if (found := attention_obstacle(cfg)) is not None:
        why = f"records a step as a CUDA graph, and {found.setting} {found.does}"
        raise _contradiction(cfg, "compile", why, f"compile=true, or {found.right}")


def _check_data(cfg: RunConfig) -> None:
    """Refuse lengths of a task's data that contradict each other; each number by itself is checked already."""
    data, size_key = cfg.task.data, f"task.sizes.{cfg.value('size.name')}"
    longest, shortest, side = (data.get(name) for name in ("max_length", "min_length", "side"))
    if longest is None:  # a stored configuration may lack settings that only making data needs
        return
    if longest > data.get("seq_len", longest):
        why = f"is more than task.data.seq_len={data['seq_len']}, the longest that the model takes"
        raise _contradiction(cfg, "task.data.max_length", why, f"{size_key}.max_length={data['seq_len']}")
    if shortest is not None and (longest < LEAST_LENGTH or shortest > longest - 2):
        why = f"is too long: no expression has more tokens, and fewer than task.data.max_length={longest}"
        raise _contradiction(cfg, "task.data.min_length", why, f"{size_key}.min_length={max(longest, 100) // 2}")
    drawn = data.get("drawn_side", DRAWN_SIDE)
    if side is not None and (drawn % side or side * side > longest):
        why = (
            f"does not divide the {drawn} pixels of a row, or {side} × {side} pixels are more than"
            f" task.data.max_length={longest}"
        )
        raise _contradiction(cfg, "task.data.side", why, f"{size_key}.side=16")


def _contradiction(cfg: RunConfig, key: str, why: str, right: str, *, kind: str = "contradiction") -> UserError:
    """The error for an option whose value does not go with that of another one."""
    value = cfg.value(key)
    return UserError(f"{key}={value} {why}; type {right}", kind=kind, key=key, value=value, right=right)
