"""The door to the packed form of a model, which computes real tokens alone: the models call it, and do not import it.

The packed form is written for the padded classes of `lra.attention` and `lra.model`, in `lra.packed`, which imports
them; other attentions and mixers go through their padded form. `lra/__init__.py` says where it is. So every model has
it in every process: one that is built from a configuration, constructed by hand, copied or unpickled.
"""

from __future__ import annotations

TYPE_CHECKING = False  # `lra` itself imports this file, so it must be fast
if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import Tensor, nn

    Encode = Callable[[nn.Module, Tensor, Tensor | None, nn.Module], Tensor]

_load: Callable[[], Encode] | None = None


def plug_in(load: Callable[[], Encode]) -> None:
    """Say how the packed form is loaded, which is done when a model first needs it."""
    global _load
    _load = load


def encode_packed(encoder: nn.Module, inputs: Tensor, valid_BL: Tensor | None, pooling: nn.Module) -> Tensor:
    """Encode each sequence to one vector, `[B, D]`, without its padding: as the encoder's `forward`, then `pooling`.

    Args:
        encoder: its blocks have the form `lra.model.block.PRE_NORM`.
        inputs: `[B, L]` token ids, or `[B, L, I]` vectors, as the encoder takes them.
        valid_BL: `[B, L]` bool, True at real positions; None when every position is real.
        pooling: pooling of the encoder's outputs.
    """
    assert _load is not None, "`import lra` plugs it in"
    return _load()(encoder, inputs, valid_BL, pooling)
