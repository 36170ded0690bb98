"""The probes: their generators against slow twins, their labels from their tokens, and what a function may be given."""

import importlib
import random

import numpy as np
import pytest
import yaml

from data_prep.probes.source import NOT_FOR_THE_FUNCTION
from data_prep.probes.words import multiplication_table
from lra.base.paths import conf_names, read_choice
from lra.base.probes import probe_named
from lra.cli import main
from lra.types import UserError
from tests.reference import probes as twins

PROBES = [name for name in conf_names("task") if probe_named(name)]
SIZES = ("full", "tiny")
COUNT = 2000
SIGMAS = 5.5  # a frequency may be off by so many standard deviations: of 10,000 that are compared none is, by chance


def function_and_settings(task: str, size: str):
    file = read_choice("task", task)
    module, _, name = file["open_source"]["generate"]["_target_"].rpartition(".")
    settings = {key: value for key, value in file["sizes"][size].items() if key not in NOT_FOR_THE_FUNCTION}
    return getattr(importlib.import_module(module), name), settings, file["sizes"][size]["seq_len"]


def in_words(drawn) -> list[list[str]]:
    return [[drawn.words[token - 1] for token in row] for row in drawn.tokens.tolist()]


@pytest.mark.some_fast(8)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("task", PROBES)
def test_the_label_of_each_example_follows_from_its_tokens(task, size, training):
    generate, settings, length = function_and_settings(task, size)
    drawn = generate(np.random.default_rng(0), 300, length=length, training=training, **settings)
    labels = [twins.label_of(task, words, settings) for words in in_words(drawn)]
    assert labels == drawn.labels.tolist()
    assert len(set(labels)) > 1


def frequencies(examples: list[list[str]], labels: list[int]) -> dict[object, int]:
    """How often each word stands at each place, how often each label is, and how many different words examples have."""
    counts: dict[object, int] = {}
    for words, label in zip(examples, labels, strict=True):
        for key in (*enumerate(words), ("label", label), ("different", len(set(words)))):
            counts[key] = counts.get(key, 0) + 1
    return counts


def test_at_distance_0_the_marked_tokens_have_the_label():
    generate, settings, length = function_and_settings("lag", "tiny")
    settings["distance"] = 0
    drawn = generate(np.random.default_rng(0), 300, length=length, training=True, **settings)
    marked = [{word for word in words if word.endswith("!")} for words in in_words(drawn)]
    assert marked == [{f"{label}!"} for label in drawn.labels.tolist()]


