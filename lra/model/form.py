"""The form of the encoder: where its LayerNorms are, its activation, and what its embedding adds.

The benchmark has one form, `PRE_NORM`. The others are those of models that `lra.interop` reads.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from torch import nn

NORMS = ("pre", "post")
ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "gelu": nn.GELU,
    "gelu_tanh": partial(nn.GELU, approximate="tanh"),
    "relu": nn.ReLU,
}


@dataclass(frozen=True, kw_only=True)
class EncoderForm:
    """How the encoder's parts are put together.

    Attributes:
        norm: `pre`: `x + f(norm(x))` in each block, and a last LayerNorm. `post`: `norm(x + f(x))` in each block, and a
            LayerNorm after the embedding (Vaswani et al. 2017, BERT).
        norm_eps: what the LayerNorms add to the variance, above 0.
        activation: activation of the feed-forward networks, one of `ACTIVATIONS`.
        inner_dropout: whether the feed-forward networks also drop after their activation.
        first_position: row of the position table that the first token of a sequence gets; those before are not used.
        token_types: rows of a table whose row for a token's type is added to its embedding; 0: no table.
    """

    norm: str
    norm_eps: float
    activation: str
    inner_dropout: bool
    first_position: int
    token_types: int

    def __post_init__(self) -> None:
        """Know the words."""
        assert self.norm in NORMS, self.norm
        assert self.activation in ACTIVATIONS, self.activation


PRE_NORM = EncoderForm(
    norm="pre", norm_eps=1e-5, activation="gelu", inner_dropout=True, first_position=0, token_types=0
)
