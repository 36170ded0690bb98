"""Wrong inputs, trouble of the machine, damaged runs: one line each, and an exit code."""

from __future__ import annotations

import shutil

import pytest

from lra.cli import main
from tests.commands.test_cli import TRAIN, run
from tests.conftest import lra_here


@pytest.mark.parametrize(
    "words, line",
    [
        (["trian"], "did you mean: lra train?"),
        (["show"], "lra show model"),
        (["show", "modle"], "lra show model"),
        (["train", "attention=nystorm"], "did you mean nystrom?"),
        (["train", "-m", "attention=full,nystorm"], "did you mean nystrom?"),
        (["train", "task=listop"], "did you mean listops?"),
        (["train", "task=cifar"], "choose one of image, listops"),
        (["train", "protocol=papers"], "did you mean paper?"),
        (["train", "task=pathfinder", "size=short", "task.difficulty=hard"], "whose difficulty is easy; leave it out"),
        (["train", "size=huge"], "choose one of full, short, tiny"),
        (["train", "attention.num_landmark=3"], "did you mean attention.num_landmarks?"),
        (["train", "zzz=3"], "zzz is no setting"),
        (["train", "listops"], "key=value"),
        (["train", "seed=0,1"], "lra train -m seed=0,1"),
        (["train", "recipe.steps=abc"], "recipe.steps=abc is not a whole number"),
        (["train", "-m", "seed=0,x"], "seed=x is not a whole number"),
        (["table", "plan", "seed=null"], "seed=null is not a whole number"),
        (["train", "seed=1.5"], "seed=1.5 is not a whole number"),
        (["train", "recipe.optimizer.lr=fast"], "lr=fast is not a number"),
        (["train", "force=3"], "force=3 is not true or false"),
        (["train", "attention.value_skip_taps=true"], "is not a whole number"),
        (["train", "size=tiny", "recipe.steps=0"], "at least 2"),
        (["train", "size=tiny", "trainer.max_steps=0"], "at least 1"),
        (["train", "size=tiny", "seed=-1"], "at least 0"),
        (["train", "size=tiny", "attention=full", "attention.kernel=flash", "logger=csv"], "choose one of fused, math"),
        (["train", "size=tiny", "attention.num_landmarks=0", "logger=csv"], "at least 1"),
        (["train", "size=tiny", "trainer.accumulate_grad_batches=3", "logger=csv"], "does not divide"),
        (["train", "size=tiny", "trainer=gpu", "logger=csv"], "trainer=cpu"),
        (["train", "size=tiny", "trainer=ddp", "trainer.accelerator=gpu", "logger=csv"], "trainer=cpu"),
        (["train", "size=tiny", "logger.wandb.mode=cloud"], "offline, online"),
        (["train", "size=tiny", "recipe.warmup_fraction=2", "logger=csv"], "warmup_fraction"),
        (["prepare", "task=text", "size=tiny", "source=generate"], "choose one of auto, download"),
        (["train", "logger=mlflow"], "choose one of csv, tensorboard, wandb"),
        (["train", "trainer=tpu"], "trainer=tpu is not known"),
        (["train", "recipe=listop"], "did you mean listops?"),
        (["train", "model.num_layers=two"], "model.num_layers=two is not a whole number"),
        (["train", "size=tiny", "logger=csv", "recipe.batch_size=0"], "at least 1"),
        (["train", "size=tiny", "logger=csv", "trainer.precision=8bit"], "32-true"),
        (["train", "size=tiny", "logger=csv", "protocol.pooling=mean"], "padded_mean, valid_mean"),
        (["train", "size=tiny", "logger=csv", "protocol.pinv_start=zero"], "batch, per_matrix"),
        (["train", "size=tiny", "logger=csv", "attention=linformer", "attention.sharing=some"], "all, layer, none"),
        (["train", "size=tiny", "logger=csv", "attention=performer", "attention.kernel=elu"], "softmax, relu"),
        (["train", "size=tiny", "logger=csv", "attention=reformer", "attention.num_hashes=0"], "at least 1"),
        (
            ["train", "size=tiny", "logger=csv", "task.sizes.tiny.seq_len=512"],
            "seq_len=256, but seq_len=512",
        ),
        (["train", "size=tiny", "logger=csv", "protocol.test_last_batch=cut"], "kept, dropped"),
        (["train", "size=tiny", "logger=csv", "task.dev_split=train"], "own, test, held_out"),
        (["show", "data", "size=tiny", "split=val"], "train, dev, test"),
        (["evaluate"], "run="),
        (["evaluate", "run=/nowhere"], "/nowhere"),
        (["prepare", "source=/nowhere", "size=short"], "source=/nowhere is not there; it may be listops-1000"),
    ],
)
def test_a_mistake_gets_one_line_and_an_exit_code(home, capsys, words, line):
    code, _, err = run(capsys, *words)
    assert code == 2
    assert line in err
    assert err.startswith("lra: ")
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.slow
@pytest.mark.parametrize(
    "error, line",
    [
        (OSError(28, "No space left on device", "/data/x"), "no space is left at /data/x; what was there"),
        (OSError(28, "No space left on device", "/tmp/x", None, "/runs/best.ckpt"), "no space is left at /runs/best"),
        (RuntimeError("write() failed: No space left on device; at byte 2"), "no space is left"),
        (FileNotFoundError(2, "No such file or directory", "/proc/x"), "cannot be made at /proc/x"),
        (PermissionError(13, "Permission denied", "/runs"), "cannot be written at /runs"),
        (OSError(30, "Read-only file system", "/runs"), "read-only at /runs"),
        (RuntimeError("CUDA out of memory. Tried to allocate"), "4 fit (tried): trainer.accumulate_grad_batches=2"),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate"), "accumulate_grad_batches=2"),
        (MemoryError(), "out of memory with 8 examples at a time"),
        (ZeroDivisionError("x"), "LRA_DEBUG=1"),
    ],
)
def test_trouble_of_the_machine_gets_one_line_too(home, capsys, monkeypatch, error, line):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr("lra.training.run.fit", fails)
    code, _, err = run(capsys, *TRAIN, "logger=csv")
    assert code == 2
    assert line in err
    assert len(err.strip().splitlines()) == 1


