"""Count the FLOPs of a training step of a configuration, with a batch of full length."""

import torch

from lra.from_config import build_module, build_spec
from lra.from_config.pretraining import build_masked_module, masked_batch
from lra.settings.run_config import RunConfig
from lra.training.module import ClassifierModule
from lra.types import Batch

CPU = torch.device("cpu")


def count_step_flops(cfg: RunConfig) -> int:
    """Count the FLOPs (of matrix products and Fourier transforms) of a training step, on sequences of full length."""
    return _count(build_module(cfg), full_batch(cfg, 1, CPU)) * cfg.recipe.batch_size


def count_pretraining_step_flops(stage: RunConfig) -> int:
    """Count those of a step of a pretraining, see `lra.settings.pretrain.stage_config`."""
    module = build_masked_module(stage)
    batch = masked_batch(full_batch(stage, 1, CPU), stage, module.model)
    return _count(module, batch) * stage.recipe.batch_size


def _count(module: ClassifierModule, batch: Batch) -> int:
    from lra.training.cost import harness_step
    from lra.training.cost.counting import count_work

    optimizer = module.train().make_optimizer()
    return count_work(lambda: harness_step.bare_step(module, optimizer, batch)).flops


def full_batch(cfg: RunConfig, size: int, device: torch.device) -> Batch:
    """Make a batch of random tokens, or real values, in which every sequence has the full length."""
    spec = build_spec(cfg)
    shape = (size, spec.num_sequences, spec.seq_len)
    tokens = torch.randint(1, cfg.model.get("vocab_size") or spec.vocab_size, shape, device=device)
    label = torch.randint(spec.num_classes, (size,), device=device)
    valid = tokens != 0 if cfg.task.mask_zero else None
    return Batch(tokens / spec.vocab_size if cfg.model.get("inputs") == "values" else tokens, valid, label)
