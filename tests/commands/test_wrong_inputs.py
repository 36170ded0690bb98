"""Wrong inputs, each refused in one line that names the value, before anything is built, run or written."""

from __future__ import annotations

import pytest

from lra.cli import main
from tests.commands.test_cli import run

TINY = "train size=tiny logger=csv "
ONE = "size=tiny task=listops attention=full seed=0 "  # of a table's cells
NUMBERS = {
    "seed": ("-1", "4294967296", "8589934592", "99999999999999999999", "1.5", "null", "true", "x", "nan"),
    "recipe.steps": ("0", "1", "-5", "5.0", "null", "inf", "10000000000"),
    "recipe.batch_size": ("0", "-8", "8.5", "null", "true"),
    "recipe.eval_every": ("0", "-1", "null"),
    "recipe.warmup_fraction": ("0", "1", "-0.1", "1.5", "nan", "inf", "null"),
    "recipe.optimizer.lr": ("nan", "inf", "-inf", "-1e-4", "0", "null", "fast"),
    "recipe.optimizer.eps": ("-1e-6", "nan", "0", "inf"),
    "recipe.optimizer.weight_decay": ("-0.1", "nan", "inf"),
    "recipe.optimizer.betas": (
        "[0.9]",
        "[0.9,1]",
        "[0.9,-0.1]",
        "[0.9,nan]",
        "[a,b]",
        "0.9",
        "[]",
        "[0.9,0.9,0.9]",
        "null",
    ),
    "recipe.optimizer": ("3", "null", "[1]"),
    "model.dropout": ("1", "2", "-0.1", "nan", "null"),
    "model.num_layers": ("0", "-1", "1.5"),
    "model.width": ("0", "-1", "null"),
    "model.num_heads": ("0", "-2"),
    "model.head_dim": ("0", "-32"),
    "model.feed_forward": ("0", "-1"),
    "model.head_hidden": ("0", "-1"),
    "attention.num_landmarks": ("0", "-64", "null"),
    "attention.pinv_iterations": ("0",),
    "attention.value_skip_taps": ("-1",),
    "trainer.devices": ("0", "-1", "null"),
    "trainer.accumulate_grad_batches": ("0", "null"),
    "trainer.max_steps": ("0", "-1", "1.5", "x"),
    "trainer.threads": ("0", "-1", "1000000", "x"),
    "trainer.precision": ("32", "fp16", "16-mixed", "tf32", "null"),
    "trainer.fused_optimizer": ("maybe", "1", "null"),
    "compile": ("fast", "1", "null", "default"),
    "trainer.accelerator": ("tpu", "null"),
    "trainer.data_on_device": ("maybe", "null", "1"),
    "callbacks.log_every_steps": ("0", "null"),
    "callbacks.checkpoint_every_seconds": ("nan", "inf", "-1", "null"),
    "debug.profiler": ("fast", "3"),
    "finished": ("maybe", "null", "true"),
    "run_group": ("", "../../escape", "/tmp/escape", "a/../b", ".hidden", "a//b", "x" * 5000, "null", "[1]"),
    "task": ("null", "[listops]"),
    "attention": ("null",),
    "protocol": ("null",),
    "recipe": ("null",),
    "trainer": ("null",),
    "logger": ("null",),
    "source": ("null",),
    "verify": ("null", "maybe"),
}
OTHERS = [
    (TINY + "attention=full attention.attention_dropout=1", "attention.attention_dropout=1 "),
    (TINY + "attention=full attention.attention_dropout=nan", "attention.attention_dropout=nan"),
    (TINY + "recipe.steps=20 recipe.schedule.steps=10", "recipe.schedule.steps=10 is fewer than recipe.steps=20"),
    (TINY + "attention.name=full", "attention.name=full would give attention=nystrom the name of another"),
    (TINY + "protocol.name=clean", "protocol.name=clean would give protocol=paper the name of another"),
    (TINY + "size.name=full", "size.name=full would give size=tiny the name of another"),
    (TINY + "+recipe.optimizer.amsgrad=no", "recipe.optimizer.amsgrad=no is not true or false"),
    (TINY + "+trainer.gradient_clip_val=-1", "trainer.gradient_clip_val=-1 is not a number above 0"),
    ("train size=tiny +logger.wandb.tags=mine", "logger.wandb.tags=mine is not a list"),
    ("train size=tiny +logger.wandb.config=abc", "logger.wandb.config=abc is not a group of settings"),
    (
        TINY + "+recipe.parameter_groups.x.match=bias +recipe.parameter_groups.x.lr=-0.1",
        "recipe.parameter_groups.x.lr=-0.1 is not a number above 0",
    ),
    (TINY + "attention=linformer attention.projections=0", "attention.projections=0"),
    (TINY + "attention=performer attention.features=0", "attention.features=0"),
    (TINY + "attention=performer attention.redraw_every=-1", "attention.redraw_every=-1"),
    (TINY + "attention=reformer attention.chunk_length=0", "attention.chunk_length=0"),
    (TINY + "task.sizes.tiny.train=0", "task.data.train=0"),
    (TINY + "task.sizes.tiny.max_length=300", "task.data.max_length=300"),
    (TINY + "task.sizes.tiny.min_length=600", "task.data.min_length=600"),
    (TINY + "task.sizes.tiny.min_length=249", "task.data.min_length=249"),
    (TINY + "task.sizes.tiny.max_length=1", "task.data.max_length=1"),
    (TINY + "task=image task.sizes.tiny.side=7", "task.data.side=7"),
    (TINY + "task=pathfinder task.sizes.tiny.side=64", "task.data.side=64"),
    (TINY + "task=pathfinder task.sizes.tiny.drawn_side=64", "task.data.drawn_side=64"),
    (TINY + "task.sizes.tiny.data_seed=-1", "task.data.data_seed=-1"),
    (TINY + "-m seed=0,4294967296", "seed=4294967296"),
    (TINY + "-m model.dropout=0.1,2", "model.dropout=2 "),
    (TINY + "-m finished=show,maybe", "finished=maybe"),
    ("show model model.width=0", "model.width=0"),
    ("show model model.num_layers=0", "model.num_layers=0"),
    ("show data size=tiny examples=-1", "examples=-1"),
    ("bench step size=tiny steps=0", "steps=0"),
    ("bench step size=tiny dev_batches=-1", "dev_batches=-1"),
    ("bench step size=tiny trainer.precision=16-mixed", "trainer.precision=16-mixed"),
    ("report run_group=../x", "run_group=../x"),
    ("report samples=-1", "samples=-1"),
    ("publish run_group=/etc name=x", "run_group=/etc"),
    ("table what=typo " + ONE, "'typo' is no action; type: lra table plan|run|show"),
    ("table what=RUN " + ONE, "'RUN' is no action"),
    ("table what=null " + ONE, "what=null"),
    ("table what= " + ONE, "'' is no action"),
    ("compare what=typo " + ONE, "'typo' is no action; type: lra compare plan|run|show"),
    ("sweep landmarks what=typo size=tiny", "'typo' is no action; type: lra sweep plan|run|show"),
    ("table run workers=0 " + ONE, "workers=0"),
    ("table run recipe.optimizer.lr=nan " + ONE, "recipe.optimizer.lr=nan"),
    ("table run trainer.precision=16-mixed " + ONE, "trainer.precision=16-mixed"),
    ("table run run_group=../../escape " + ONE, "run_group=../../escape"),
    ("compare run model.dropout=2 " + ONE, "model.dropout=2"),
    ("sweep landmarks attention.num_landmarks=16,0 size=tiny", "attention.num_landmarks=0"),
    (r"evaluate run=x\[/foo]y", r"run=x\[/foo]y cannot be read"),
    (r"evaluate run='x\[/foo]y'", r"x\[/foo]y has no config.yaml"),
    ("report run_group='[red]x[/]'", "runs/[red]x[/]; runs there are: none"),
    ("evaluate run=5", "5 has no config.yaml"),
    ("evaluate run=null", "no run is named"),
    ("evaluate run=", "config.yaml"),
]
CASES = [(f"{TINY}{key}={value}", f"{key}={value:.20}") for key, values in NUMBERS.items() for value in values] + OTHERS


