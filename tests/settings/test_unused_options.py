"""A typed option that cannot change a run is refused; one that may, and what files set, is taken."""

from pathlib import Path

import pytest
import torch

import lra
from lra.from_config import build_model
from lra.settings.check_overrides import check_overrides
from lra.settings.compose import compose_config, load_config
from lra.settings.unused_options import has_effect
from lra.settings.which_run import config_hash
from lra.types import UserError

COSINE = ["recipe.schedule._target_=torch.optim.lr_scheduler.CosineAnnealingLR", "~recipe.schedule.steps"]
COSINE += ["~recipe.schedule.warmup_fraction", "+recipe.schedule.T_max=${recipe.steps}"]
# The words before the option, the option, and what to type so that it has an effect; None where nothing gives it one.
CASES = [
    ("", "attention.pinv_rtol=1e-5", "attention.pinv=exact"),
    ("", "attention.kmeans_steps=5", "attention.landmark_rule=kmeans"),
    ("attention.pinv=exact", "attention.pinv_iterations=3", "attention.pinv=iterative"),
    ("attention.pinv=exact", "attention.pinv_start=per_matrix", "attention.pinv=iterative"),
    ("attention=landmark", "attention.pinv_ridge=0.5", "attention.pinv=regularised"),
    ("attention.value_skip_taps=0", "attention.value_skip_form=product", "attention.value_skip_taps=35"),
    ("protocol=clean", "attention.exact_when_short=false", "attention.landmarks=padded"),
    ("protocol.nystrom_landmarks=valid", "attention.exact_when_short=false", "attention.landmarks=padded"),
    ("attention=performer attention.kernel=relu", "attention.key_maximum=per_head", "attention.kernel=softmax"),
    ("mixer=s4d", "model.num_heads=4", None),
    ("mixer=gated", "model.head_dim=16", None),
    ("mixer=mamba2", "model.head_dim=16", None),
    ("mixer=s4d model.dropout=0", "mixer.inner_dropout=true", "model.dropout=0.1"),
    ("model.head=linear", "model.head_hidden=64", "model.head=hidden"),
    ("task=image protocol=s4", "model.token_std=0.5", "model.inputs=tokens"),
    ("model.dropout=0", "model.embedding_dropout=false", "model.dropout=0.1"),
    ("model.dropout=0", "model.tied_dropout=true", "model.dropout=0.1"),
    ("model.num_layers=1", "model.tied_layers=true", "model.num_layers=2"),
    ("task=text", "task.least_count=3", "protocol.text_symbols=characters"),
    ("task=image", "task.pixel_mean=0.3", "protocol.pixels=values"),
    ("", "+trainer.gradient_clip_algorithm=value", "+trainer.gradient_clip_val=1"),
    (" ".join(COSINE), "recipe.warmup_fraction=0.3", None),
    ("recipe.schedule.warmup_fraction=0.2", "recipe.warmup_fraction=0.3", None),
]


@pytest.mark.parametrize("before, option, right", CASES)
def test_an_option_that_another_one_turns_off_is_refused(before, option, right):
    key = option.partition("=")[0].lstrip("+")
    with pytest.raises(UserError) as error:
        lra.compose(*before.split(), option)
    assert (error.value.kind, error.value.key, error.value.right) == ("no_effect", key, right)
    assert has_effect(compose_config("train", [*before.split(), option]), key) is False
    if right is not None:
        turned_on = [*before.split(), option, right]
        assert has_effect(compose_config("train", turned_on), key)
        check_overrides("train", turned_on, sweep=False)


@pytest.mark.parametrize(
    "words",
    [
        "attention.pinv_rtol=1e-4",  # the value that it has anyway
        "attention=landmark protocol.pinv_start=per_matrix",  # a protocol's switches are of all attentions
        "attention=full protocol.nystrom_landmarks=valid",
        "attention.landmark_rule=kmeans attention.kmeans_steps=5",
        "attention.value_skip_form=product",
        "mixer=mamba2 model.num_heads=4",
        "mixer=s4d protocol=s4 task=listops mixer.inner_dropout=true",
        "task=retrieval model.head=linear model.head_hidden=64",
        "recipe.warmup_fraction=0.3",
        "hydra.mode=RUN attention.pinv_rtol=1e-5",  # one run of a sweep
    ],
)
def test_what_may_have_an_effect_is_taken(words):
    check_overrides("train", words.split(), sweep=False)


