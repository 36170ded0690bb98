"""Attentions in place of a trained model's own."""

from functools import partial

import pytest
import torch

from lra.attention.base import AttentionBackend
from lra.attention.full import FullAttention
from lra.model.classifier import in_padded_form
from lra.tools.diagnosis.matrices import attentions
from lra.tools.diagnosis.swap import measure_swaps, predicted_classes, substitutes, swapped
from tests.tools.diagnosis.models import batch_of, model_of

BATCH = batch_of(256, 120, 77, 9, 30, 256, 200, 64)


def logits(model, substitute=lambda backend: backend):
    others = {backend: substitute(backend) for backend in attentions(model, "it")}
    with torch.no_grad(), swapped(model, others):
        return model(BATCH.tokens, BATCH.valid), in_padded_form(model, BATCH.tokens, BATCH.valid)


@pytest.mark.slow
def test_exact_attention_in_place_of_full_attention_changes_nothing():
    model, variants = model_of("attention=full")
    for mine, other in zip(logits(model), logits(model, variants.exact), strict=True):
        torch.testing.assert_close(other, mine, atol=1e-6, rtol=1e-5)
    swaps = {(swap["name"], swap["num_landmarks"]): swap for swap in swaps_of(model, variants)}
    assert swaps["exact", None] == {**swaps["trained", None], "name": "exact"}
    assert ("exact inverse", 64) not in swaps


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings",
    [
        ["protocol=paper"],
        ["protocol=clean"],
        ["protocol=paper", "attention.masking=kernel_3"],
        ["protocol=paper", "attention.exact_when_short=false"],
        ["protocol=clean", "attention.exact_when_short=false", "attention.landmark_rule=strided"],
    ],
    ids=" ".join,
)
def test_a_nystrom_model_keeps_its_value_skip_and_its_other_choices(settings):
    model, variants = model_of("attention=nystrom", "attention.num_landmarks=16", *settings)
    same = logits(model, lambda backend: variants.nystrom(backend))
    for mine, other, exact in zip(logits(model), same, logits(model, variants.exact), strict=True):
        torch.testing.assert_close(other, mine)
        assert (exact - mine).abs().max() > 1e-5
    packed, padded = logits(model, variants.silent)
    torch.testing.assert_close(packed, padded, atol=1e-6, rtol=1e-5)
    for backend in attentions(model, "it"):
        backend.value_skip.data.zero_()
    full = partial(FullAttention, kernel="fused", attention_dropout=0.0)
    for variant, same in ((variants.silent, Zero), (variants.exact, full)):
        mine, other = logits(model, variant), logits(model, lambda backend, same=same: same(backend.dims))
        torch.testing.assert_close(mine[1], other[1], atol=1e-6, rtol=1e-5)


class Zero(AttentionBackend):
    def forward(self, q, k, v, valid):
        return 0 * v


def test_random_landmarks_stay_where_they_are():
    model, variants = model_of("attention=nystrom", "attention.landmark_rule=random")
    same = logits(model, lambda backend: variants.nystrom(backend))
    torch.testing.assert_close(same[0], logits(model)[0])
    torch.testing.assert_close(
        logits(model, lambda backend: variants.nystrom(backend, num_landmarks=8)),
        logits(model, lambda backend: variants.nystrom(backend, num_landmarks=8)),
    )


def breaks(model, others):
    own = attentions(model, "it")
    with swapped(model, others):
        assert not set(own) & set(attentions(model, "it"))
        raise ZeroDivisionError


def test_the_model_is_as_before_also_after_an_error():
    model, variants = model_of("attention=linformer")
    before, own = logits(model)[0], attentions(model, "it")
    with pytest.raises(ZeroDivisionError):
        breaks(model, {backend: variants.exact(backend) for backend in own})
    assert attentions(model, "it") == own
    assert torch.equal(logits(model)[0], before)


def test_tied_layers_are_swapped_together():
    model, variants = model_of("attention=nystrom", "model.tied_layers=true")
    assert len(attentions(model, "it")) == 1
    assert (logits(model)[0] - logits(model, variants.exact)[0]).abs().max() > 1e-6


def swaps_of(model, variants, advance=lambda name: None):
    return measure_swaps(model, attentions(model, "it"), variants, [BATCH, BATCH], advance)


def test_what_is_put_in_place():
    model, variants = model_of("attention=nystrom")
    counts = [None, None, None, 1, 8, 16, 32, 128, 64]
    names = ["trained", "exact", "none", *["nystrom"] * 5, "exact inverse"]
    assert list(substitutes(attentions(model, "it")[0], variants)) == list(zip(names, counts, strict=True))


def test_accuracies_differences_and_agreement_are_over_the_same_examples():
    model, variants = model_of("attention=nystrom", "attention.num_landmarks=8")
    turns = []
    swaps = {(swap["name"], swap["num_landmarks"]): swap for swap in swaps_of(model, variants, turns.append)}
    right = (predicted_classes(model, [BATCH], lambda: None) == BATCH.label.numpy()).mean()
    trained = swaps["trained", None]
    assert trained["accuracy"] == pytest.approx(right)
    assert (trained["difference"], trained["difference_error"], trained["agreement"]) == (0, 0, 1)
    for swap in swaps.values():
        assert swap["accuracy"] - right == pytest.approx(swap["difference"])
        assert swap["error"] == pytest.approx((swap["accuracy"] * (1 - swap["accuracy"]) / 16) ** 0.5)
    assert turns == [name for name, _ in swaps for _ in range(2)]
