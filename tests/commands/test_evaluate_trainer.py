"""lra evaluate takes the machine from what is typed, and each remedy in its errors gets further when it is typed."""

import pytest
import torch

from lra.base.printed_commands import override
from lra.cli import main
from tests.commands.test_typed_as_printed import arrives
from tests.test_find_run import make

TRAINED = ("train", "size=tiny", "recipe.steps=2", "recipe.eval_every=2", "attention=none", "logger=csv")


@pytest.fixture
def run(home):
    assert main([*TRAINED, "trainer.threads=1"]) == 0
    return str(next(home.rglob("result.json")).parent)


@pytest.mark.slow
def test_the_machine_is_the_one_that_was_typed(run, monkeypatch, result_of, refused):
    threads: list[int] = []
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    for words, set_to in (([], [1]), (["trainer.threads=2"], [2]), (["+trainer.threads=2", "trainer=cpu"], [2])):
        threads.clear()
        assert result_of("evaluate", f"run={run}", *words).is_as_recorded
        assert threads[:1] == set_to
    error = refused("evaluate", f"run={run}", "trainer.accelerator=gpu")
    assert error.kind == "no_gpu"
    assert "type trainer=cpu" in str(error)
    assert main(["evaluate", f"run={run}", "trainer.accelerator=gpu", "trainer=cpu"]) == 0, "as it says"
    error = refused("evaluate", f"run={run}", "trainer.precision=16-mixed")
    assert (error.kind, error.key) == ("needs_gpu", "trainer.precision")
    assert main(["evaluate", f"run={run}", "trainer.precision=32-true"]) == 0, "as it says"
    assert refused("evaluate", f"run={run}", "trainer.precision=half").key == "trainer.precision"


@pytest.mark.parametrize("word", ["trainer.devices=2", "trainer=ddp", "trainer.max_steps=3"])
def test_what_a_test_has_no_use_for_is_left_out_of_the_command(home, refused, word):
    folder = make(home, "a1b9200f", group="it's (new)")
    typed = override("run", folder)
    error = refused("evaluate", typed, word)
    assert (error.kind, error.key) == ("no_effect", word.split("=")[0])
    assert arrives(str(error.right)) == ["evaluate", typed]
    assert refused(*arrives(str(error.right))).kind == "missing_file", "it got further: the folder has no best.ckpt"


def test_what_is_missing_is_named_with_a_command(home, refused):
    assert arrives(refused("evaluate").right[0])[:2] == ["evaluate", "run=a1b9200f"]
    error = refused("export", "run=a1b9200f", "paths.runs=/x y")
    assert arrives(str(error.right)) == ["export", "run=a1b9200f", "paths.runs=/x y", "to=my-model"]
