"""trainer.dev_batch_size: dev batches of their own size give the same accuracies, are in the hash and in the plan."""

import math

import pytest
import torch

from lra import from_config
from lra.model.classifier import SequenceClassifier
from lra.settings.compose import load_config
from lra.settings.which_run import config_hash
from lra.tables.grid.estimate import measure_here
from tests.pairs import each_and_all
from tests.training.test_waiting import METHODS, PROTOCOLS

OWN = "trainer.dev_batch_size=12"


def dev_logits(words: list[str]) -> tuple[torch.Tensor, float, bool]:
    """The logits of the dev split, its accuracy, and whether examples of a batch share constants."""
    cfg = load_config("train", ["size=tiny", "model.num_layers=1", *words])
    torch.manual_seed(0)
    module, logits = from_config.build_module(cfg).eval(), []
    module.model.register_forward_hook(lambda _, __, out: logits.append(out))
    with torch.no_grad():
        for number, batch in enumerate(from_config.build_data(cfg).val_dataloader()):
            module.validation_step(batch, number)
    return torch.cat(logits), module.eval_accuracy.compute().item(), module.model.encoder.batch_wide


@pytest.mark.some_fast(5)
@pytest.mark.parametrize("method, protocol", each_and_all(METHODS, PROTOCOLS))
def test_accuracies_are_the_same_unless_examples_of_a_batch_share_constants(home, method, protocol):
    (usual, accuracy, batch_wide), (own, same, _) = (
        dev_logits([method, f"protocol={protocol}", *words]) for words in ((), (OWN,))
    )
    if not batch_wide:
        torch.testing.assert_close(own, usual, rtol=1e-4, atol=1e-6)
        assert same == accuracy
    elif "performer" not in method:  # what its keys have subtracted changes rounding alone
        assert not torch.allclose(own, usual, rtol=1e-4, atol=1e-6)


def test_it_is_in_the_hash_where_it_is_chosen():
    usual, same, own = (config_hash(load_config("train", words)) for words in ([], [f"{OWN[:-2]}null"], [OWN]))
    assert usual == same != own


@pytest.mark.parametrize("own, sizes", [((), [8]), (("trainer.dev_batch_size=100",), [100])])
def test_the_plan_measures_a_dev_batch(home, monkeypatch, own, sizes):
    forward, evaluated = SequenceClassifier.forward, []

    def watched(self, tokens, valid):
        if not self.training:
            evaluated.append(len(tokens))
        return forward(self, tokens, valid)

    monkeypatch.setattr(SequenceClassifier, "forward", watched)
    measure_here(load_config("train", ["size=tiny", "attention=none", *own]), seconds=math.inf)
    assert evaluated == sizes


@pytest.mark.slow
def test_dev_batches_that_do_not_fit_into_memory_are_not_trained_in_parts(home, monkeypatch, refused):
    forward = SequenceClassifier.forward

    def limited(self, tokens, valid):
        if len(tokens) > 10:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return forward(self, tokens, valid)

    monkeypatch.setattr(SequenceClassifier, "forward", limited)
    short = ("size=tiny", "logger=csv", "attention=none", "recipe.steps=2", "recipe.eval_every=2")
    error = refused("train", *short, OWN, "trainer.accumulate_grad_batches=auto")
    assert (error.kind, error.key, error.value, error.right) == (
        "no_memory",
        "trainer.dev_batch_size",
        12,
        "trainer.dev_batch_size=6",
    )
