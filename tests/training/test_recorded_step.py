"""trainer.cuda_graph: a training whose passes are recorded once has the numbers of one that launches each kernel."""

from collections.abc import Callable, Iterator
from functools import partial

import pytest
import torch
from torch import Tensor

from lra import from_config
from lra.cli import main
from lra.settings.compose import load_config
from lra.settings.cuda_graphs import records_step
from lra.settings.which_run import hashed_settings
from lra.training import module as training_module
from lra.training.cost.harness_step import make_step
from lra.training.module import ClassifierModule
from lra.training.recorded_step import RecordedStep
from lra.types import Batch, to_device
from tests.training.test_training import curve, same, weights

needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
RUN = ("train", "size=tiny", "attention=nystrom", "logger=csv", "trainer.threads=1", "callbacks.log_every_steps=1")
STEPS = (*RUN, "recipe.steps=6", "recipe.eval_every=3")
COLUMNS = ("step", "train/loss", "train/accuracy", "dev/loss", "test/loss", "test/accuracy")


def repeat(compute: Callable[[], tuple[Tensor, ...]]) -> tuple[Callable[[], None], tuple[Tensor, ...]]:
    """In place of a GPU's graph: compute again at each replay, into the tensors of the first time."""
    outputs = compute()

    def replay() -> None:
        for old, new in zip(outputs, compute(), strict=True):
            old.copy_(new)

    return replay, outputs


@pytest.fixture
def recorded(monkeypatch) -> list[Batch]:
    """Record steps on a CPU, by `repeat`; one entry for each recording."""
    made: list[Batch] = []

    def record(model, compute, example):
        made.append(example)
        return RecordedStep(model, compute, example, record=repeat)

    monkeypatch.setattr(training_module, "RecordedStep", record)
    monkeypatch.setattr(from_config, "records_step", lambda cfg: True)
    monkeypatch.setattr(ClassifierModule, "reads_late", True)
    return made


@pytest.mark.slow
@pytest.mark.parametrize("words", [(), ("trainer.precision=bf16-mixed",), ("+trainer.gradient_clip_val=0.1",)])
def test_a_recorded_run_has_the_numbers_of_one_that_is_not(home, tmp_path, monkeypatch, request, words):
    """Stopped and resumed, too; dropout draws the same numbers, although a recording computes the step first."""
    assert main([*STEPS, *words]) == 0
    again = tmp_path / "again"
    monkeypatch.setenv("LRA_RUNS_DIR", str(again))
    made = request.getfixturevalue("recorded")
    assert main([*STEPS, *words, "trainer.max_steps=4"]) == 0
    assert main([*STEPS, *words]) == 0
    assert len(made) == 2
    assert same(weights(home), weights(again))
    assert curve(home, *COLUMNS) == curve(again, *COLUMNS)


def build(*words: str) -> ClassifierModule:
    torch.manual_seed(0)
    return from_config.build_module(load_config("train", ["size=tiny", *words])).train()


