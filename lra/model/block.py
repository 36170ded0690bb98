"""One encoder block, a sequence mixer and then a feed-forward network, and the form of an encoder.

`PRE_NORM` is that of the paper. Others are those of `protocol=s4` and of models that `lra.tools.interop` reads.

Letters: B sequences, L positions, D model width.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

from torch import Tensor, nn

from lra.base.protocol import Inputs, Norm, Positions
from lra.model.layers import BatchNorm, make_dropout, normalise
from lra.model.mixer import MixerDims, SequenceMixer

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {
    "gelu": nn.GELU,
    "gelu_tanh": partial(nn.GELU, approximate="tanh"),
    "relu": nn.ReLU,
}


@dataclass(frozen=True, kw_only=True)
class EncoderForm:
    """How the encoder's parts are put together.

    Attributes:
        norm: `pre`: `x + f(norm(x))` in each block, and a last norm. `post`: `norm(x + f(x))` in each block.
        norm_eps: what the norms add to the variance, above 0.
        embedding_norm: whether there is a norm after the embedding (BERT).
        activation: activation of the feed-forward networks, one of `ACTIVATIONS`.
        inner_dropout: whether the feed-forward networks also drop after their activation.
        first_position: row of the position table that the first token of a sequence gets; those before are not used.
        token_types: rows of a table whose row for a token's type is added to its embedding; 0: no table.
        norm_kind: the `norm` of `lra.model.classifier.SequenceClassifier`, which has the next four by these names.
        embedding_dropout: rate after the embedding, in [0, 1).
        inputs: whether the inputs are tokens or values.
        positions: how positions are told apart.
        token_std: standard deviation of the initial token embedding.
    """

    norm: Literal["pre", "post"]
    norm_kind: Norm
    norm_eps: float
    embedding_norm: bool
    embedding_dropout: bool
    activation: str
    inner_dropout: bool
    first_position: int
    token_types: int
    inputs: Inputs
    positions: Positions
    token_std: float

    def make_norm(self, width: int) -> nn.LayerNorm | BatchNorm:
        """Make a norm of this kind."""
        if self.norm_kind == "layer":
            return nn.LayerNorm(width, eps=self.norm_eps)
        return BatchNorm(width, eps=self.norm_eps, over_padding=self.norm_kind == "batch_padded")


PRE_NORM = EncoderForm(
    norm="pre",
    norm_kind="layer",
    norm_eps=1e-5,
    embedding_norm=False,
    embedding_dropout=True,
    activation="gelu",
    inner_dropout=True,
    first_position=0,
    token_types=0,
    inputs="tokens",
    positions="learned",
    token_std=0.02,
)


class FeedForward(nn.Sequential):
    """Linear, activation, Linear, with dropout after the activation and at the end."""

    def __init__(self, dims: MixerDims, *, hidden: int, form: EncoderForm):
        super().__init__(
            nn.Linear(dims.width, hidden),
            ACTIVATIONS[form.activation](),
            nn.Dropout(dims.dropout if form.inner_dropout else 0.0),
            nn.Linear(hidden, dims.width),
            make_dropout(dims.dropout, tied=dims.tied_dropout),
        )


class EncoderBlock(nn.Module):
    """`x + dropout(mixer(norm(x)))`, then `x + feed_forward(norm(x))`; or, see `form`, with the norm after each sum.

    Width and dropout are those of the mixer's dimensions; `feed_forward` is the hidden width of the feed-forward
    network, 0 for none.
    """

    def __init__(self, mixer: SequenceMixer, *, feed_forward: int, form: EncoderForm):
        super().__init__()
        dims = mixer.dims
        self.post_norm = form.norm == "post"
        self.mixer_norm = form.make_norm(dims.width)
        self.mixer = mixer
        self.dropout = make_dropout(dims.dropout, tied=dims.tied_dropout)
        self.feed_forward_norm = form.make_norm(dims.width) if feed_forward else None
        self.feed_forward = FeedForward(dims, hidden=feed_forward, form=form) if feed_forward else None

    def forward(self, x_BLD: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Transform `[B, L, D]`; `valid_BL` as in the mixer's contract."""
        if self.post_norm:
            x_BLD = normalise(self.mixer_norm, x_BLD + self.dropout(self.mixer(x_BLD, valid_BL)), valid_BL)
            if self.feed_forward is not None and self.feed_forward_norm is not None:
                x_BLD = normalise(self.feed_forward_norm, x_BLD + self.feed_forward(x_BLD), valid_BL)
            return x_BLD
        x_BLD = x_BLD + self.dropout(self.mixer(normalise(self.mixer_norm, x_BLD, valid_BL), valid_BL))
        if self.feed_forward is not None and self.feed_forward_norm is not None:
            x_BLD = x_BLD + self.feed_forward(normalise(self.feed_forward_norm, x_BLD, valid_BL))
        return x_BLD
