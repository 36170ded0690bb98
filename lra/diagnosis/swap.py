"""Put other attentions into a trained model, without training it further, and count what it then gets right.

Letters: X examples.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial

import numpy as np
import torch
from torch import nn

from lra.attention.base import AttentionBackend
from lra.attention.nystrom import NystromAttention
from lra.diagnosis.curves import COUNTS
from lra.diagnosis.schema import Swap
from lra.diagnosis.variants import Variants
from lra.results.statistics import binomial_error
from lra.types import Batch

Substitute = Callable[[AttentionBackend], AttentionBackend]


@contextmanager
def swapped(model: nn.Module, others: Mapping[AttentionBackend, AttentionBackend]) -> Iterator[None]:
    """Within this context, each attention of the model is another one; its projections and all else stay."""
    places = [
        (parent, name, child)
        for parent in model.modules()
        for name, child in parent.named_children()
        if isinstance(child, AttentionBackend) and child in others
    ]
    try:
        for parent, name, child in places:
            setattr(parent, name, others[child])
        yield
    finally:
        for parent, name, child in places:
            setattr(parent, name, child)


def substitutes(first: AttentionBackend, variants: Variants) -> dict[tuple[str, int | None], Substitute]:
    """List what is put in place of a model's attentions, by name and number of landmarks.

    Args:
        first: one of the model's attentions; all have the same settings.
        variants: makes the others.
    """
    own = first if isinstance(first, NystromAttention) else None
    others: dict[tuple[str, int | None], Substitute] = {
        ("trained", None): lambda backend: backend,
        ("exact", None): variants.exact,
        ("none", None): variants.silent,
    }
    for count in (1, *COUNTS):
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
