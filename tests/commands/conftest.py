"""Fixtures of several tests of commands."""

import pytest
import torch

from lra.model.classifier import SequenceClassifier


@pytest.fixture
def little_memory(home, monkeypatch):
    """Three examples do not fit: a GPU's error, which a CPU is made to raise."""
    whole = SequenceClassifier.forward

    def limited(self, tokens, valid, **form):
        if len(tokens) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return whole(self, tokens, valid, **form)

    monkeypatch.setattr(SequenceClassifier, "forward", limited)
    return home
