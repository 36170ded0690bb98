"""The matrices of attentions: exact ones against the slow formula, all others against what `forward` computes."""

from contextlib import nullcontext
from functools import partial

import pytest
import torch
from hydra.utils import instantiate

from lra.attention.full import FullAttention
from lra.diagnosis import matrices
from lra.diagnosis.matrices import attention_matrices, attentions, check_matrices, exact_matrices
from lra.types import UserError
from tests.attention.test_contract import NAMES, PROTOCOLS, settings
from tests.diagnosis.models import batch_of, inputs_of, model_of, peaked
from tests.reference import low_rank as slow


@pytest.mark.some_fast(12)
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", NAMES)
def test_the_matrix_of_any_attention_times_the_values_is_its_output_or_it_is_refused(name, protocol):
    inputs = peaked(instantiate(settings(name, protocol)), 70, 70, 41)
    exact = exact_matrices(inputs)
    found = attention_matrices(inputs.backend, inputs, exact)
    with pytest.raises(UserError) if not inputs.backend.has_matrix else nullcontext():
        check_matrices(found, inputs.backend, inputs, exact)
    if inputs.backend.has_matrix:
        for matrix, of_one, out in zip(found, exact, inputs.attend(inputs.backend, inputs.v), strict=True):
            whole = out[:, of_one.rows].double()
            torch.testing.assert_close(matrix @ of_one.values, whole, atol=2e-4, rtol=1e-3)


class MixesPartsOfValues(FullAttention):
    """Exact attention to values whose parts have changed places."""

    def forward(self, q_BHLE, k_BHLE, v_BHLE, valid_BL):
        return super().forward(q_BHLE, k_BHLE, v_BHLE.flip(-1), valid_BL)


class WeighsByValues(FullAttention):
    """Exact attention to values that are squared: the output is not linear in them."""

    def forward(self, q_BHLE, k_BHLE, v_BHLE, valid_BL):
        return super().forward(q_BHLE, k_BHLE, v_BHLE**2, valid_BL)


@pytest.mark.parametrize("kind", [MixesPartsOfValues, WeighsByValues])
def test_what_is_no_matrix_times_the_values_is_refused(kind):
    inputs = peaked(partial(kind, kernel="math", attention_dropout=0.0), 70, 70, 41)
    exact = exact_matrices(inputs)
    found = attention_matrices(inputs.backend, inputs, exact)
    with pytest.raises(UserError, match=f"{kind.__name__} has no attention matrix to compare"):
        check_matrices(found, inputs.backend, inputs, exact)


def test_exact_matrices_are_those_of_the_formula_and_padding_is_no_part_of_them():
    inputs = peaked(instantiate(settings("full", "clean")), 20, 20, 13)
    for number, exact in enumerate(exact_matrices(inputs)):
        real = inputs.valid[number]
        assert exact.columns.tolist() == exact.rows.tolist() == real.nonzero().flatten().tolist()
        for head in range(len(exact.matrix)):
            expected = slow.exact_attention(*(x[number, head, real].double() for x in (inputs.q, inputs.k)))
            torch.testing.assert_close(exact.matrix[head], expected)
        (full,) = attention_matrices(inputs.backend, inputs, exact_matrices(inputs))[number : number + 1]
        torch.testing.assert_close(full, exact.matrix, atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(exact.at(torch.tensor([2, 5])), exact.matrix[:, [2, 5]])


def test_of_long_sequences_a_sample_of_the_rows_is_compared(monkeypatch):
    monkeypatch.setattr(matrices, "MOST_ROWS", 9)
    inputs = peaked(instantiate(settings("full", "clean")), 20, 20, 5)
    first, second = exact_matrices(inputs)
    assert first.matrix.shape[1:] == (9, 20)
    assert second.matrix.shape[1:] == (5, 5)
    again = exact_matrices(inputs)[0]
    assert torch.equal(first.rows, again.rows)
    assert first.rows.tolist() == sorted(set(first.rows.tolist()))
    mine = attention_matrices(inputs.backend, inputs, [first, second])[0]
    torch.testing.assert_close(mine, first.matrix, atol=1e-6, rtol=1e-5)


def test_layers_get_what_the_model_computes_and_padding_is_zero():
    model, _ = model_of("attention=nystrom")
    batch = batch_of(200, 256, 0, 17)
    first, second = inputs_of(model, batch, sequences=2)
    assert first.q.shape == (2, 2, 256, 32)
    assert first.backend is not second.backend
    assert first.valid.sum(1).tolist() == [200, 256]
    assert not first.k[0, :, 200:].any()
    assert inputs_of(model, batch)[0].valid.sum(1).tolist() == [200, 256, 17], "one of nothing but padding is left out"
    block = model.encoder.blocks[0]
    x = block.mixer_norm(model.encoder.embedding(batch.tokens[:, 0]))
    q = block.mixer.qkv(x).unflatten(2, (3, 2, 32))[0, :200, 0].transpose(0, 1)
    torch.testing.assert_close(first.q[0, :, :200], q)


@pytest.mark.slow
@pytest.mark.parametrize("masking", ["all", "kernel_3"])
@torch.no_grad()
def test_a_layer_attends_as_it_does_in_the_model_also_where_padding_is_read(masking):
    model, _ = model_of("attention=nystrom", "attention.num_landmarks=16", f"attention.masking={masking}")
    batch, computed = batch_of(200, 256, 17), {}
    for backend in attentions(model, "it"):
        backend.register_forward_hook(lambda module, _, out: computed.__setitem__(module, out))
    layers = inputs_of(model, batch)
    for inputs, expected in zip(layers, list(computed.values()), strict=True):
        real = inputs.valid[:, None, :, None]
        torch.testing.assert_close(inputs.attend(inputs.backend, inputs.v) * real, expected * real)


def test_what_cannot_be_compared_is_refused():
    model, _ = model_of("mixer=s4d")
    with pytest.raises(UserError) as refused:
        inputs_of(model, batch_of(20))
    assert refused.value.kind == "no_attention"
