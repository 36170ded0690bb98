"""lra.from_config.step_flops: products are counted as they are, in both stages of a pretrained run."""

import pytest

from lra.from_config.pretraining import build_masked_model, masked_batch
from lra.from_config.step_flops import CPU, count_pretraining_step_flops, count_step_flops, full_batch
from lra.settings.compose import load_config
from lra.settings.pretrain import stage_config

WORDS = ("task=image", "size=tiny")


@pytest.mark.slow
@pytest.mark.parametrize("pretrained", [False, True])
def test_the_flops_of_a_step_are_those_of_its_products_and_grow_with_the_batch(pretrained):
    def counted(attention, batch):
        cfg = load_config("train", [*WORDS, f"attention={attention}", f"recipe.batch_size={batch}", "pretrain=masked"])
        return count_pretraining_step_flops(stage_config(cfg)) if pretrained else count_step_flops(cfg)

    assert counted("none", 4) == 2 * counted("none", 2)
    cfg = load_config("train", WORDS)
    length, width, layers = cfg.task.data.seq_len, cfg.model.width, cfg.model.num_layers
    products = 2 + 5  # of L × L × width in fused attention, forward and backward, which computes the scores again
    assert counted("full", 1) - counted("none", 1) == layers * products * 2 * length**2 * width


@pytest.mark.slow
def test_a_pretraining_computes_its_head_where_a_position_is_masked():
    flops, masked = [], []
    for fraction in (0.2, 0.7):
        words = [*WORDS, "attention=none", "pretrain=masked", "recipe.batch_size=1", f"pretrain.fraction={fraction}"]
        stage = stage_config(load_config("train", words))
        model = build_masked_model(stage)
        flops.append(count_pretraining_step_flops(stage))
        masked.append(len(masked_batch(full_batch(stage, 1, CPU), stage, model).label))
    products = 3 * 2 * model.head.in_features * model.head.out_features  # forward, and both gradients
    assert flops[1] - flops[0] == products * (masked[1] - masked[0]) > 0
