"""When memory is out, the part of the batch that fits is tried, not guessed."""

import pytest

from lra import from_config
from lra.settings.compose import load_config
from lra.training.memory import parts_that_fit


@pytest.mark.parametrize("fits, parts", [(16, 2), (6, 8), (1, 32), (0, None)])
def test_the_largest_part_that_goes_forward_and_backward(monkeypatch, fits, parts):
    cfg = load_config("train", ["size=tiny", "recipe.batch_size=32", "attention=full"])
    spec = from_config.build_spec(cfg)
    module = from_config.build_module(cfg)
    whole = module.model.forward

    def limited(tokens, valid):
        if len(tokens) > fits:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2 GiB")
        return whole(tokens, valid)

    monkeypatch.setattr(module.model, "forward", limited)
    assert parts_that_fit(module, spec, batch_size=32, parts=1) == parts
    assert all(parameter.grad is None for parameter in module.parameters())


def test_another_error_is_not_swallowed(monkeypatch):
    cfg = load_config("train", ["size=tiny"])
    module = from_config.build_module(cfg)
    monkeypatch.setattr(module.model, "forward", lambda *_: (_ for _ in ()).throw(RuntimeError("shape")))
    with pytest.raises(RuntimeError, match="shape"):
        parts_that_fit(module, from_config.build_spec(cfg), batch_size=8, parts=1)
