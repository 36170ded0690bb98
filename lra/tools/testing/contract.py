"""The promises of attentions and mixers; each one is a function that raises if the promise is broken.

The functions compute in float64, so that mathematically equal results agree to nine digits.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any

import torch
from torch import Tensor
from torch.autograd import gradcheck

from lra.tools.testing.subjects import Subject

LENGTHS = (1, 2, 17, 65, 250)
FORMS = ("padded", "packed")
OUTPUT = "output"  # what is compared, beside gradients
# Relative and absolute; NEAR is for what was computed in bfloat16, which has three digits.
CLOSE, CLOSE_GRADIENTS, NEAR = (1e-9, 1e-9), (1e-7, 1e-8), (0.1, 0.1)


class BrokenPromiseError(AssertionError):
    """Raised when a promise is broken; says what was computed instead.

    Attributes:
        kind: what was found in short, such as `not_finite`; of an error in the subject itself the name of its class.
        case: the case in which it was found, such as a length and a form.
    """

    def __init__(self, line: str, *, kind: str, case: dict[str, Any] | None = None):
        super().__init__(line)
        self.kind, self.case = kind, case or {}


@dataclass(frozen=True)
class Promise:
    """One promise in words, with its short name for the id of a test.

    Each of its cases, such as one length and form, is a function that raises `BrokenPromiseError`.
    """

    name: str
    text: str
    cases: tuple[Callable[[], None], ...]

    def check(self) -> None:
        """Test every case.

        Raises:
            BrokenPromiseError: at the first case in which the promise is broken.
        """
        for case in self.cases:
            case()

    def __str__(self) -> str:
        return self.text


def promises(subject: Subject, reference: Callable[..., Tensor] | None = None) -> list[Promise]:
    """List all promises of an attention or a mixer.

    Args:
        subject: the attention or mixer.
        reference: a slow implementation to compare with. It is called as `reference(*inputs, valid, **values)`, where
            `values` are the subject's options, parameters and buffers by name. None: no comparison.
    """
    promise = partial(_promise, subject)
    promised = [
        promise(
            keeps_shape,
            "shape and dtype kept, all finite, also in all-padding rows",
            dtype=(torch.float32, torch.float64),
            length=LENGTHS,
            training=(False, True),
            form=FORMS,
        ),
        promise(hides_padding, "padding never reaches a real token", length=LENGTHS[1:]),
        promise(independent_of_batch, "independent of the other examples of the batch, or batch_wide", form=FORMS),
        promise(
            packed_equals_padded, "packed and padded form agree, gradients too", length=LENGTHS, masked=(True, False)
        ),
        promise(has_true_gradients, "gradients match finite differences (gradcheck)", length=LENGTHS[1:4]),
        promise(repeats, "deterministic in evaluation, no state shared between instances"),
        promise(state_travels, "state_dict holds everything that evaluation needs"),
    ]
    if subject.under_autocast:
        promised.append(promise(computes_in_bfloat16, "trainer.precision=bf16-mixed is close to float32"))
    if reference is not None:
        equals = partial(equals_reference, reference=reference)
        text = "outputs and gradients equal the reference implementation's"
        promised.append(promise(equals, text, name="equals_reference", length=LENGTHS, masked=(True, False)))
    return promised


def _promise(
    subject: Subject, check: Callable[..., None], text: str, *, name: str = "", **axes: tuple[Any, ...]
) -> Promise:
    """The promise in every case: each value of every axis with each of the others."""
    cases = [dict(zip(axes, values, strict=True)) for values in product(*axes.values())]
    return Promise(name or check.__name__, text, tuple(partial(_check_case, check, subject, case) for case in cases))


def _check_case(check: Callable[..., None], subject: Subject, case: dict[str, Any]) -> None:
    """Test one case; an error names the case."""
    try:
        check(subject, **case)
    except Exception as error:
        message = " ".join(str(error).split())
        of_subject = type(error).__name__
        kind, before = (error.kind, "") if isinstance(error, BrokenPromiseError) else (of_subject, f"{of_subject}: ")
        where = ", ".join(f"{name}={value}" for name, value in case.items())
        line = f"{before}{message}" + (f" ({where})" if where else "")
        raise BrokenPromiseError(line, kind=kind, case=case) from error


def keeps_shape(subject: Subject, *, dtype: torch.dtype, length: int, training: bool, form: str) -> None:
    """Check that shape and dtype are kept, and that outputs and gradients are finite.

    The encoder is made for the longest length, so most sequences are shorter than it allows.
    """
    instance = subject.instance(LENGTHS[-1], dtype=dtype).train(training)
    tensors, valid_BL = subject.inputs(length, dtype=dtype)
    out = _finite(subject.mix(instance, form, tensors, valid_BL), valid_BL)
    shape, right = tuple(out.shape), tuple(tensors[0].shape)
    _require(shape == right, "other_shape", f"the output has shape {shape}, not {right}")
    _require(out.dtype == dtype, "other_dtype", f"the output is {out.dtype}, not {dtype}")
    inputs = (*tensors, *subject.parameters(instance).values())
    for gradient in torch.autograd.grad(out.sum(), inputs, allow_unused=True):
        is_finite = gradient is None or bool(gradient.isfinite().all())
        _require(is_finite, "gradient_not_finite", "a gradient is not finite")


def hides_padding(subject: Subject, *, length: int) -> None:
    """Check that padding changes no bit of a real token's output, and gets no gradient from it."""
    instance = subject.instance(length)
    tensors, valid_BL = subject.inputs(length)
    real = subject.over_output(valid_BL)
    others = [torch.where(real, x, 100 * torch.randn_like(x)).detach() for x in tensors]
    out = _finite(subject.mix(instance, "padded", tensors, valid_BL), valid_BL)
    changed = (out * real - subject.mix(instance, "padded", others, valid_BL) * real).abs().max().item()
    line = f"another content of the padding changes a real token's output by {changed:.2g}"
    _require(changed == 0, "reads_padding", line)
    for gradient in torch.autograd.grad((out * real).sum(), tensors, allow_unused=True):
        leaked = gradient is not None and bool((gradient * ~real)[valid_BL.any(1)].any())
        _require(not leaked, "gradient_at_padding", "a real token's output has a gradient at padding")


