"""One encoder block, a sequence mixer and then a feed-forward network, and the form of an encoder.

The benchmark has one form, `PRE_NORM`. The others are those of models that `lra.interop` reads.

Letters: B sequences, L positions, T real tokens of all sequences, D model width.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from torch import Tensor, nn

from lra.model.mixer import SequenceMixer
from lra.ops.packed.dropout import DropoutMasks
from lra.ops.packed.layers import feed_forward_residual
from lra.ops.packed.packing import Packing

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


class FeedForward(nn.Sequential):
    """Linear, activation, Linear, with dropout after the activation and at the end."""

    def __init__(self, *, width: int, hidden: int, dropout: float, form: EncoderForm):
        super().__init__(
            nn.Linear(width, hidden),
            ACTIVATIONS[form.activation](),
            nn.Dropout(dropout if form.inner_dropout else 0.0),
            nn.Linear(hidden, width),
            nn.Dropout(dropout),
        )

    def residual_packed(self, x_TD: Tensor, norm: nn.LayerNorm, masks: DropoutMasks | None) -> Tensor:
        """Compute `x + self(norm(x))` for packed tokens, `[T, D]`; without masks there is no dropout."""
        up, _, _, down, _ = self
        assert isinstance(up, nn.Linear)
        assert isinstance(down, nn.Linear)
        return feed_forward_residual(x_TD, norm.weight, norm.bias, up.weight, up.bias, down.weight, down.bias, masks)


class EncoderBlock(nn.Module):
    """`x + dropout(mixer(norm(x)))`, then `x + feed_forward(norm(x))`; or, see `form`, the LayerNorm after each sum.

    `feed_forward` is the hidden width of the feed-forward network, `dropout` a rate in [0, 1).
    """

    def __init__(self, mixer: SequenceMixer, *, feed_forward: int, dropout: float, form: EncoderForm):
        super().__init__()
        width = mixer.dims.width
        self.post_norm = form.norm == "post"
        self.mixer_norm = nn.LayerNorm(width, eps=form.norm_eps)
        self.mixer = mixer
        self.dropout = nn.Dropout(dropout)
        self.feed_forward_norm = nn.LayerNorm(width, eps=form.norm_eps)
        self.feed_forward = FeedForward(width=width, hidden=feed_forward, dropout=dropout, form=form)

    def forward(self, x_BLD: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Transform `[B, L, D]`; `valid_BL` as in the mixer's contract.

        A change here must also be made in `forward_packed`, which runs on a CPU; tests/model/test_packed.py compares
        both.
        """
        if self.post_norm:
            x_BLD = self.mixer_norm(x_BLD + self.dropout(self.mixer(x_BLD, valid_BL)))
            normed_BLD: Tensor = self.feed_forward_norm(x_BLD + self.feed_forward(x_BLD))
            return normed_BLD
        x_BLD = x_BLD + self.dropout(self.mixer(self.mixer_norm(x_BLD), valid_BL))
        x_BLD = x_BLD + self.feed_forward(self.feed_forward_norm(x_BLD))
        return x_BLD

    def forward_packed(self, x_TD: Tensor, packing: Packing, masks: DropoutMasks | None) -> Tensor:
        """Transform packed tokens, `[T, D]`, with one fused operator for each of the two steps."""
        x_TD = self.mixer.residual_packed(x_TD, self.mixer_norm, packing, masks)
        return self.feed_forward.residual_packed(x_TD, self.feed_forward_norm, masks)
