"""compile=MODE: what reaches torch's compiler, and that its real kernels train as eager ones do."""

from itertools import product

import pytest
import torch
from torch.nn.functional import cross_entropy

from lra import from_config
from lra.base.paths import conf_names
from lra.settings.compose import load_config
from lra.settings.run_config import ATTENTION
from lra.settings.which_run import config_hash, hashed_settings
from lra.training.compiled import GRAPH_MODES
from tests.attention.test_contract import NAMES


@pytest.fixture(autouse=True)
def fresh_compiler():
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@pytest.mark.parametrize("typed, mode", [("true", None), *((mode, mode) for mode in GRAPH_MODES)])
def test_the_mode_reaches_torch_and_the_hash(monkeypatch, typed, mode):
    asked = []
    monkeypatch.setattr(torch.nn.Module, "compile", lambda self, **how: asked.append(how))
    plain, compiled = (load_config("train", ["size=tiny", f"compile={word}"]) for word in ("false", typed))
    from_config.build_module(plain)
    assert not asked
    from_config.build_module(compiled)
    assert asked == [{"fullgraph": True, "dynamic": False, "mode": mode}], "a break in the graph is an error"
    assert hashed_settings(compiled)["trainer"]["compile"] == (mode or True)
    assert config_hash(compiled) != config_hash(plain)


def test_the_names_are_torch_s():
    from torch._inductor import list_mode_options

    options = list_mode_options()
    assert all(options[mode]["triton.cudagraphs"] for mode in GRAPH_MODES)


@pytest.mark.slow
@pytest.mark.parametrize("mode", GRAPH_MODES)
def test_parts_of_a_batch_are_refused_where_their_gradients_would_be_overwritten(home, refused, mode):
    words = ["train", "size=tiny", "logger=csv", f"compile={mode}", "trainer.accumulate_grad_batches=2"]
    assert refused(*words).right == "compile=true"
    assert not home.exists()


@pytest.mark.slow
@pytest.mark.parametrize(
    "words", [["attention=reformer"], ["attention=skyformer"], ["attention=nystrom", "attention.landmark_rule=random"]]
)
@pytest.mark.exhaustive
def test_attentions_that_draw_on_the_host_can_be_evaluated(monkeypatch, words):
    """By the compiler's front end, which decides about breaks."""
    real = torch.nn.Module.compile

    def by_front_end(self, *, mode: str | None, **how: bool) -> None:
        real(self, backend="aot_eager", **how)

    monkeypatch.setattr(torch.nn.Module, "compile", by_front_end)
    tokens = torch.randint(1, 16, (2, 1, 256))
    outs = []
    for word in ("false", "true"):
        torch.manual_seed(0)
        cfg = load_config("train", ["size=tiny", "model.num_layers=1", f"compile={word}", *words])
        model = from_config.build_module(cfg).model.eval()
        with torch.no_grad():
            outs.append(model(tokens, tokens != 0))
    torch.testing.assert_close(*outs, rtol=1e-4, atol=1e-5)


def losses(words: list[str], *, steps: int) -> list[torch.Tensor]:
    """Losses of training steps, and of two dev batches of which the last one is smaller."""
    cfg = load_config("train", ["size=tiny", "model.dropout=0", "model.num_layers=1", "model.packed=false", *words])
    torch.manual_seed(0)
    module, spec = from_config.build_module(cfg), from_config.build_spec(cfg)
    optimizer = module.make_optimizer()
    shape = (4, spec.num_sequences, spec.seq_len)
    batches = torch.randint(1, 16, (steps, *shape)).unbind(0)
    found = []
    for number, tokens in enumerate(batches):
        torch.manual_seed(number)  # of what is drawn in a step
        valid = tokens != 0 if cfg.task.mask_zero else None
        found.append(cross_entropy(module.model(tokens, valid), tokens[:, 0, 0] % spec.num_classes))
        optimizer.zero_grad()
        found[-1].backward()
        optimizer.step()
    module.eval()
    with torch.no_grad():
        for size in (4, 3):
            tokens = batches[0][:size]
            found.append(module.model(tokens, tokens != 0 if cfg.task.mask_zero else None).square().mean())
    return [loss.detach() for loss in found]


def compare(words: list[str], mode: str) -> None:
    """The compiler's own generator gives other numbers than eager torch; here it draws as eager torch does.

    Nor does it choose kernels of its own for products by their times: torch fails on some such choices on a CPU.
    """
    with torch._inductor.config.patch(fallback_random=True, max_autotune_gemm_backends="ATEN"):
        plain, compiled = losses(words, steps=3), losses([*words, f"compile={mode}"], steps=3)
    torch.testing.assert_close(compiled, plain, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_compiled_steps_are_eager_ones():
    """By the real compiler: forward, backward and the smaller last batch of a dev pass, each a graph of its own."""
    compare(["attention=average", "recipe.optimizer.lr=1e-2"], "reduce-overhead")


GRAPHED = ("nystrom", "full", "reformer")  # on a CPU these modes compile what "true" does


@pytest.mark.slow
@pytest.mark.some_in_ci(1)  # a compilation to kernels takes half a minute
@pytest.mark.parametrize("attention, mode", [*product(GRAPHED, GRAPH_MODES), *((name, "true") for name in NAMES)])
def test_compiled_steps_are_eager_ones_for_every_attention(attention, mode):
    dropped = ["attention.attention_dropout=0"] if attention == "full" else []
    compare([f"attention={attention}", "protocol=clean", *dropped], mode)


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.parametrize("mixer", sorted({*conf_names("mixer")} - {ATTENTION}))
def test_compiled_steps_are_eager_ones_for_every_mixer(mixer):
    compare([f"mixer={mixer}", "protocol=clean"], "true")
