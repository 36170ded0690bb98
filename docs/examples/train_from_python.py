"""Use lra as a library: compose a configuration, build the model, train, read the run back.

python docs/examples/train_from_python.py

It makes tiny ListOps data if there is none, and takes some seconds. It uses the folders that `lra doctor` lists.
"""

from __future__ import annotations

import lra
from lra.cli import main

SETTINGS = ["task=listops", "attention=nystrom", "size=tiny", "recipe.steps=4", "recipe.eval_every=2", "logger=csv"]


def train() -> None:
    """Train and test a model, and print the accuracy from its record."""
    cfg = lra.compose(*SETTINGS)
    parameters = sum(weight.numel() for weight in lra.build_model(cfg).parameters())
    print(f"{cfg.attention.name}: {parameters:,} parameters")
    if main(["train", *SETTINGS, "finished=show"]) != 0:  # prepares the data, trains, tests, writes the record
        raise SystemExit("the run failed; the line above says why")
    run = lra.load_run(lra.run_dir(cfg))
    assert run.record is not None
    outcome = run.record.outcome
    print(f"{outcome['test_examples']} test examples, accuracy {outcome['test_accuracy']:.2%}")


if __name__ == "__main__":
    train()
