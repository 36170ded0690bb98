"""Attentions to put in a layer's place: Nyström attention with other choices, exact attention, none."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass

import torch
from torch import Tensor

from lra.attention.base import AttentionBackend
from lra.attention.nystrom import LandmarkInverse, NystromAttention

MakeNystrom = Callable[..., NystromAttention]  # from the encoder's dimensions, and the knobs that differ
SEED = 0  # of what a variant draws: the positions of random landmarks
AS_MANY_AS_POSITIONS = "padded"  # with these landmarks, as many as positions, Nyström attention is exact attention


class Silent(LandmarkInverse):
    """Gives the landmarks no weight, so that only the value skip is left."""

    def apply(self, q_BHME: Tensor, k_BHME: Tensor, used_BM: Tensor | None, x_BHME: Tensor) -> Tensor:
        """Return zeros."""
        return torch.zeros_like(x_BHME)


@dataclass(frozen=True, kw_only=True)
class Variants:
    """Makes variants of a model's attentions: those of Nyström attention keep its other choices and its value skip.

    Attributes:
        make: makes Nyström attention: with the model's own settings if it has some, else with the default ones.
    """

    make: MakeNystrom

    def nystrom(self, backend: AttentionBackend, **changes: object) -> NystromAttention:
        """Make Nyström attention with some other knobs; other attentions have no value skip that it could keep."""
        own = isinstance(backend, NystromAttention)
        if not own:
            changes = {"value_skip_taps": 0, **changes}
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(SEED)
            variant = self.make(backend.dims, **changes)
        if own:
            known = variant.state_dict()
            kept = {name: weight for name, weight in backend.state_dict().items() if name in known}
            variant.load_state_dict(known | kept)
        return variant.eval()

    def without_skip(self, backend: AttentionBackend, **changes: object) -> NystromAttention:
        """Make Nyström attention that only approximates the attention matrix."""
        return self.nystrom(backend, value_skip_taps=0, **changes)

    def exact(self, backend: AttentionBackend) -> NystromAttention:
        """Make exact softmax attention."""
        return self.nystrom(
            backend,
            num_landmarks=backend.dims.max_seq_len,
            landmarks=AS_MANY_AS_POSITIONS,
            exact_when_short=True,
        )

    def silent(self, backend: AttentionBackend) -> NystromAttention:
        """Make what is left without attention: the value skip, or zeros."""
        variant = self.nystrom(backend, num_landmarks=1, exact_when_short=False)  # never exact, whatever the masking
        variant.inverse = Silent(**asdict(variant.inverse))
        return variant