def test_a_file_where_the_runs_should_be(home, capsys, monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / "file"))
    code, _, err = run(capsys, *TRAIN, "logger=csv")
    assert code == 2
    assert "a file is where a folder should be" in err


def test_lra_debug_shows_the_traceback(home, monkeypatch):
    monkeypatch.setenv("LRA_DEBUG", "1")
    with pytest.raises(BaseException, match="nystorm"):
        main(["train", "attention=nystorm"])


@pytest.fixture(scope="module")
def trained_twice(data_dir, tmp_path_factory):
    """A folder of runs with one of Nyström attention, and in the group `other` one of full attention."""
    runs = tmp_path_factory.mktemp("trained") / "runs"
    for words in ((), ("attention=full", "run_group=other")):
        assert lra_here(*TRAIN, "logger=csv", *words, data=data_dir, runs=runs).returncode == 0
    return runs


@pytest.mark.parametrize(
    "file, damage, line",
    [
        ("best.ckpt", "cut", "cannot be read as a checkpoint"),
        ("best.ckpt", "other", "holds another model than its config.yaml describes"),
        ("best.ckpt", "gone", "has no best.ckpt"),
        ("config.yaml", "gone", "has no config.yaml"),
    ],
)
def test_a_damaged_run_is_named(trained_twice, home, capsys, file, damage, line):
    shutil.copytree(trained_twice, home)
    path = next((home / "default").rglob(file))
    if damage == "gone":
        path.unlink()
    elif damage == "cut":
        path.write_bytes(path.read_bytes()[:-100])
    else:
        path.write_bytes(next((home / "other").rglob(file)).read_bytes())
    code, _, err = run(capsys, "evaluate", f"run={next(home.glob('default/*/*/*/*'))}")
    assert code == 2
    assert line in err
    assert len(err.strip().splitlines()) == 1