@pytest.mark.parametrize(
    "words, refused",
    [
        ("attention.pinv=exact,iterative attention.pinv_rtol=1e-5", False),
        ("attention.pinv=none,iterative attention.pinv_rtol=1e-5,1e-6", True),
        ("attention.pinv=iterative,exact attention.pinv_rtol=1e-5,1e-4 seed=0,1", False),
        ("protocol=clean,paper attention.exact_when_short=false", False),
        ("mixer=s4d,mamba2 model.num_heads=4", False),
        ("mixer=s4d,gated model.num_heads=4", True),
        ("mixer=s4d,attention model.num_heads=4", False),
        ("sweep=tune attention=nystrom model.tied_dropout=true", False),  # its file varies the dropout
    ],
)
def test_in_a_sweep_it_is_enough_that_it_has_an_effect_in_one_run(words, refused):
    if not refused:
        check_overrides("train", words.split(), sweep=True)
        return
    with pytest.raises(UserError) as error:
        check_overrides("train", words.split(), sweep=True)
    assert error.value.kind == "no_effect"


def test_a_file_may_set_what_has_no_effect(tmp_path, monkeypatch):
    (tmp_path / "conf/experiment").mkdir(parents=True)
    (tmp_path / "conf/experiment/mine.yaml").write_text("# @package _global_\nattention: {pinv_rtol: 0.01}\n")
    monkeypatch.setenv("LRA_CONF_PATH", str(tmp_path / "conf"))
    assert lra.compose("experiment=mine").attention.pinv_rtol == 0.01


def test_a_command_says_so_in_one_line_and_writes_nothing(home, refused):
    error = refused("train", "size=tiny", "logger=csv", "attention.pinv_rtol=1e-5")
    assert (error.kind, error.key, error.value) == ("no_effect", "attention.pinv_rtol", 1e-5)
    assert refused("table", "plan", "attention=nystrom", "attention.pinv_rtol=1e-5").kind == "no_effect"
    assert not Path(home).exists()


@pytest.mark.parametrize(
    "words",
    [
        ["model.head=linear", "model.head_hidden=64"],
        ["model.dropout=0", "model.embedding_dropout=false"],
        ["model.dropout=0", "model.tied_dropout=true"],
        ["model.num_layers=1", "model.tied_layers=true"],
        ["task=image", "protocol=s4", "model.token_std=0.5"],
    ],
    ids=str,
)
def test_the_option_of_the_model_has_indeed_no_effect_but_on_the_hash(words):
    cfgs = [load_config("train", ["size=tiny", *chosen]) for chosen in (words, words[:-1])]
    assert config_hash(cfgs[0]) != config_hash(cfgs[1])
    found = []
    for cfg in cfgs:
        torch.manual_seed(0)
        model = build_model(cfg).train()
        tokens = torch.randint(1, 16, (2, 1, 40))
        logits = model(tokens / 16 if cfg.model.inputs == "values" else tokens, None, packed=False)
        found.append([logits, *torch.autograd.grad(logits.square().sum(), list(model.parameters()))])
    assert all(map(torch.equal, *found))


def test_an_attention_of_ones_own_that_says_nothing_may_be_rotated(tmp_path, monkeypatch):
    (tmp_path / "conf/attention").mkdir(parents=True)
    for name, target in (("mine", "lra.attention.linear.LinearAttention"), ("made", "operator.add")):
        content = f"name: {name}\n_target_: {target}\n_partial_: true\n"
        (tmp_path / f"conf/attention/{name}.yaml").write_text(content)
    monkeypatch.setenv("LRA_CONF_PATH", str(tmp_path / "conf"))
    for name in ("mine", "made"):
        assert lra.compose(f"attention={name}", "model.positions=rotary").model.positions == "rotary"
