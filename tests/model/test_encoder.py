"""The shared encoder: the released models' sizes, and their arithmetic."""

import math

import pytest
import torch

from lra import from_config
from lra.base.paths import conf_dir, conf_names
from lra.model.classifier import count_parameters
from lra.model.pooling import MaskedMean
from lra.settings.compose import load_config
from tests.reference.model import PlainClassifier

# Parameters of the models that Xiong et al. released; those of pathfinder follow from image's with two classes.
RELEASED = [
    ("listops", "full", 209_802),
    ("listops", "nystrom", 209_942),
    ("listops", "linformer", 1_258_378),
    ("text", "linformer", 2_467_714),
    ("retrieval", "linformer", 2_492_290),
    ("image", "linformer", 699_274),
    ("pathfinder", "linformer", 698_242),
    ("listops", "performer", 209_802),
    ("text", "full", 370_562),
    ("text", "nystrom", 370_702),
    ("retrieval", "full", 395_138),
    ("retrieval", "nystrom", 395_278),
    ("image", "full", 174_986),
    ("image", "nystrom", 175_126),
    ("pathfinder", "full", 173_954),
    ("pathfinder", "nystrom", 174_094),
]


def cfg_of(*overrides: str):
    return load_config("train", overrides)


@pytest.mark.some_fast(4)
@pytest.mark.parametrize("task, attention, parameters", RELEASED)
def test_parameters_equal_the_released_models(task, attention, parameters):
    cfg = cfg_of(f"task={task}", f"attention={attention}")
    assert count_parameters(from_config.build_model(cfg)) == parameters


# The switches of a model that is the plain one.
PAPERS_WAY = {"pooling": "padded_mean", "pinv_start": "batch", "nystrom_landmarks": "padded"}


@pytest.mark.parametrize(
    "protocol", [name for name in conf_names("protocol") if not (conf_dir() / "model" / name).is_dir()]
)
def test_outputs_and_gradients_equal_the_model_as_the_paper_wrote_it(protocol):
    """With the paper's switches the plain model is the same function; with clean ones it is not."""
    torch.manual_seed(0)
    cfg = cfg_of("size=tiny", f"protocol={protocol}", "model.dropout=0.0")
    model = from_config.build_model(cfg).double()
    plain = PlainClassifier(vocab=32, length=256, classes=10, dropout=0.0).double()
    plain.take_weights(model)
    tokens = torch.randint(1, 16, (3, 1, 256))
    tokens[0, :, 200:] = 0
    tokens[1, :, 30:] = 0
    ours, theirs = model(tokens, tokens != 0), plain(tokens, tokens != 0)
    as_written = {key: getattr(cfg.protocol, key) for key in PAPERS_WAY} == PAPERS_WAY
    assert torch.allclose(ours, theirs, atol=1e-9) == as_written
    if as_written:
        ours.square().sum().backward()
        theirs.square().sum().backward()
        torch.testing.assert_close(model.encoder.embedding.token.weight.grad, plain.token.weight.grad)
        grad = model.encoder.blocks[0].mixer.backend.value_skip.grad
        torch.testing.assert_close(grad, plain.blocks[0].attention.conv.weight.grad[:, 0, :, 0])


@pytest.mark.parametrize("attention", ["full", "nystrom"])
def test_padding_content_and_an_all_padding_row_through_the_whole_model(attention):
    model = from_config.build_model(cfg_of("size=tiny", f"attention={attention}")).eval()
    tokens = torch.randint(1, 16, (3, 1, 256))
    valid = torch.rand(3, 1, 256) < 0.6
    valid[2] = False
    other = torch.where(valid, tokens, torch.randint(1, 16, tokens.shape))
    assert model(tokens, valid).equal(model(other, valid))
    assert model(tokens, valid).isfinite().all()


def test_retrieval_sees_both_documents_and_their_order():
    model = from_config.build_model(cfg_of("task=retrieval", "size=tiny", "protocol=clean")).eval()
    tokens = torch.randint(1, 257, (2, 2, 256))
    assert not torch.allclose(model(tokens, None), model(tokens.flip(1), None))
    mixed = tokens.clone()
    mixed[:, 1] = torch.randint(1, 257, (2, 256))
    assert not torch.allclose(model(tokens, None), model(mixed, None))


def test_embeddings_start_as_the_released_code_has_them():
    model = from_config.build_model(cfg_of())
    for table in (model.encoder.embedding.token.weight, model.encoder.embedding.position):
        assert table.std().item() == pytest.approx(0.02, rel=0.1)
    bound = 1 / math.sqrt(64)
    for linear in (model.encoder.blocks[0].mixer.qkv, model.encoder.blocks[0].mixer.out):
        assert bound * 0.9 < linear.weight.abs().max() <= bound


@pytest.mark.parametrize("over, expected", [("padded_mean", 3 / 4), ("valid_mean", 3 / 2)])
def test_pooling_divides_by_what_its_name_says(over, expected):
    x = torch.tensor([[[1.0], [2.0], [7.0], [9.0]]])
    valid = torch.tensor([[True, True, False, False]])
    assert MaskedMean(over)(x, valid).item() == expected
    assert MaskedMean(over)(x, None).item() == 19 / 4
    assert MaskedMean(over)(x, torch.zeros_like(valid)).item() == 0


def test_attention_computes_in_float32_under_mixed_precision():
    model = from_config.build_model(cfg_of("size=tiny")).eval()
    seen = []
    backend = model.encoder.blocks[0].mixer.backend
    backend.register_forward_hook(lambda module, inputs, output: seen.append((inputs[0].dtype, output.dtype)))
    with torch.autocast("cpu", torch.bfloat16):
        model(torch.randint(1, 16, (2, 1, 256)), None)
    assert seen == [(torch.float32, torch.float32)]