def test_there_are_many():
    assert len(CASES) > 150


@pytest.mark.slow
@pytest.mark.parametrize("words, said", CASES, ids=[words[-60:] for words, _ in CASES])
def test_a_wrong_input_gets_one_line_that_names_it(home, capsys, words, said):
    code, out, err = run(capsys, *words.rstrip().split(" "))
    assert code == 2
    assert err.startswith("lra: ")
    assert said in err
    assert len(err.strip().splitlines()) == 1
    assert "not foreseen" not in err
    assert "Traceback" not in out + err
    assert not list(home.rglob("*")), "nothing is written"
    assert not [path for path in home.parent.iterdir() if path.name not in ("runs", "outputs")]


@pytest.mark.slow
@pytest.mark.parametrize("group", ["2024", "007", "1e5", "true", "mine/first", "'Überblick 1'"])
def test_a_run_group_may_be_called_like_that(home, capsys, group):
    code, out, err = run(capsys, "table", "show", *ONE.split(), f"run_group={group}")
    assert code == 0, err
    assert str(home) in out or "No record" in out


def test_a_group_that_looks_like_a_number_is_the_folder_that_was_typed(home, capsys):
    (home / "2024").mkdir(parents=True)
    assert main(["report", "run_group=2024"]) == 2
    assert str(home / "2024") in capsys.readouterr().err
