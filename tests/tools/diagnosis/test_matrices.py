"""The matrices of attentions: exact ones against the slow formula, all others against what `forward` computes."""

from contextlib import nullcontext
from functools import partial

import pytest
import torch
from hydra.utils import instantiate

from lra.attention.full import FullAttention
from lra.attention.nystrom import NystromAttention
from lra.tools.diagnosis import matrices
from lra.tools.diagnosis.landmark_matrices import attention_matrices
from lra.tools.diagnosis.matrices import ColumnMatrices, attentions, check_matrix, exact_matrices
from lra.types import UserError
from tests.attention.test_contract import HEADS, NAMES, PROTOCOLS, settings
from tests.reference import low_rank as slow
from tests.tools.diagnosis.models import batch_of, inputs_of, model_of, peaked

OF_MY_OWN = f"{__name__}.OfMyOwn"
FEW = {"num_landmarks": 16, "value_skip_taps": 0}


@pytest.mark.some_fast(12)
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", NAMES)
def test_the_matrix_of_any_attention_times_the_values_is_its_output_or_it_is_refused(name, protocol):
    inputs = peaked(instantiate(settings(name, protocol)), 70, 70, 41)
    found, out = ColumnMatrices(inputs.backend, inputs), inputs.attend(inputs.backend, inputs.v)
    checks = nullcontext() if inputs.backend.has_matrix else pytest.raises(UserError)
    with checks:
        for exact in exact_matrices(inputs):
            check_matrix(found.of(exact), exact, out, inputs.backend)
    for exact in exact_matrices(inputs) if inputs.backend.has_matrix else ():
        whole = out[exact.sequence, exact.head, exact.rows].double()
        torch.testing.assert_close(found.of(exact) @ exact.values, whole, atol=2e-4, rtol=1e-3)


@pytest.mark.parametrize(
    "options",
    [
        {"pinv_start": "batch", "landmarks": "padded"},
        {"masking": "kernel_3", "landmarks": "padded"},
        {"landmark_rule": "strided"},
        {"landmark_rule": "random", "landmark_source": "keys"},
        {"landmark_rule": "kmeans"},
        {"pinv": "regularised", "coarse_landmarks": 4},
        {"pinv": "exact", "pinv_rtol": 0.01},
        {"num_landmarks": 70, "landmarks": "padded", "exact_when_short": True},
    ],
    ids=str,
)
@torch.no_grad()
def test_the_product_of_nystrom_kernels_is_what_its_forward_makes_of_unit_vectors(options):
    inputs = peaked(instantiate(settings("nystrom", "clean", **FEW | options)), 70, 70, 9)
    found, by_column = attention_matrices(inputs.backend, inputs), ColumnMatrices(inputs.backend, inputs)
    assert not isinstance(found, ColumnMatrices)
    for exact in exact_matrices(inputs):
        torch.testing.assert_close(found.of(exact), by_column.of(exact), atol=1e-5, rtol=1e-4)


class OfMyOwn(NystromAttention):
    """Nyström attention that a user has derived, and whose output is another one."""

    def forward(self, q_BHLE, k_BHLE, v_BHLE, valid_BL):
        return 2 * super().forward(q_BHLE, k_BHLE, v_BHLE, valid_BL)


def test_the_matrix_of_a_derived_nystrom_attention_is_that_of_its_own_forward():
    base = settings("nystrom", "clean", **FEW)
    mine, plain = (peaked(instantiate(base | extra), 40, 40) for extra in ({"_target_": OF_MY_OWN}, {}))
    pairs = zip(exact_matrices(mine), exact_matrices(plain), strict=True)
    found, expected = (attention_matrices(inputs.backend, inputs) for inputs in (mine, plain))
    for exact, same in pairs:
        torch.testing.assert_close(found.of(exact), 2 * expected.of(same), atol=1e-5, rtol=1e-4)


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
    exact, out = next(exact_matrices(inputs)), inputs.attend(inputs.backend, inputs.v)
    found = attention_matrices(inputs.backend, inputs).of(exact)
    with pytest.raises(UserError, match=f"{kind.__name__} has no attention matrix to compare"):
        check_matrix(found, exact, out, inputs.backend)


def test_exact_matrices_are_those_of_the_formula_and_padding_is_no_part_of_them():
    inputs = peaked(instantiate(settings("full", "clean")), 20, 20, 13)
    full, places = attention_matrices(inputs.backend, inputs), []
    for exact in exact_matrices(inputs):
        places.append((exact.sequence, exact.head))
        real = inputs.valid[exact.sequence]
        assert exact.columns.tolist() == exact.rows.tolist() == real.nonzero().flatten().tolist()
        expected = slow.exact_attention(*(x[exact.sequence, exact.head, real].double() for x in (inputs.q, inputs.k)))
        torch.testing.assert_close(exact.matrix, expected)
        torch.testing.assert_close(full.of(exact), exact.matrix, atol=1e-6, rtol=1e-5)
        torch.testing.assert_close(exact.at(torch.tensor([2, 5])), exact.matrix[[2, 5]])
    assert places == [(sequence, head) for sequence in (0, 1) for head in range(HEADS)]


def test_of_long_sequences_a_sample_of_the_rows_is_compared(monkeypatch):
    monkeypatch.setattr(matrices, "MOST_ROWS", 9)
    inputs = peaked(instantiate(settings("full", "clean")), 20, 20, 5)
    exact = list(exact_matrices(inputs))
    assert [tuple(one.matrix.shape) for one in exact] == [(9, 20)] * HEADS + [(5, 5)] * HEADS
    again = next(exact_matrices(inputs))
    assert torch.equal(exact[0].rows, again.rows)
    assert exact[0].rows.tolist() == sorted(set(exact[0].rows.tolist()))
    mine = attention_matrices(inputs.backend, inputs).of(exact[0])
    torch.testing.assert_close(mine, exact[0].matrix, atol=1e-6, rtol=1e-5)


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


def test_weights_that_are_no_numbers_are_refused():
    model, _ = model_of("attention=nystrom")
    torch.nn.init.constant_(model.encoder.blocks[1].mixer.qkv.bias, float("nan"))
    with pytest.raises(UserError) as refused:
        inputs_of(model, batch_of(20))
    assert refused.value.kind == "not_finite"


def test_what_cannot_be_compared_is_refused():
    model, _ = model_of("mixer=s4d")
    with pytest.raises(UserError) as refused:
        inputs_of(model, batch_of(20))
    assert refused.value.kind == "no_attention"
