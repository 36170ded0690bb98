"""Encoders of one's own, as a user writes them: from a task's spec and what makes mixers, to a classifier."""

from torch import Tensor, nn

from lra.model.mixer import MakeMixers, MixerDims
from lra.types import TaskSpec


class GruClassifier(nn.Module):
    """A recurrent network that has no use for mixers."""

    def __init__(self, spec: TaskSpec, make_mixers: MakeMixers, *, width: int):
        super().__init__()
        self.token = nn.Embedding(spec.vocab_size, width)
        self.gru = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(spec.num_sequences * width, spec.num_classes)

    def forward(self, tokens_BNL: Tensor, valid_BNL: Tensor | None) -> Tensor:
        last = self.gru(self.token(tokens_BNL.flatten(0, 1)))[1][0]
        return self.head(last.unflatten(0, tokens_BNL.shape[:2]).flatten(1))


class OneLayer(nn.Module):
    """Embedding, one mixer, the mean of the real tokens."""

    def __init__(self, spec: TaskSpec, make_mixers: MakeMixers, *, width: int):
        super().__init__()
        dims = MixerDims(width=width, num_heads=2, head_dim=width // 2, max_seq_len=spec.seq_len, dropout=0.0)
        self.token = nn.Embedding(spec.vocab_size, width)
        (self.mixer,) = make_mixers(dims, 1)
        self.head = nn.Linear(width, spec.num_classes)

    def forward(self, tokens_BNL: Tensor, valid_BNL: Tensor | None) -> Tensor:
        tokens, valid = tokens_BNL[:, 0], None if valid_BNL is None else valid_BNL[:, 0]
        mixed = self.mixer(self.token(tokens), valid)
        weight = (tokens > 0)[..., None]
        return self.head((mixed * weight).sum(1) / weight.sum(1).clamp(min=1))


class AnyGru(GruClassifier):
    """It takes the encoder's settings, and looks at one of them."""

    def __init__(self, spec: TaskSpec, make_mixers: MakeMixers, *, width: int, **_: object):
        super().__init__(spec, make_mixers, width=width)