def batches(count: int, length: int = 64) -> Iterator[Batch]:
    generator = torch.Generator().manual_seed(1)
    for _ in range(count):
        tokens = torch.randint(1, 15, (8, 1, length), generator=generator)
        used = torch.randint(length // 2, length, (8, 1, 1), generator=generator)
        valid = torch.arange(length) < used
        yield Batch(tokens * valid, valid, torch.randint(0, 10, (8,), generator=generator))


def test_buffers_and_random_numbers_are_as_if_nothing_had_been_recorded():
    model = torch.nn.BatchNorm1d(3)
    before, state = model.running_mean.clone(), torch.get_rng_state()

    def compute(batch: Batch) -> tuple[Tensor]:
        return (model(torch.rand(8, 3)).square().sum(),)

    step = RecordedStep(model, compute, next(batches(1)), record=repeat)
    assert torch.equal(model.running_mean, before)
    assert torch.equal(torch.get_rng_state(), state)
    step(next(batches(1)))
    assert not torch.equal(model.running_mean, before)


@pytest.mark.parametrize("change", ["shape", "mask"])
def test_another_shape_is_never_computed_with_what_an_earlier_batch_left(change):
    first, second = batches(2)
    module = build("attention=average")
    step = RecordedStep(module.model, module.loss_and_logits, first, record=repeat)
    with pytest.raises(AssertionError):
        step(second._replace(valid=None) if change == "mask" else second._replace(label=second.label[:4]))


@pytest.mark.parametrize(
    "words, records",
    [
        ((), True),
        (("task=image", "mixer=s4d", "protocol=s4"), True),
        (("trainer.cuda_graph=false",), False),
        (("trainer=cpu", "trainer.cuda_graph=auto"), False),
        (("trainer.precision=bf16-mixed",), True),
        (("trainer.precision=16-mixed",), False),
        (("trainer.accumulate_grad_batches=2",), False),
        (("trainer.devices=2",), False),
        (("compile=true",), False),
        (("attention=nystrom", "attention.pinv=exact"), False),
        (("attention=performer", "attention.redraw_every=10"), False),
    ],
)
def test_what_auto_records(words, records):
    assert records_step(load_config("train", ["trainer=gpu", "trainer.cuda_graph=auto", *words])) is records


def test_auto_does_not_record_what_a_user_has_written():
    cfg = load_config("train", ["trainer=gpu", "trainer.cuda_graph=auto"])
    cfg = cfg.changed({"attention._target_": "mine.Attention"})
    assert not records_step(cfg)
    assert records_step(cfg.changed({"trainer.cuda_graph": True}))


def test_the_setting_is_not_in_the_hash():
    one, other = (
        hashed_settings(load_config("train", ["trainer=gpu", *words])) for words in ((), ("trainer.cuda_graph=auto",))
    )
    assert one == other


@pytest.mark.parametrize("words", ["trainer=cpu", "trainer.precision=16-mixed", "compile=true", "trainer.devices=2"])
def test_what_cannot_be_recorded_is_refused_where_it_was_typed(refused, words):
    error = refused("train", "trainer=gpu", "trainer.cuda_graph=true", words)
    assert (error.key, error.kind) == ("trainer.cuda_graph", "contradiction")
    assert "trainer.cuda_graph=auto" in str(error.right)


METHODS = (
    *(f"attention={name}" for name in ("full", "nystrom", "linformer", "performer", "reformer", "skyformer", "local")),
    "mixer=s4d",
    "mixer=mamba2",
)


@needs_gpu
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("precision", ["32-true", "bf16-mixed"])
def test_on_a_gpu_twenty_steps_are_the_same(method, precision):
    """With dropout. Most methods to the last bit; some kernels add up in another order at each run."""
    trained = []
    for graph in ("false", "false", "auto"):
        module = build("trainer=gpu", method, f"trainer.cuda_graph={graph}").cuda()
        torch.manual_seed(2)
        examples = [to_device(batch, torch.device("cuda")) for batch in batches(20)]
        step = make_step(module, examples, parts=1, precision=precision)
        losses = torch.stack([step() for _ in examples]).cpu()
        trained.append((losses, *(weight.detach().cpu() for weight in module.model.parameters())))
    plain, again, graph = trained
    apart = max(float((a - b).abs().max()) for a, b in zip(plain, again, strict=True))
    for one, other in zip(plain, graph, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=4 * apart)


@needs_gpu
def test_on_a_gpu_a_step_that_waits_is_refused():
    module = build("trainer=gpu", "trainer.cuda_graph=true", "attention=average").cuda()
    waits = partial(torch.Tensor.item)
    module.model.register_forward_hook(lambda _module, _inputs, logits: waits(logits.sum()) and None)
    with pytest.raises(Exception, match=r"trainer\.cuda_graph=false"):
        module.passes(to_device(next(batches(1)), torch.device("cuda")))
