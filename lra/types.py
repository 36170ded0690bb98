"""Types that many modules share: a task's specification, a batch, and the error for a user's mistake.

Letters: B examples, N sequences per example, L positions.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import EllipsisType
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import torch
    from torch import Tensor


LOCKED = 75  # exit code when another process is at work on the same run (EX_TEMPFAIL in sysexits.h)


class UserError(ValueError):
    """A mistake of the user; the message is one line with the wrong value, a correct one, and what to type.

    Attributes:
        kind: the kind of mistake in short, such as `wrong_value`; None where no test needs it, as the following.
        key: the option or file that it is about.
        value: the wrong value.
        right: what is right, or what to type.
    """

    def __init__(
        self, line: str, *, kind: str | None = None, key: str | None = None, value: object = None, right: object = None
    ):
        super().__init__(line)
        self.kind, self.key, self.value, self.right = kind, key, value, right

    def reworded(self, line: str) -> UserError:
        """Make the error of the same mistake with another line, such as one that names the file too."""
        return UserError(line, kind=self.kind, key=self.key, value=self.value, right=self.right)


@dataclass(frozen=True, kw_only=True)
class TaskSpec:
    """The facts about a task that a model is built from.

    Attributes:
        name: the task's name, as in `task=NAME`.
        vocab_size: rows of the token embedding; ids are `0 .. vocab_size - 1`, 0 is padding.
        seq_len: positions of one sequence after padding.
        num_sequences: sequences per example: 1, or 2 for document pairs.
        num_classes: labels are `0 .. num_classes - 1`.

    Raises:
        UserError: for a spec that no model could be built for.
    """

    name: str
    vocab_size: int
    seq_len: int
    num_sequences: int
    num_classes: int

    def __post_init__(self) -> None:
        """Refuse a spec that no model could be built for."""
        for field, least in (("vocab_size", 2), ("seq_len", 1), ("num_sequences", 1), ("num_classes", 2)):
            if getattr(self, field) < least:
                raise UserError(f"task {self.name}: {field}={getattr(self, field)}, but at least {least} is needed")


class Batch(NamedTuple):
    """One batch of examples.

    Attributes:
        tokens: `[B, N, L]`, either int64 token ids, padded with 0 at the end, or float32 real values of positions, such
            as those of pixels under `protocol.pixels=values`.
        valid: `[B, N, L]` bool, True at real tokens (it may have holes), or None when every position is real.
        label: `[B]` int64 class labels.
    """

    tokens: Tensor
    valid: Tensor | None
    label: Tensor


def to_device(batch: Batch, device: torch.device) -> Batch:
    """Move a batch to a device; as a method, `to`, Lightning would call it in the place of its own."""
    valid = None if batch.valid is None else batch.valid.to(device)
    return Batch(batch.tokens.to(device), valid, batch.label.to(device))


def inputs_and_mask(inputs: Tensor | Batch, valid_BNL: Tensor | EllipsisType | None) -> tuple[Tensor, Tensor | None]:
    """Split what a model is called with, a batch, or its inputs and their mask; `...` stands for a mask not given.

    Raises:
        TypeError: when the mask of inputs is missing, or a batch has a second one.
    """
    if isinstance(inputs, Batch) and valid_BNL is ...:
        return inputs.tokens, inputs.valid
    if isinstance(inputs, Batch) or isinstance(valid_BNL, EllipsisType):
        raise TypeError("call a model as model(batch), or as model(tokens, valid); valid=None: every position is real")
    return inputs, valid_BNL
