"""Use lra as a library: compose a configuration, build the model, train a few steps, read the record.

python docs/examples/train_from_python.py

It makes tiny ListOps data if there is none, and takes some seconds. It uses the folders that `lra doctor` lists.
"""

from __future__ import annotations

from lra import build, config
from lra.cli import main
from lra.model.classifier import count_parameters
from lra.results.record import read_record

SETTINGS = ["task=listops", "attention=nystrom", "size=tiny", "recipe.steps=4", "recipe.eval_every=2", "logger=csv"]


def train() -> None:
    """Train and test a model, and print the accuracy from its record."""
    cfg = config.load_config("train", SETTINGS)
    model = build.build_model(cfg)
    print(f"{config.method_name(cfg)}: {count_parameters(model):,} parameters")
    if main(["train", *SETTINGS, "finished=show"]) != 0:  # prepares the data, trains, tests, writes the record
        raise SystemExit("the run failed; the line above says why")
    record = read_record(config.run_dir(cfg))
    assert record is not None
    data = build.build_datamodule(cfg)
    print(f"{data.num_examples('test')} test examples, accuracy {record['outcome']['test_accuracy']:.2%}")


if __name__ == "__main__":
    train()
