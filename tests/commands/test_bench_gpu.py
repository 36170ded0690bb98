"""lra bench gpu: the whole path on a CPU, its time limit, what is kept, its mistakes."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from lra.cli import main
from lra.cli_support import bench_gpu_measure
from lra.cli_support.bench_gpu_words import read_gpu_words
from lra.signals import Stopped
from tests.conftest import outer_environment

BENCH = (
    "bench", "gpu", "trainer=cpu", "size=tiny", "task=listops", "model.num_layers=1", "steps=1", "parity_steps=2",
    "parity_examples=2", "compiled=false", "processes=",
)  # fmt: skip
BOTH = "attention=nystrom,full"


@pytest.fixture(autouse=True)
def _short(monkeypatch):
    monkeypatch.setattr(bench_gpu_measure, "HARNESS_STEPS", 2)
    rates = {"flops_per_second": 1e12, "bytes_per_second": 1e11, "launch_seconds": 5e-6}
    monkeypatch.setattr(bench_gpu_measure, "measure_rates", lambda cfg: rates)


@pytest.fixture
def noted(monkeypatch):
    """What is measured, without measuring it."""
    kinds = []

    def note(kind, kept, cell, cfg):
        kinds.append(f"{kind} {kept['task']}/{kept['attention']}")
        kept.setdefault("left_out", {})[kind] = "not measured"

    monkeypatch.setattr(bench_gpu_measure, "measure_unit", note)
    return kinds


def record_of(home):
    (path,) = (home / "bench").glob("gpu-*.json")
    return json.loads(path.read_text())


@pytest.mark.slow
def test_steps_parity_and_hours_are_measured_and_kept(home, capsys):
    assert main([*BENCH, "attention=nystrom"]) == 0
    out = capsys.readouterr().out
    for words in ("listops/nystrom", "eager: 1 of 1 cells × 3 seeds take", " < ", "record"):
        assert words in out
    (cell,) = record_of(home)["cells"]
    assert cell["eager"]["flops"] > 0
    assert cell["eager"]["batch_parts"] == 1
    assert len(cell["eager"]["seconds"]) == 3
    assert cell["parity"]["holds"]
    assert main([*BENCH, "attention=nystrom"]) == 0
    assert "measured:" not in capsys.readouterr().out, "it is in the record"


@pytest.mark.slow
def test_a_batch_that_does_not_fit_is_measured_in_parts(little_memory):
    assert main([*BENCH, "attention=full", "trainer.accumulate_grad_batches=auto"]) == 0
    (cell,) = record_of(little_memory)["cells"]
    assert (cell["eager"]["batch_size"], cell["eager"]["batch_parts"]) == (8, 4)


@pytest.mark.slow
@pytest.mark.parametrize(
    "attention, parts, why",
    [
        ("full", "1", "out of memory"),
        ("nystrom", "auto", "out of memory, and in 2 parts the batch would make another run"),
    ],
)
def test_what_training_refuses_is_not_measured(attention, parts, why, little_memory):
    assert main([*BENCH, f"attention={attention}", f"trainer.accumulate_grad_batches={parts}"]) == 0
    (cell,) = record_of(little_memory)["cells"]
    assert cell["left_out"]["eager"] == why
    assert "eager" not in cell


@pytest.mark.slow
def test_a_compiler_that_fails_leaves_the_eager_steps(home, monkeypatch, capsys):
    whole = bench_gpu_measure._step_in_parts

    def fails(run, steps):
        if run.compile:
            raise RuntimeError("no working C++ compiler\nand more")
        return whole(run, steps)

    monkeypatch.setattr(bench_gpu_measure, "_step_in_parts", fails)
    words = [word for word in BENCH if word != "compiled=false"]
    assert main([*words, "attention=full"]) == 0
    (cell,) = record_of(home)["cells"]
    assert "eager" in cell
    assert cell["left_out"] == {"compiled": "no working C++ compiler"}


@pytest.mark.slow
def test_values_of_a_knob_are_cells_of_their_own(home, noted):
    assert main([*BENCH, "attention=nystrom", "attention.num_landmarks=8,16"]) == 0
    assert {kind.split("/")[1] for kind in noted} == {"nystrom num_landmarks=8", "nystrom num_landmarks=16"}


@pytest.mark.slow
def test_force_measures_the_asked_cells_alone_and_their_hours_are_said(home, noted, monkeypatch, capsys):
    assert main([*BENCH, BOTH]) == 0
    noted.clear()
    assert main([*BENCH, "attention=full"]) == 0
    assert not noted, "it is in the record"
    assert main([*BENCH, "attention=full", "force=true"]) == 0
    assert noted == ["eager listops/full", "parity listops/full"]
    assert len(record_of(home)["cells"]) == 2
    steps = {"attention": "full", "task": "listops", "eager": {"hours": 2.0}}
    monkeypatch.setattr("lra.bench.gpu_record.cell_of", lambda record, task, attention: steps)
    assert main([*BENCH, "attention=full"]) == 0
    assert "eager: 1 of 1 cells × 3 seeds take 6.0 hours" in capsys.readouterr().out


def test_a_compilers_mode_is_a_value_of_compiled():
    cfg, _, _ = read_gpu_words(["compiled=reduce-overhead", "task=listops", "attention=full"])
    assert cfg.compiled == "reduce-overhead"


def test_the_time_is_kept_and_what_was_not_reached_is_said(home, capsys, noted):
    assert main([*BENCH, BOTH, "minutes=1e-9"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "not reached in minutes=1e-09: eager steps of listops/nystrom, listops/full; the same command goes on" in out
    assert not noted
    assert main([*BENCH, BOTH]) == 0
    assert noted == [f"{kind} listops/{name}" for kind in ("eager", "parity") for name in ("nystrom", "full")]


def test_ctrl_c_keeps_what_is_finished(home, capsys, monkeypatch, noted):
    note = bench_gpu_measure.measure_unit

    def stopped(kind, kept, cell, cfg):
        if noted:
            raise Stopped(2)
        note(kind, kept, cell, cfg)

    monkeypatch.setattr(bench_gpu_measure, "measure_unit", stopped)
    assert main([*BENCH, BOTH]) == 130
    assert "1 of 4 measurements are in" in capsys.readouterr().err
    monkeypatch.setattr(bench_gpu_measure, "measure_unit", note)
    noted.clear()
    assert main([*BENCH, BOTH]) == 0
    assert noted == ["eager listops/full", "parity listops/nystrom", "parity listops/full"]


@pytest.mark.slow
def test_it_asks_for_the_papers_table_on_a_gpu_and_measures_what_is_prepared(home, capsys, noted):
    _, typed, cells = read_gpu_words([])
    assert (len(cells), cells[0].cfg.trainer.accelerator) == (25, "gpu")
    assert "trainer=gpu" in typed
    assert main([word for word in BENCH if word != "task=listops"]) == 0
    assert "left out: text, whose data is not prepared (lra prepare task=text size=tiny)" in capsys.readouterr().out
    assert {kind.split()[1].split("/")[0] for kind in noted} == {"listops"}


@pytest.mark.slow
def test_a_prediction_needs_neither_a_gpu_nor_data(home, capsys, monkeypatch):
    monkeypatch.setenv("LRA_DATA_DIR", "/nowhere")
    assert main(["bench", "gpu", "predict=h100", "size=tiny", "task=text", "attention=full", "format=markdown"]) == 0
    table = capsys.readouterr().out
    assert "Predicted, not measured" in table
    assert "| text/full " in table


@pytest.mark.slow
@pytest.mark.parametrize(
    "words, line",
    [
        ([], "no CUDA device is visible"),
        (["trainer=cpu", "size=tiny", "task=text"], "lra prepare task=text size=tiny"),
        (["minutes=0"], "minutes=0"),
        (["processes=0"], "processes=0"),
        (["predict=a100"], "choose one of h100"),
        (["predict=h100", "minutes=3"], "minutes=3 has no effect beside predict="),
        (["format=csv"], "terminal, markdown"),
        (["attention=nystrm"], "nystrom"),
        (["speed"], "'speed' is no setting"),
        (["compiled=fast"], "compiled=fast is not known; choose one of"),
        (
            ["trainer.precision=32-true,tf32"],
            "one value of trainer.precision at a time; type trainer.precision=32-true",
        ),
        (["seed=0,1"], "one value of seed at a time; type seed=0"),
    ],
)
def test_a_mistake_is_one_line(home, capsys, words, line):
    assert main(["bench", "gpu", *words]) == 2
    err = capsys.readouterr().err
    assert line in err
    assert len(err.strip().splitlines()) == 1


@pytest.mark.slow
def test_prepared_data_needs_no_package_that_only_making_data_or_wandb_needs(home):
    """A GPU's machine may have torch and lightning alone."""
    train = ["train", "size=tiny", "logger=csv", "model.num_layers=1", "recipe.steps=2", "recipe.eval_every=2"]
    code = (
        "import sys\n"
        "for name in ('tensorflow_datasets', 'array_record', 'importlib_resources', 'wandb', 'data_prep'):\n"
        "    sys.modules[name] = None\n"
        "from lra.cli import main\n"
        f"sys.exit(main({train}) or main({[*BENCH, 'attention=full', 'minutes=1e-9']}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=home.parent,
        env=outer_environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_compiled_steps_and_processes_side_by_side(home, capsys):
    words = [word for word in BENCH if word not in ("compiled=false", "processes=")]
    assert main([*words, "attention=full", "processes=1,2"]) == 0
    (cell,) = record_of(home)["cells"]
    assert cell["compiled"]["hours"] > 0
    assert set(cell["together"]) == {"1", "2"}
    assert "2 processes at a time" in capsys.readouterr().out