def independent_of_batch(subject: Subject, *, form: str) -> None:
    """Check that a sequence has the same output alone as in a batch, unless the subject is `batch_wide`."""
    if not subject.instance(LENGTHS[-1]).batch_wide:
        change = change_with_batch(subject, form=form)
        line = f"a sequence's output alone differs from that in a batch by {change:.2g}; is it batch_wide?"
        _require(change == 0, "reads_batch", line)


def change_with_batch(subject: Subject, *, form: str) -> float:
    """Compute how much outputs in a batch differ from those of each sequence alone; rounding errors count as 0."""
    instance = subject.instance(LENGTHS[-1])
    tensors, valid_BL = subject.inputs(LENGTHS[-1])
    alone = [
        subject.mix(instance, form, [x[i : i + 1] for x in tensors], valid_BL[i : i + 1]) for i in range(len(valid_BL))
    ]
    among = _finite(subject.mix(instance, form, tensors, valid_BL), valid_BL)
    return _difference(torch.cat(alone), among)


def packed_equals_padded(subject: Subject, *, length: int, masked: bool) -> None:
    """Check that the packed and the padded form have the same outputs at real tokens, and the same gradients."""
    instance = subject.instance(length)
    tensors, valid_BL = subject.inputs(length)
    valid = valid_BL if masked else None
    padded, packed = (_finite(subject.mix(instance, form, tensors, valid), valid) for form in FORMS)
    _compare(subject, instance, tensors, valid, packed, padded)


def repeats(subject: Subject) -> None:
    """Check that an evaluation pass can be repeated, also after another instance has computed something."""
    first, second = subject.instance(17), subject.instance(17, seed=1)
    tensors, valid_BL = subject.inputs(17)
    before = _finite(subject.mix(first, "padded", tensors, valid_BL), valid_BL)
    for parameter in second.parameters():
        torch.nn.init.ones_(parameter)
    subject.mix(second, "padded", [2 * tensors[0], *tensors[1:]], valid_BL)
    again = subject.mix(first, "padded", tensors, valid_BL)
    _require(again.equal(before), "not_repeatable", "a second evaluation pass gives another output")
    shared = {id(p) for p in first.parameters()} & {id(p) for p in second.parameters()}
    _require(not shared, "shared_parameters", "two instances share parameters")


def state_travels(subject: Subject) -> None:
    """Check that an instance with another instance's `state_dict` has the same outputs."""
    first, second = subject.instance(17), subject.instance(17, seed=1)
    second.load_state_dict(first.state_dict())
    tensors, valid_BL = subject.inputs(17)
    outs = [_finite(subject.mix_padded(instance, tensors, valid_BL), valid_BL) for instance in (first, second)]
    line = "after load_state_dict another instance gives another output"
    _require(outs[0].equal(outs[1]), "lost_state", line)


