"""The contract of the attention, beside its slow reference function."""

from __future__ import annotations

from functools import partial

import pytest
from own_package.window import WindowAttention, window_twin

from lra.tools.testing.contract import promises
from lra.tools.testing.subjects import AttentionSubject

OPTIONS = {"radius": 4}
SUBJECT = AttentionSubject(partial(WindowAttention, **OPTIONS), OPTIONS)


@pytest.mark.parametrize("promise", promises(SUBJECT, window_twin), ids=str)
def test_contract(promise):
    """What the encoder relies on."""
    promise.check()
