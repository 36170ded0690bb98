"""A run's config.yaml may come from anywhere: it names no code, and an imported run executes none."""

import pickle
import shutil
from pathlib import Path

import pytest
import yaml

from lra import from_config
from lra.cli import main
from lra.settings.stored_config import read_stored_config
from lra.types import UserError
from tests.commands.test_cli import TRAIN
from tests.conftest import lra_here


class Payload:
    """What a hostile run brings along as best.ckpt."""

    def __init__(self, mark: Path):
        self.mark = mark

    def __reduce__(self):
        return (Path.touch, (self.mark,))


@pytest.fixture(scope="module")
def trained(data_dir, tmp_path_factory):
    """The folder of a finished run."""
    runs = tmp_path_factory.mktemp("trained") / "runs"
    done = lra_here(*TRAIN, "logger=csv", data=data_dir, runs=runs)
    assert done.returncode == 0, done.stderr
    return next(runs.rglob("result.json")).parent


@pytest.fixture
def foreign(trained, home, tmp_path):
    """A copy of that run as it comes from another machine, and the file that its payload would make."""
    folder, mark = tmp_path / "foreign" / "seed0", tmp_path / "executed"
    shutil.copytree(trained, folder)
    return folder, mark


def put(node: dict, dotted: str, value: object) -> None:
    *branches, leaf = dotted.split(".")
    for branch in branches:
        node = node[branch]
    node[leaf] = value


def rewrite(folder: Path, **values: object) -> None:
    config = yaml.safe_load((folder / "config.yaml").read_text())
    for dotted, value in values.items():
        put(config, dotted, value)
    (folder / "config.yaml").write_text(yaml.safe_dump(config))


LOAD = "torch.load"
NODES = (
    "task.spec",
    "task.spec.name",
    "attention",
    "attention.num_landmarks",
    "model",
    "model.dropout",
    "recipe.optimizer",
    "recipe.optimizer.betas",
    "recipe.schedule",
    "recipe.schedule.steps",
)


def with_payload(foreign: tuple[Path, Path], node: str) -> None:
    folder, mark = foreign
    (folder / "best.ckpt").write_bytes(pickle.dumps(Payload(mark)))
    rewrite(folder, **{node: {"_target_": LOAD, "f": str(folder / "best.ckpt"), "weights_only": False}})


@pytest.mark.slow
def test_an_imported_run_does_not_execute_its_checkpoint(foreign, refused):
    with_payload(foreign, "task.spec")
    folder, mark = foreign
    assert main(["import", str(folder)]) == 0
    imported = next(Path.cwd().glob("runs/default/*/*/*/seed0"))
    error = refused("evaluate", f"run={imported}")
    assert not mark.exists(), "the payload was executed"
    assert (error.kind, error.key, error.value) == ("unnamed_class", "task.spec._target_", LOAD)
    assert str(imported / "config.yaml") in str(error)
    assert "\n" not in str(error)


@pytest.mark.some_fast(1)
@pytest.mark.parametrize("node", NODES)
def test_a_pickle_is_not_loaded_through_any_node_that_is_built(foreign, node):
    with_payload(foreign, node)
    folder, mark = foreign
    with pytest.raises(UserError) as refused:
        build_all(read_stored_config(folder))
    error = refused.value
    assert (error.kind, error.key, error.value) == ("unnamed_class", f"{node}._target_", LOAD)
    assert not mark.exists(), "the payload was executed"


def build_all(cfg) -> None:
    """What lra evaluate builds."""
    from_config.build_module(cfg).configure_optimizers()


@pytest.mark.parametrize(
    "values",
    [
        {"recipe.optimizer.betas": [{"_target_": LOAD}, 0.9]},
        {"recipe.optimizer._args_": [{"_target_": "os.system", "command": "true"}]},
        {"attention._target_": "${attention.name}", "attention.name": "os.system"},
        {"attention._target_": ["os", "system"]},
        {"attention._target_": None},
        {"task.spec._target_": "data_prep.text.source.open_source"},  # named in our files, but it makes no model
        {"attention._target_": "lra.data.text.TextCodec"},
        {"attention._target_": "hydra.utils.get_method"},
        {"model.pooling": "${oc.env:HOME}"},
        {"task.name": "${oc.env:HOME}"},
        {"task.name": "../../evil"},
        {"size.name": "/etc"},
        {"recipe.schedule.warmup_fraction": "${oc.decode:'0.2'}"},
        {"recipe.schedule": None},
        {"task": "listops"},
        {"recipe.batch_size": "8"},
        {"seed": None},
        {"trainer.accelerator": "tpu"},
        {"model.dropout": 1.0},
    ],
    ids=str,
)
def test_neither_other_targets_nor_interpolations_nor_wrong_values_pass(foreign, values):
    folder, _ = foreign
    rewrite(folder, **values)
    with pytest.raises(UserError, match=r"config\.yaml: "):
        read_stored_config(folder)


NO_CONFIGURATION = {
    "itself": "a: &a [*a]",
    "alias": "a: &a {b: 1}\nc: *a",
    "list": "[1, 2]",
    "broken": "a: [",
    "tag": "a: !!python/name:os.system",
    "deep": "[" * 1500,
    "zero": "\x00",
    "empty": "",
    "large": "a: " + "x" * 2**21,
}


@pytest.mark.slow
@pytest.mark.parametrize("text", NO_CONFIGURATION.values(), ids=NO_CONFIGURATION)
def test_a_file_that_is_no_configuration_gets_one_line(foreign, text):
    folder, _ = foreign
    (folder / "config.yaml").write_text(text)
    with pytest.raises(UserError, match=r"config\.yaml") as caught:
        read_stored_config(folder)
    assert "\n" not in str(caught.value)


def test_a_legitimate_run_is_evaluated_also_elsewhere(foreign, result_of):
    folder, _ = foreign
    assert result_of("evaluate", f"run={folder}").is_as_recorded


@pytest.mark.slow
def test_a_target_of_the_users_own_conf_folder_is_followed(foreign, refused, tmp_path):
    folder, _ = foreign
    rewrite(folder, **{"recipe.optimizer._target_": "collections.OrderedDict"})
    error = refused("evaluate", f"run={folder}")
    assert (error.kind, error.value) == ("unnamed_class", "collections.OrderedDict")
    (tmp_path / "mine" / "recipe").mkdir(parents=True)
    (tmp_path / "mine" / "recipe" / "adam.yaml").write_text("optimizer:\n  _target_: collections.OrderedDict\n")
    assert main(["evaluate", "--config-dir", str(tmp_path / "mine"), f"run={folder}"]) == 0
