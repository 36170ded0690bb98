"""Which cells a sweep has, and what each is called with."""

import pytest

from lra.base.paths import conf_names
from lra.settings.compose import compose_config, load_config
from lra.settings.several_values import spell_out_all
from lra.settings.which_run import run_dir
from lra.tables.grid.cell import make_cells


@pytest.mark.slow
@pytest.mark.parametrize(
    "words, rows, seeds",
    [(["task=listops,text", "attention=full,none"], 4, 3), ([], 25, 3)],
)
def test_the_papers_table_is_every_task_attention_and_seed_one_seed_after_the_other(words, rows, seeds):
    cells = make_cells("paper_table", words)
    assert len(cells) == rows * seeds
    assert {cell.cfg.seed for cell in cells[:rows]} == {0}
    assert len({cell.run for cell in cells}) == len(cells)
    assert {cell.cfg.run_group for cell in cells} == {"table"}


def test_the_papers_table_has_five_tasks_five_attentions_and_three_seeds():
    params = compose_config("train", ["sweep=paper_table"], with_hydra=True).hydra.sweeper.params
    assert {key: len(str(values).split(",")) for key, values in params.items()} == {
        "seed": 3,
        "task": 5,
        "attention": 5,
    }


@pytest.mark.slow
def test_what_is_typed_stands_in_place_of_the_files_values():
    cells = make_cells("paper_table", ["task=listops", "attention=nystrom", "seed=7,9", "size=tiny", "recipe.steps=4"])
    assert [cell.name for cell in cells] == ["listops nystrom seed 7", "listops nystrom seed 9"]
    assert {cell.cfg.recipe.steps for cell in cells} == {4}
    (cell,) = make_cells("paper_table", ["task=text", "attention=full", "seed=range(0,1)", "run_group=other"])
    assert cell.cfg.run_group == "other"


@pytest.mark.slow
def test_a_knob_multiplies_too():
    cells = make_cells("landmarks", ["attention.num_landmarks=16,32", "seed=0"])
    assert [cell.cfg.attention.num_landmarks for cell in cells] == [16, 32]
    assert cells[0].name == "listops nystrom num_landmarks=16 seed 0"
    (cell,) = make_cells("compare", ["task=lag", "attention=full", "task.sizes.full.noise=0.25", "seed=0"])
    assert cell.name == "lag full noise=0.25 seed 0"


def test_a_files_widths_are_below_the_length_of_each_task_and_typed_ones_stay():
    cells = make_cells("window", ["task=listops,text", "size=short", "seed=0"])
    widths = [(cell.choice("task"), cell.cfg.attention.block_length) for cell in cells]
    below = {"listops": (4, 16, 64), "text": (4, 16, 64, 256)}  # of 256 and of 512 tokens
    assert sorted(widths) == [(task, width) for task in below for width in below[task]]
    typed = make_cells("window", ["task=listops", "size=short", "seed=0", "attention.block_length=1,512"])
    assert [cell.cfg.attention.block_length for cell in typed] == [1, 512]


@pytest.mark.slow
@pytest.mark.parametrize("sweep", conf_names("sweep"))
def test_a_cells_words_give_its_configuration(sweep):
    cell = make_cells(sweep, spell_out_all(sweep, ["size=tiny"]))[-1]
    assert run_dir(load_config("train", cell.overrides)) == cell.run.folder
    assert compose_config("train", cell.overrides, with_hydra=True).hydra.mode.name == "RUN"


@pytest.mark.parametrize("sweep", conf_names("sweep"))
def test_the_file_is_a_hydra_sweep_by_itself(sweep):
    hydra = compose_config("train", [f"sweep={sweep}"], with_hydra=True).hydra
    assert hydra.mode.name == "MULTIRUN"
    assert "seed" in hydra.sweeper.params


def test_a_knob_of_one_attention_is_a_row_of_its_own():
    cells = make_cells("compare", ["attention=local", "attention.neighbour_blocks=0,1", "seed=0"])
    assert [cell.name for cell in cells] == [f"listops local neighbour_blocks={count} seed 0" for count in (0, 1)]
    assert len({cell.run for cell in cells}) == 2
