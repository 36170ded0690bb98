"""protocol=s4: sizes, rates and schedules of its authors' files; attentions beside S4D; what does not fit."""

from collections import Counter

import pytest
import torch

from lra import from_config
from lra.model.classifier import count_parameters
from lra.runs.schema import Record
from lra.settings.compose import load_config
from lra.settings.which_run import hashed_settings
from lra.types import UserError
from tests.tables.records import make_record, rows_by_name

SHORT = ("image", "listops")  # with models and recipes at size=short
TASKS = ("listops", "text", "retrieval", "image", "pathfinder", "pathx")
# Of the authors' modules, built with the options of their files.
PARAMETERS = dict(zip(TASKS, (815_162, 843_314, 1_096_498, 3_564_298, 1_190_402, 1_190_402), strict=True))
# Batch, steps, steps of the schedule, of its warm-up, learning rate.
RECIPES = {
    "listops": (32, 120_000, 120_000, 12_000, 0.01),
    "text": (16, 49_984, 50_000, 5_000, 0.01),
    "retrieval": (64, 45_960, 50_000, 5_000, 0.01),
    "image": (50, 180_000, 180_000, 18_000, 0.01),
    "pathfinder": (64, 500_000, 500_000, 50_000, 0.004),
    "pathx": (16, 500_000, 500_000, 50_000, 0.001),
}
# Learning rate and weight decay → parameters, by the authors' rules on their modules: their hooks see the backbone
# alone, so the token table and all biases outside the blocks decay.
GROUPS = {
    "listops": {(0.01, 0.05): 807_434, (0.001, 0.0): 48, (0.01, 0.0): 7_680},
    "text": {(0.01, 0.05): 835_074, (0.001, 0.0): 48, (0.01, 0.0): 8_192},
    "retrieval": {(0.01, 0.05): 1_088_258, (0.001, 0.0): 48, (0.01, 0.0): 8_192},
    "image": {(0.01, 0.05): 3_154_954, (0.001, 0.05): 393_216, (0.01, 0.0): 12_288, (0.001, 0.0): 3_840},
    "pathfinder": {(0.004, 0.05): 788_994, (0.001, 0.05): 196_608, (0.004, 0.0): 6_656, (0.001, 0.0): 198_144},
    "pathx": {(0.001, 0.05): 985_602, (0.001, 0.0): 204_800},
}


def composed(task: str, *words: str):
    return load_config("train", [f"task={task}", "protocol=s4", *words])


@pytest.mark.some_fast(2)
@pytest.mark.parametrize("task", TASKS)
def test_the_model_of_s4d_has_the_authors_number_of_parameters(task):
    assert count_parameters(from_config.build_model(composed(task, "mixer=s4d"))) == PARAMETERS[task]


@pytest.mark.parametrize("task", TASKS)
def test_recipes_are_the_authors(task):
    recipe = composed(task).recipe
    batch, steps, whole, warmup, rate = RECIPES[task]
    assert (recipe.batch_size, recipe.steps, recipe.optimizer.lr) == (batch, steps, rate)
    assert round(recipe.steps / recipe.schedule.trained_fraction) == whole
    assert round(recipe.schedule.warmup_fraction * whole) == warmup


@pytest.mark.some_fast(2)
@pytest.mark.parametrize("task", GROUPS)
def test_rates_and_weight_decay_of_every_parameter_are_the_authors(task):
    optimizer = from_config.build_module(composed(task, "mixer=s4d")).make_optimizer()
    found: Counter[tuple[float, float]] = Counter()
    for group in optimizer.param_groups:
        found[round(group["lr"], 12), group["weight_decay"]] += sum(p.numel() for p in group["params"])
    assert found == GROUPS[task]


@pytest.mark.parametrize("words, positions", [(["mixer=s4d"], False), (["attention=full"], True), ([], True)])
def test_attentions_have_positions_and_s4d_has_none(words, positions):
    model = from_config.build_model(composed("listops", "size=tiny", *words))
    assert (model.encoder.embedding.position is not None) is positions
    assert all(block.feed_forward is None for block in model.encoder.blocks)