def has_true_gradients(subject: Subject, *, length: int) -> None:
    """Outputs at real tokens change as their gradients say when inputs and parameters are shifted a little."""
    instance = subject.instance(length)
    tensors, valid_BL = subject.inputs(length)

    def real_output(*_: Tensor) -> Tensor:  # of the same tensors: gradcheck shifts them in place
        return _finite(subject.mix(instance, "padded", tensors, valid_BL), valid_BL) * subject.over_output(valid_BL)

    shifted = (*tensors, *subject.parameters(instance).values())
    same = gradcheck(real_output, shifted, fast_mode=True, check_undefined_grad=False, raise_exception=False)
    _require(same, "wrong_gradient", "a gradient does not match finite differences")


def computes_in_bfloat16(subject: Subject) -> None:
    """Under autocast, outputs are finite and near those of float32."""
    instance = subject.instance(LENGTHS[-1], dtype=torch.float32)
    tensors, valid_BL = subject.inputs(LENGTHS[-1], dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        out = subject.mix_padded(instance, tensors, valid_BL)
    out, real = _finite(out, valid_BL), subject.over_output(valid_BL)
    _close(OUTPUT, out.float() * real, subject.mix_padded(instance, tensors, valid_BL) * real, NEAR)


def padded_length_change(subject: Subject) -> float:
    """By how much real tokens' outputs differ when padding at the end is cut off; 0 up to rounding.

    No promise of all: segments of the padded length, or a Fourier transform over it, give it a meaning.
    """
    instance = subject.instance(LENGTHS[-1])
    tensors, valid_BL = subject.inputs(LENGTHS[-1])
    valid_BL = (torch.arange(LENGTHS[-1]) < 40).expand_as(valid_BL)
    padded = subject.mix_padded(instance, tensors, valid_BL)[..., :40, :]
    alone = subject.mix_padded(instance, [x[..., :40, :] for x in tensors], None)
    return _difference(padded, alone)


def equals_reference(subject: Subject, *, reference: Callable[..., Tensor], length: int, masked: bool) -> None:
    """Check that outputs and gradients equal those of the slow reference implementation."""
    instance = subject.instance(length)
    tensors, valid_BL = subject.inputs(length)
    valid = valid_BL if masked else None
    values = {**subject.options, **dict(instance.named_parameters()), **dict(instance.named_buffers())}
    slow = subject.mix_by_reference(partial(reference, **values), tensors, valid)
    _compare(subject, instance, tensors, valid, _finite(subject.mix(instance, "padded", tensors, valid), valid), slow)


def _compare(
    subject: Subject, instance: Any, tensors: list[Tensor], valid_BL: Tensor | None, out: Tensor, expected: Tensor
) -> None:
    """Check that outputs at real tokens, and their gradients, are close to the expected ones."""
    real = 1 if valid_BL is None else subject.over_output(valid_BL)
    _close(OUTPUT, out * real, expected * real, CLOSE)
    weights = torch.randn_like(out) * real
    shifted = {f"input {i}": x for i, x in enumerate(tensors)} | subject.parameters(instance)
    gradients = [torch.autograd.grad(x, [*shifted.values()], weights, materialize_grads=True) for x in (out, expected)]
    for name, fast, slow in zip(shifted, *gradients, strict=True):
        _close(f"gradient of {name}", fast, slow, CLOSE_GRADIENTS)


def _close(what: str, value: Tensor, expected: Tensor, tolerance: tuple[float, float]) -> None:
    difference = _difference(value, expected, tolerance)
    _require(
        difference == 0, "other_output" if what == OUTPUT else "other_gradient", f"{what} differs by {difference:.2g}"
    )


def _difference(value: Tensor, expected: Tensor, tolerance: tuple[float, float] = CLOSE) -> float:
    """Return the largest difference; 0 if all are within the tolerance."""
    return 0.0 if torch.allclose(value, expected, *tolerance) else (value - expected).abs().max().item()


def _finite(out: Tensor, valid_BL: Tensor | None) -> Tensor:
    """Return the output if it is finite; NaN differs from itself, so every comparison would blame something else."""
    broken_B = ~out.isfinite().flatten(1).all(1)
    if broken_B.any():
        padding = valid_BL is not None and not valid_BL[broken_B].any()
        where = " for a row that is all padding" if padding else ""
        raise BrokenPromiseError(
            f"the output is not finite{where}", kind="not_finite_padding" if padding else "not_finite"
        )
    return out


def _require(holds: bool, kind: str, otherwise: str) -> None:
    if not holds:
        raise BrokenPromiseError(otherwise, kind=kind)