def test_one_token_of_lag_says_nothing_of_the_label():
    generate, settings, length = function_and_settings("lag", "tiny")
    settings |= {"distance": length // 2, "marks": 3, "noise": 0.25}
    drawn = generate(np.random.default_rng(0), 20 * COUNT, length=length, training=True, **settings)
    values = settings["values"]
    is_marked_NL, has_label_NL = drawn.tokens > values, (drawn.tokens - 1) % values == drawn.labels[:, None]
    for of_mark_NL in (is_marked_NL, ~is_marked_NL):
        drawn_L, found_L = of_mark_NL.sum(axis=0), (has_label_NL & of_mark_NL).sum(axis=0)
        assert (np.abs(found_L - drawn_L / values) <= SIGMAS * (drawn_L * (values - 1)) ** 0.5 / values).all()


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("task", PROBES)
def test_a_generator_draws_as_its_slow_twin(task, training):
    generate, settings, length = function_and_settings(task, "tiny")
    if task == "lag":
        settings["noise"] = 0.25  # the file has none
    drawn = generate(np.random.default_rng(0), COUNT, length=length, training=training, **settings)
    rng = random.Random(0)
    slow = [getattr(twins, task)(rng, length=length, training=training, **settings) for _ in range(COUNT)]
    fast_counts = frequencies(in_words(drawn), drawn.labels.tolist())
    slow_counts = frequencies([words for words, _ in slow], [label for _, label in slow])
    for key in fast_counts.keys() | slow_counts.keys():
        a, b = fast_counts.get(key, 0) / COUNT, slow_counts.get(key, 0) / COUNT
        p = (a + b) / 2
        assert abs(a - b) <= SIGMAS * (p * (1 - p) * 2 / COUNT) ** 0.5 + 2 / COUNT, (key, a, b)


@pytest.mark.parametrize("group", ["Z2", "Z6", "S3", "A4", "A5", "S4", "A4xZ5", "S3xZ2"])
def test_the_table_of_a_group_is_that_of_its_elements(group):
    table, elements = multiplication_table(group), twins.elements_of(group)
    number_of = {element: number for number, element in enumerate(elements)}
    expected = [[number_of[twins.multiplied(a, b, group)] for b in elements] for a in elements]
    assert table.tolist() == expected
    assert table[0].tolist() == [*range(len(elements))]  # 0 is the identity


def test_the_three_groups_of_sixty_elements_differ():
    tables = {group: multiplication_table(group) for group in ("Z60", "A4xZ5", "A5")}
    commuting = {group: float((table == table.T).mean()) for group, table in tables.items()}
    assert all(len(table) == 60 for table in tables.values())
    assert commuting["Z60"] == 1 > commuting["A4xZ5"] > commuting["A5"]  # classes / elements: 60, 20 and 5 of 60


@pytest.mark.parametrize("group", ["Q8", "S6", "Z1", "A2", "", "S3x", "Z2000"])
def test_an_unknown_group_is_refused(group):
    with pytest.raises(UserError) as error:
        multiplication_table(group)
    assert error.value.kind == "wrong_value"


@pytest.fixture
def data(tmp_path, monkeypatch):
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "data/stores"


def stored(task: str, *overrides: str) -> dict[str, list[tuple[bytes, int]]]:
    import lra

    cfg = lra.compose(f"task={task}", "size=tiny", *overrides)
    lra.prepare_data(cfg)
    splits = lra.build_datamodule(cfg).splits
    return {
        name: [(split.example(i)[0][0].tobytes(), int(split.example(i)[1])) for i in range(len(split))]
        for name, split in splits.items()
    }


@pytest.mark.slow
def test_no_dev_or_test_example_is_another_one_or_in_the_training_part(data):
    few = [f"task.sizes.tiny.{key}" for key in ("train=2000", "test=200", "blanks=0")]  # of 1,296 words
    parts = stored("words", *few)
    train, dev, test = ([tokens for tokens, _ in parts[name]] for name in ("train", "dev", "test"))
    assert len(dev) + len(test) == len({*dev, *test}) == 232
    assert not {*train} & {*dev, *test}


def test_each_of_the_data_settings_has_a_store_of_its_own(data):
    four, eight = (stored("recall", f"task.sizes.tiny.pairs={pairs}") for pairs in (4, 8))
    assert len([*(data / "recall").glob("tiny-*")]) == 2
    assert stored("recall", "task.sizes.tiny.pairs=4") == four != eight
    assert stored("recall", "task.sizes.tiny.pairs=4", "task.sizes.tiny.data_seed=1") != four


@pytest.mark.parametrize(
    "overrides, kind, key",
    [
        (["task=recall", "source=download"], "wrong_value", "source"),
        (["task=recall", "task.sizes.tiny.pairs=17"], "contradiction", "task.data.pairs"),
        (["task=noisy_recall", "task.sizes.tiny.queries=30"], "contradiction", "task.data.pairs"),
        (["task=lag", "task.sizes.tiny.marks=9"], "contradiction", "task.data.marks"),
        (["task=lag", "task.sizes.tiny.distance=31"], "contradiction", "task.data.marks"),
        (["task=words", "task.sizes.tiny.word=5"], "contradiction", "task.data.word"),
        (["task=words", "task.sizes.tiny.group=A4"], "wrong_value", "task.spec.num_classes"),
        (["task=words", "task.sizes.tiny.group=Z2", "task.sizes.tiny.blanks=0"], "too_few_examples", "task.data.test"),
        (["task=recall", "task.sizes.tiny.keys=200"], "wrong_value", "task.spec.vocab_size"),
        (["task=selective_copy", "task.sizes.tiny.queries=31"], "contradiction", "task.data.marked"),
    ],
)
def test_settings_that_no_example_can_have_are_refused(data, overrides, kind, key):
    import lra

    with pytest.raises(UserError) as error:
        lra.prepare_data(lra.compose("size=tiny", *overrides))
    assert (error.value.kind, error.value.key) == (kind, key)
    assert not list(data.rglob("manifest.json"))


def test_the_options_of_a_probe_are_those_of_its_function(data, capsys):
    assert main(["prepare", "task=recall", "size=tiny", "task.sizes.tiny.pairs=0"]) == 2
    assert main(["prepare", "task=recall", "size=tiny", "task.sizes.tiny.marks=3"]) == 2
    wrong, unknown = capsys.readouterr().err.splitlines()
    assert "pairs=0" in wrong
    assert "marks" in unknown


OWN = """
import numpy as np
from data_prep.probes.drawn import Drawn

def first(rng, count, *, length, training, values: int):
    tokens = rng.integers(0, values, (count, length))
    return Drawn(1 + tokens, tokens[:, 0], [f"w{value}" for value in range(values)])
"""


@pytest.mark.slow
def test_a_run_on_a_probe_is_tested_again_on_the_data_of_its_settings(data, result_of):
    settings = ("task=recall", "size=tiny", "task.sizes.tiny.pairs=4", "attention=average", "logger=csv")
    assert main(["train", *settings, "recipe.steps=2", "recipe.eval_every=2"]) == 0
    (folder,) = (data.parents[1] / "runs").rglob("seed0")
    assert result_of("evaluate", f"run={folder}").is_as_recorded


@pytest.mark.slow
def test_a_probe_of_ones_own_is_one_function_and_one_file(data, tmp_path, monkeypatch, capsys):
    (tmp_path / "my_probes.py").write_text(OWN)
    monkeypatch.syspath_prepend(str(tmp_path))
    file = read_choice("task", "most_frequent")
    file |= {"name": "first"}
    file["spec"] |= {"name": "first"}
    file["open_source"]["generate"]["_target_"] = "my_probes.first"
    (tmp_path / "conf/task").mkdir(parents=True)
    (tmp_path / "conf/task/first.yaml").write_text(yaml.safe_dump(file))
    settings = ("task=first", "size=tiny", "attention=nystrom", "logger=csv", "recipe.steps=4")
    assert main(["train", *settings, "--config-dir", "conf"]) == 0
    assert main(["show", "data", "task=first", "size=tiny", "--config-dir", "conf"]) == 0
    assert "w0" in capsys.readouterr().out
    assert main(["train", *settings, "--config-dir", "conf", "--cfg", "job"]) == 0
    assert yaml.safe_load(capsys.readouterr().out)["attention"]["num_landmarks"] == 8  # as for lra's own probes
