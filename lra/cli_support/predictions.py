"""Test examples beside what a trained model guesses for them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import torch
from rich.text import Text

from lra import build
from lra.config import load_config
from lra.run_files import BEST
from lra.training.checkpoints import read_checkpoint

if TYPE_CHECKING:
    from omegaconf import DictConfig
    from rich.console import Console


def print_predictions(console: Console, cfg: DictConfig, folder: Path, count: int) -> None:
    """Draw the shortest examples of the first test batch, each with its class and the guess of the best checkpoint.

    The whole batch is guessed together, as in the test: some attentions take something over all of a batch.

    Args:
        cfg: of the run in `folder`.
        count: how many; none for 0.
    """
    if not count:
        return
    spec = build.build_spec(cfg)
    data, module = build.build_datamodule(cfg, spec), build.build_module(cfg, spec)
    codec = build.build_codec(load_config("train", [f"task='{cfg.task.name}'"]))  # a stored configuration names none
    module.load_state_dict(read_checkpoint(folder / BEST)["state_dict"])
    batch = next(iter(data.test_dataloader()))
    with torch.inference_mode(), torch.compiler.set_stance("force_eager"):
        guesses = module.model.eval()(batch.tokens, batch.valid).argmax(1).tolist()
    examples = [(*data.splits["test"].example(number), guess) for number, guess in enumerate(guesses)]
    examples.sort(key=lambda example: sum(map(len, example[0])))
    for stored, label, guess in examples[:count]:
        right = ("right", "green") if guess == label else ("wrong", "red")
        console.print(Text.assemble(("a test example", "bold"), f": class {label}, guessed {guess}, ", right))
        for line in codec.draw(stored, data.source_facts):
            console.print(f"  {line}")
