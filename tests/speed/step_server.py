"""A training step of one checked-out commit for each line on stdin; its seconds go to stdout.

It is run by its path with that commit on PYTHONPATH, so `lra` is the commit's and the batch is ours.
"""

import sys
import time

import torch
from inputs import batch_of
from torch.nn.functional import cross_entropy

from lra.training.machine import prepare_machine

try:
    from lra import from_config
    from lra.from_config import machine_and_loggers
    from lra.settings.compose import load_config
except ImportError:  # a commit from before these had their names
    from lra.build import trainer as machine_and_loggers
    from lra.settings.config import load_config

    from lra import build as from_config


def main(words: list[str]) -> None:
    """Build the model that `lra train WORDS` would train, then step when asked."""
    cfg = load_config("train", words)
    prepare_machine(machine_and_loggers.build_machine(cfg))
    torch.manual_seed(0)
    spec, model = from_config.build_spec(cfg), from_config.build_model(cfg).train()
    optimizer, batch = torch.optim.AdamW(model.parameters(), 1e-4), batch_of(spec, cfg.recipe.batch_size)
    for _ in sys.stdin:
        began = time.perf_counter()
        cross_entropy(model(batch.tokens, batch.valid), batch.label).backward()
        optimizer.step()
        optimizer.zero_grad()
        print(time.perf_counter() - began, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
