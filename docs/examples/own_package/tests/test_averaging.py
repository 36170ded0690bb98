"""The contract of the mixer."""

from __future__ import annotations

from functools import partial

import pytest
from own_package.averaging import AveragingMixer

from lra.tools.testing.contract import promises
from lra.tools.testing.subjects import MixerSubject


@pytest.mark.parametrize("promise", promises(MixerSubject(partial(AveragingMixer, radius=2))), ids=str)
def test_contract(promise):
    """What the encoder relies on."""
    promise.check()