def test_typed_words_come_before_the_protocols():
    cfg = composed("listops", "mixer=s4d", "mixer.states=8", "model.positions=learned", "recipe=text", "model=encoder")
    assert (cfg.mixer.states, cfg.model.positions, cfg.recipe.steps, cfg.model.num_layers) == (8, "learned", 20_000, 2)
    assert composed("listops", "mixer=s4d").mixer.init == "legs"
    assert load_config("train", ["mixer=s4d"]).mixer.init == "lin"


@pytest.mark.parametrize("task, words", [("image", ["mixer=s4d"]), ("listops", ["mixer=s4d"]), ("image", [])])
def test_padding_and_the_other_sequences_do_not_matter_in_evaluation(task, words):
    torch.manual_seed(0)
    model = from_config.build_model(composed(task, "size=tiny", "model.num_layers=2", *words)).double().eval()
    if task == "image":
        x, valid = torch.randn(2, 1, 256, dtype=torch.float64), None
    else:
        x = torch.randint(1, 17, (2, 1, 40))
        x[1, 0, 25:] = 0
        valid = x != 0
    logits = model(x, valid)
    alone = (
        model(x[1:, :, :25], None if valid is None else valid[1:, :, :25]) if valid is not None else model(x[1:], None)
    )
    torch.testing.assert_close(logits[1:], alone, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    "task, words",
    [
        ("image", ["protocol.pixels=tokens"]),
        ("image", ["model.inputs=tokens"]),
        ("text", ["protocol.text_symbols=bytes"]),
        ("image", ["protocol.pooling=cls"]),
    ],
)
def test_inputs_that_do_not_fit_the_model_are_refused(task, words, tmp_path, monkeypatch):
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path))
    cfg = composed(task, "size=tiny", *words)
    make = from_config.build_model if words == ["protocol.pooling=cls"] else from_config.build_data
    with pytest.raises(UserError, match="type"):
        make(cfg)


@pytest.mark.some_fast(2)
@pytest.mark.parametrize("words", [["mixer=s4d"], ["attention=full"], ["attention=nystrom"], ["attention=none"]])
@pytest.mark.parametrize("task", SHORT)
def test_the_short_models_share_width_and_depth_and_train(task, words):
    cfg = composed(task, "size=short", *words)
    assert (cfg.model.width, cfg.model.num_heads, cfg.model.num_layers) == (64, 2, 3)
    assert (cfg.recipe.steps, cfg.recipe.batch_size) == ({"image": 800, "listops": 300}[task], 32)
    whole = composed(task, *words)  # what is not of the size is the family's
    for key in (
        "model.norm_place",
        "model.dropout",
        "model.inputs",
        "recipe.optimizer.weight_decay",
        "model.positions",
    ):
        assert cfg.value(key) == whole.value(key)
    torch.manual_seed(0)
    module = from_config.build_module(cfg)
    optimizer = module.make_optimizer()
    before = [p.detach().clone() for p in module.parameters()]
    length = cfg.task.data.seq_len
    inputs = torch.randn(4, 1, length) if task == "image" else torch.randint(1, 18, (4, 1, length))
    for _ in range(2):
        loss = torch.nn.functional.cross_entropy(module.model(inputs, None), torch.arange(4))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert torch.isfinite(loss)
    assert any(not torch.equal(old, new) for old, new in zip(before, module.parameters(), strict=True))


@pytest.mark.parametrize("words", [["train"], ["table", "plan"], ["show", "model"]])
def test_a_task_without_a_short_recipe_is_refused(words, home, refused):
    error = refused(*words, "task=text", "protocol=s4", "size=short")
    assert (error.key, error.value, error.right) == ("task", "text", list(SHORT))
    assert composed("text", "size=short", "recipe=text_short").recipe.steps == 800, "what is typed counts"
    assert composed("text", "size=tiny").recipe.steps == 20


def test_the_rows_of_short_runs_are_named_by_the_method():
    """The family's published settings are those of the whole size: short runs do not differ from them by name."""
    records = []
    for seed, words in ((0, ["mixer=s4d"]), (1, ["mixer=s4d"]), (0, ["mixer=s4d", "model.width=32"])):
        record = make_record("listops", protocol="s4", seed=seed)
        identity = {**record["identity"], "attention": "s4d", "size": "short"}
        settings = hashed_settings(composed("listops", "size=short", *words))
        records.append(Record({**record, "identity": identity, "settings": settings}))
    assert list(rows_by_name(records)) == ["s4d", "s4d (model.width=32)"]
