"""Show test examples with a trained model's predictions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omegaconf import DictConfig
    from rich.console import Console


def print_predictions(console: Console, cfg: DictConfig, folder: Path, count: int) -> None:
    """Show the shortest examples of the first test batch, each with its class and the best checkpoint's prediction.

    The whole batch is computed together, as in the test, because some attentions share a constant over a batch.

    Args:
        console: where to print.
        cfg: the configuration of the run.
        folder: the folder of the run.
        count: number of examples, 0 or more.
    """
    if not count:
        return
    import torch
    from rich.text import Text

    from lra import build
    from lra.settings.config import load_config

    data, model = build.build_data(cfg), build.build_trained_model(cfg, folder)
    codec = build.build_codec(load_config("train", [f"task='{cfg.task.name}'"]))  # a stored configuration has no codec
    batch = next(iter(data.test_dataloader()))
    with torch.inference_mode(), torch.compiler.set_stance("force_eager"):
        guesses = model.eval()(batch.tokens, batch.valid).argmax(1).tolist()
    examples = [(*data.splits["test"].example(number), guess) for number, guess in enumerate(guesses)]
    examples.sort(key=lambda example: sum(map(len, example[0])))
    for stored, label, guess in examples[:count]:
        right = ("right", "green") if guess == label else ("wrong", "red")
        console.print(Text.assemble(("a test example", "bold"), f": class {label}, guessed {guess}, ", right))
        for line in codec.draw(stored, data.source_facts):
            console.print(f"  {line}")
