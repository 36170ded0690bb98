"""Forward passes on a GPU that is not there, in a process of its own: fake tensors of the device `cuda`.

They have a type, a shape and a place, but no data, and mixed precision changes their types as a GPU's. With torch's CPU
build a gradient of one ends the process; the meta device has gradients, but no mixed precision, see `waiting.py`.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.func import functional_call
from torch.nn.functional import scaled_dot_product_attention
from torch.overrides import TorchFunctionMode

from lra import from_config
from lra.attention.none import NoAttention
from lra.model.self_attention import SelfAttention
from lra.settings.compose import load_config
from lra.training.machine import autocast_context

GPU = torch.device("cuda", 0)
PASSES = (  # precision, whether there is a mask, and what attention computes in
    ("32-true", True, "float32"),
    ("32-true", False, "float32"),
    ("16-mixed", True, "float32"),
    ("16-mixed", False, "float32"),
    ("16-mixed", True, "autocast"),
)


@contextmanager
def fake_gpu(precision: str) -> Iterator[None]:
    """Let tensors be fake, and the device `cuda` compute in a precision, without gradients."""
    with (
        mock.patch.object(torch.cuda.amp.common, "amp_definitely_not_available", return_value=False),
        torch.no_grad(),
        FakeTensorMode(),
        _WithoutGuard(),
        autocast_context(precision, GPU),
    ):
        yield


class _WithoutGuard(TorchFunctionMode):
    """Calls operators in place of what asks torch's CUDA build for the current device, or for its kernels."""

    def __torch_function__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:
        return INSTEAD.get(func, func)(*args, **(kwargs or {}))


def take(x: Tensor, index: Any) -> Tensor:
    """Index as `x[index]` does."""
    index = index if isinstance(index, tuple) else (index,)
    if ... in [part for part in index if not isinstance(part, Tensor)]:
        place = next(k for k, part in enumerate(index) if part is ...)
        others = x.dim() - sum(part is not None for part in index) + 1
        index = (*index[:place], *[slice(None)] * others, *index[place + 1 :])
    tensors: list[Tensor | None] = []
    for part in index:
        dim = len(tensors)
        if isinstance(part, int):
            x = x.select(dim, part)
            continue
        if part is None:
            x = x.unsqueeze(dim)
        elif isinstance(part, slice):
            x = torch.ops.aten.slice(x, dim, part.start, part.stop, part.step or 1)
        tensors.append(part if isinstance(part, Tensor) else None)
    return torch.ops.aten.index(x, tensors) if any(part is not None for part in tensors) else x


def attend(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0) -> Tensor:
    """Check shapes and types as fused attention does, which autocast gives its type."""
    if torch.is_autocast_enabled(GPU.type):
        q, k, v = (x.to(torch.get_autocast_dtype(GPU.type)) for x in (q, k, v))
    assert q.dtype == k.dtype == v.dtype, (q.dtype, k.dtype, v.dtype)
    out: Tensor = torch.ops.aten._scaled_dot_product_attention_math(q, k, v, attn_mask, dropout_p)[0]
    return out


INSTEAD: dict[Any, Callable[..., Any]] = {
    Tensor.__getitem__: take,
    Tensor.__invert__: Tensor.bitwise_not,
    scaled_dot_product_attention: attend,
}


def passes(task: str, method: str, protocol: str) -> Iterator[tuple[str, str | None]]:
    """Compute a model's forward passes; each one's name, and its error or None."""
    cfg = config_of(task, method, protocol)
    with torch.device("meta"):
        model = from_config.build_model(cfg).train()
    attention = [part for part in model.modules() if isinstance(part, SelfAttention)]
    for precision, masked, attention_dtype in PASSES if attention else PASSES[:-1]:
        for part in attention:
            part.dims = replace(part.dims, attention_dtype=attention_dtype)
        error = None
        try:
            with fake_gpu(precision):
                weights = {**dict(model.named_parameters()), **dict(model.named_buffers())}
                on_gpu = {name: torch.empty(x.shape, dtype=x.dtype, device=GPU) for name, x in weights.items()}
                tokens = example_tokens(cfg, GPU)
                logits = functional_call(model, on_gpu, (tokens, tokens != 0 if masked else None))
                assert logits.device == GPU, logits.device
        except Exception as caught:  # every one is a finding
            error = f"{type(caught).__name__}: {caught}"
        yield f"{task} {method} {protocol} {precision} masked={masked} {attention_dtype}", error


def config_of(task: str, method: str, protocol: str) -> Any:
    """Compose the configuration of a model of one layer; in two parts, of which there are fewer than of pairs.

    A method whose options depend on the task (S4D under `s4`) has those for ListOps.
    """
    cfg, group = composed(f"task={task}", f"protocol={protocol}"), method.partition("=")[0]
    of_method = composed(*method.split(), f"protocol={protocol}")
    return cfg.with_group("mixer", of_method.plain("mixer")).with_group(group, of_method.plain(group))


@cache
def composed(*words: str) -> Any:
    return load_config("train", ["model.num_layers=1", *words])


def example_tokens(cfg: Any, device: torch.device) -> Tensor:
    """Make tokens, or real values, of two examples."""
    spec, dtype = from_config.build_spec(cfg), torch.float if cfg.model.inputs == "values" else torch.long
    return torch.ones(2, spec.num_sequences, spec.seq_len, dtype=dtype, device=device)


class AddsOfHost(NoAttention):
    """A mistake: adds a tensor of the host."""

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        return v_BHLE + torch.arange(v_BHLE.shape[3])


class ReadsNumber(NoAttention):
    """A mistake: reads a number of the device."""

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        return v_BHLE / v_BHLE.amax().item()


class MixesTypes(NoAttention):
    """A mistake: multiplies matrices of two types."""

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        return q_BHLE.half() @ k_BHLE.mT @ v_BHLE


if __name__ == "__main__":  # reads task, method and protocol of models, and writes the errors of their passes
    found = [one for cell in json.load(sys.stdin) for one in passes(*cell)]
    print(json.dumps({"passes": len(found), "errors": {name: error for name, error in found if error}}))
