"""Put other attentions into a trained model, without training it further, and count what it then gets right.

They are Nyström attention with other choices, exact attention, and none.

Letters: X examples.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from lra.attention.base import AttentionBackend
from lra.attention.nystrom import NystromAttention
from lra.base.spread import binomial_error
from lra.ops.landmarks import LandmarkInverse
from lra.tools.diagnosis.schema import Swap
from lra.types import Batch

LANDMARK_COUNTS = (8, 16, 32, 64, 128, 256)  # that errors and accuracies are measured at
SEED = 0  # of what a variant draws: the positions of random landmarks
AS_MANY_AS_POSITIONS = "padded"  # with these landmarks, as many as positions, Nyström attention is exact attention
Substitute = Callable[[AttentionBackend], AttentionBackend]


class Silent(LandmarkInverse):
    """Gives the landmarks no weight, so that only the value skip is left."""

    def apply(self, q_BHME: Tensor, k_BHME: Tensor, used_BM: Tensor | None, x_BHME: Tensor) -> Tensor:
        """Return zeros."""
        return torch.zeros_like(x_BHME)


@dataclass(frozen=True, kw_only=True)
class Variants:
    """Makes variants of a model's attentions: those of Nyström attention keep its other choices and its value skip.

    `make` makes Nyström attention from the encoder's dimensions and the options that differ from the model's own
    settings if it has some, else from the default ones.
    """

    make: Callable[..., NystromAttention]

    def nystrom(self, backend: AttentionBackend, **changes: object) -> NystromAttention:
        """Make Nyström attention with some other options; other attentions have no value skip that it could keep."""
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
            backend, num_landmarks=backend.dims.max_seq_len, landmarks=AS_MANY_AS_POSITIONS, exact_when_short=True
        )

    def silent(self, backend: AttentionBackend) -> NystromAttention:
        """Make what is left without attention: the value skip, or zeros."""
        variant = self.nystrom(backend, num_landmarks=1, exact_when_short=False)  # never exact, whatever the masking
        variant.inverse = Silent(**asdict(variant.inverse))
        return variant


@contextmanager
def swapped(model: nn.Module, others: Mapping[AttentionBackend, AttentionBackend]) -> Iterator[None]:
    """Within this context, each attention of the model is another one; its projections and all else stay."""
    attentions = [
        (parent, name, child)
        for parent in model.modules()
        for name, child in parent.named_children()
        if isinstance(child, AttentionBackend) and child in others
    ]
    try:
        for parent, name, child in attentions:
            setattr(parent, name, others[child])
        yield
    finally:
        for parent, name, child in attentions:
            setattr(parent, name, child)


def substitutes(first: AttentionBackend, variants: Variants) -> dict[tuple[str, int | None], Substitute]:
    """List what is put in place of attentions with the settings of `first`, by name and number of landmarks."""
    own = first if isinstance(first, NystromAttention) else None
    others: dict[tuple[str, int | None], Substitute] = {
        ("trained", None): lambda backend: backend,
        ("exact", None): variants.exact,
        ("none", None): variants.silent,
    }
    for count in (1, *LANDMARK_COUNTS):
        if count < first.dims.max_seq_len and (own is None or count != own.num_landmarks):
            others["nystrom", count] = partial(variants.nystrom, num_landmarks=count)
    if own is not None and own.inverse.pinv == "iterative" and not own.is_exact(first.dims.max_seq_len):
        others["exact inverse", own.num_landmarks] = partial(variants.nystrom, pinv="exact", coarse_landmarks=0)
    return others


@torch.inference_mode()
def predicted_classes(model: nn.Module, batches: Sequence[Batch], advance: Callable[[], object]) -> np.ndarray:
    """Predict the classes of all examples, `[X]`; `advance` is called after each batch."""
    model.eval()
    classes = []
    with torch.compiler.set_stance("force_eager"):
        for batch in batches:
            classes.append(model(batch.tokens, batch.valid).argmax(-1))
            advance()
    return torch.cat(classes).numpy()


def measure_swaps(
    model: nn.Module,
    backends: list[AttentionBackend],
    variants: Variants,
    batches: Sequence[Batch],
    advance: Callable[[str], object],
) -> list[Swap]:
    """Measure the model with each substitute on the same examples, its own attentions first.

    Batches are those of an evaluation, because a protocol may have constants of a batch. Its groups of examples stay
    those of the model.
    """
    labels = np.concatenate([batch.label.numpy() for batch in batches])
    swaps: list[Swap] = []
    trained = np.empty(0)
    for (name, count), substitute in substitutes(backends[0], variants).items():
        with swapped(model, {backend: substitute(backend) for backend in backends}):
            predicted = predicted_classes(model, batches, partial(advance, name))
        if name == "trained":
            trained = predicted
        difference = (predicted == labels).astype(float) - (trained == labels)
        accuracy = float((predicted == labels).mean())
        swaps.append(
            Swap(
                name=name,
                num_landmarks=count,
                accuracy=accuracy,
                error=binomial_error(accuracy, len(labels)),
                difference=float(difference.mean()),
                difference_error=float(difference.std() / np.sqrt(len(labels))),
                agreement=float((predicted == trained).mean()),
            )
        )
    return swaps
