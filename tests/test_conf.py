"""Every file of the Hydra tree composes, every task × attention cell builds and takes a step."""

import json
from pathlib import Path

import pytest
import torch
from torch.nn.functional import cross_entropy

from lra import from_config
from lra.base.paths import DESCRIPTION, conf_dir, read_choice
from lra.base.probes import probe_named
from lra.cli import main
from lra.runs.published_numbers import TOLERANCE_POINTS, paper_accuracy
from lra.settings.compose import load_config
from lra.settings.which_run import config_hash, run_dir
from tests.pairs import each_and_all_triples


def names(group: str) -> list[str]:
    return sorted(path.stem for path in (conf_dir() / group).glob("*.yaml"))


PROBES = [name for name in names("task") if probe_named(name)]
TASKS = [name for name in names("task") if name not in PROBES[1:]]  # one probe: others differ from it by tokens alone
CELLS = each_and_all_triples(TASKS, names("attention"), names("protocol"))
GROUPS = sorted(path.name for path in conf_dir().iterdir() if path.is_dir() and path.name not in ("recipe",))
STEPS = {  # Xiong et al. 2021, released code: batch, warm-up, steps, eval every
    "listops": (32, 1000, 5000, 50),
    "text": (32, 8000, 20000, 500),
    "retrieval": (32, 800, 30000, 300),
    "image": (256, 175, 35000, 175),
    "pathfinder": (256, 312, 62400, 312),
}


@pytest.mark.some_fast(5)
@pytest.mark.some_in_ci(90)
@pytest.mark.parametrize("task, attention, protocol", CELLS)
def test_every_cell_builds_and_learns_something(task, attention, protocol):
    cfg = load_config("train", [f"task={task}", f"attention={attention}", f"protocol={protocol}", "size=tiny"])
    spec, model = from_config.build_spec(cfg), from_config.build_model(cfg)
    assert spec.seq_len <= (1024 if task == "pathx" else 256)
    tokens = torch.randint(0, min(16, spec.vocab_size), (2, spec.num_sequences, spec.seq_len))
    if cfg.model.inputs == "values":
        tokens = tokens / 16
    logits = model(tokens, tokens != 0 if cfg.task.mask_zero else None)
    assert logits.shape == (2, spec.num_classes)
    cross_entropy(logits, torch.tensor([0, 1])).backward()
    without = [name for name, p in model.named_parameters() if p.grad is None or not p.grad.isfinite().all()]
    assert not without


@pytest.mark.parametrize("task", STEPS)
def test_recipes_are_the_papers(task):
    cfg = load_config("train", [f"task={task}"])
    batch, warmup, steps, every = STEPS[task]
    assert (cfg.recipe.batch_size, cfg.recipe.steps, cfg.recipe.eval_every) == (batch, steps, every)
    assert cfg.recipe.warmup_fraction * steps == pytest.approx(warmup)
    optimizer = cfg.recipe.optimizer
    assert (optimizer["lr"], optimizer["betas"], optimizer["eps"], optimizer["weight_decay"]) == (
        1e-4,
        [0.9, 0.999],
        1e-6,
        0.0,
    )


@pytest.mark.slow
def test_a_size_may_have_a_recipe_of_its_own_for_a_task():
    short, full = (load_config("train", ["task=text", f"size={size}"]).recipe for size in ("short", "full"))
    assert (short.steps, short.optimizer.lr) == (800, 1e-3)
    assert (full.steps, full.optimizer.lr) == (20_000, 1e-4)
    assert load_config("train", ["task=text", "size=short", "recipe=text"]).recipe == full
    assert load_config("train", ["task=text", "size=short", "recipe.steps=7"]).recipe.schedule.steps == 7


@pytest.mark.slow
@pytest.mark.parametrize("group, name", [(group, name) for group in GROUPS for name in names(group)])
def test_every_file_composes(group, name):
    override = f"{'+' if group in ('experiment', 'sweep') else ''}{group}={name}"
    if group in ("experiment", "sweep"):
        override = f"{group}={name}"
    config_hash(load_config("train", [override]))


@pytest.mark.slow
@pytest.mark.parametrize("task, masked", [("listops", True), ("text", True), ("image", False), ("pathfinder", False)])
def test_pixels_are_masked_where_the_switch_says_so(task, masked):
    for zero_is_padding in ("true", "false"):
        words = [f"task={task}", f"protocol.pixel_zero_is_padding={zero_is_padding}"]
        assert load_config("train", words).task.mask_zero is (masked or zero_is_padding == "true")


@pytest.mark.slow
def test_the_runs_folder_depends_on_what_moves_a_number_and_on_nothing_else():
    def folder(*words: str):
        return run_dir(load_config("train", words))

    base = folder()
    for same in (
        "trainer.max_steps=3",
        "logger=csv",
        "debug=profile",
        "trainer.threads=1",
        "trainer.data_on_device=true",
        "source=generate",
    ):
        assert folder(same) == base, same
    others = (
        "attention.num_landmarks=32",
        "recipe.optimizer.lr=1e-3",
        "protocol.pinv_start=per_matrix",
        "seed=1",
        "model.dropout=0",
        "trainer.precision=bf16-mixed",
        "compile=true",
        "size=short",
        "attention=full",
        "run_group=x",
    )
    assert len({base, *(folder(word) for word in others)}) == len(others) + 1


@pytest.mark.slow
def test_descriptions_are_in_the_files_and_in_no_configuration():
    for group, keys in DESCRIPTION.items():
        for name in names(group):
            assert set(keys) & read_choice(group, name).keys(), f"conf/{group}/{name}.yaml has no description"
            assert not set(keys) & load_config("train", [f"{group}={name}"]).plain(group).keys()


@pytest.mark.parametrize("words", [["attention.about=x"], ["task.terms=x"], ["-m", "mixer=s4d", "mixer.cost=x,y"]])
def test_a_description_is_no_option(home, capsys, words):
    assert main(["train", "size=tiny", *words]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert words[-1].split("=")[0] in err


def test_the_reference_numbers_are_those_of_the_paper():
    averages = {"full": 58.77, "reformer": 55.04, "linformer": 55.59, "performer": 53.63, "nystrom": 58.95}
    for attention, average in averages.items():
        mean = sum(paper_accuracy(attention, task) or 0 for task in TOLERANCE_POINTS) / len(TOLERANCE_POINTS)
        assert mean == pytest.approx(average, abs=0.006)
    assert paper_accuracy("nystrom", "pathx") is None


def test_a_setting_that_was_added_later_leaves_the_hash_of_earlier_runs_as_it_was():
    """The published demonstration is a run of Nyström attention from before `attention.masking`."""
    published = json.loads(
        Path(__file__).parent.with_name("runs").joinpath("published", "demo.jsonl").read_text().splitlines()[0]
    )
    assert config_hash(load_config("train", ["size=short"])) == published["provenance"]["config_hash"]
