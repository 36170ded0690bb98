"""The whole encoder the way the paper's authors wrote it: three projections, everything padded, one op at a time."""

import torch
from torch import Tensor, nn

from lra.model.classifier import SequenceClassifier
from tests.reference.attention import PlainNystrom


class PlainBlock(nn.Module):
    def __init__(self, attention: nn.Module, width: int, heads: int, hidden: int, dropout: float):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width) for _ in range(4))
        self.attention, self.drop = attention, nn.Dropout(dropout)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def forward(self, x: Tensor, valid: Tensor) -> Tensor:
        batch, length, width = x.shape
        y = self.norm1(x)
        q, k, v = (p(y).view(batch, length, self.heads, -1).transpose(1, 2) for p in (self.q, self.k, self.v))
        mixed = self.attention(q, k, v, valid).transpose(1, 2).reshape(batch, length, width)
        x = x + self.drop(self.o(mixed))
        return x + self.drop(self.down(self.drop(nn.functional.gelu(self.up(self.norm2(x))))))


class PlainClassifier(nn.Module):
    """The released models' arithmetic: one sequence per example, or a pair whose documents go through in turn."""

    def __init__(
        self,
        *,
        vocab: int,
        length: int,
        classes: int,
        sequences: int = 1,
        landmarks: int = 64,
        dropout: float = 0.1,
        taps: int = 35,
    ):
        super().__init__()
        self.token, self.position = nn.Embedding(vocab, 64), nn.Embedding(length, 64)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(
            PlainBlock(PlainNystrom(2, landmarks, taps, 6), 64, 2, 128, dropout) for _ in range(2)
        )
        self.norm = nn.LayerNorm(64)
        self.head = nn.Sequential(nn.Linear(64 if sequences == 1 else 256, 128), nn.ReLU(), nn.Linear(128, classes))

    def forward(self, tokens: Tensor, valid: Tensor) -> Tensor:
        pooled = [self.encode(tokens[:, n], valid[:, n]) for n in range(tokens.shape[1])]
        if len(pooled) == 1:
            return self.head(pooled[0])
        a, b = pooled
        return self.head(torch.cat([a, b, a * b, a - b], dim=-1))

    def encode(self, tokens: Tensor, valid: Tensor) -> Tensor:
        x = self.drop(self.token(tokens) + self.position(torch.arange(tokens.shape[1]))[None])
        for block in self.blocks:
            x = block(x, valid)
        x = self.norm(x) * valid[..., None]
        return x.mean(1)

    @torch.no_grad()
    def take_weights(self, model: SequenceClassifier) -> None:
        """Copy the product's weights."""
        own, theirs = self.state_dict(), model.state_dict()
        new = {"token.weight": theirs["encoder.embedding.token.weight"]}
        new["position.weight"] = theirs["encoder.embedding.position"]
        for i in range(len(self.blocks)):
            a, b = f"blocks.{i}.", f"encoder.blocks.{i}."
            for kind in ("weight", "bias"):
                parts = theirs[f"{b}mixer.qkv.{kind}"].chunk(3)
                new |= {f"{a}{name}.{kind}": part for name, part in zip("qkv", parts, strict=True)}
                new[f"{a}o.{kind}"] = theirs[f"{b}mixer.out.{kind}"]
                new[f"{a}norm1.{kind}"] = theirs[f"{b}mixer_norm.{kind}"]
                new[f"{a}norm2.{kind}"] = theirs[f"{b}feed_forward_norm.{kind}"]
                new[f"{a}up.{kind}"] = theirs[f"{b}feed_forward.0.{kind}"]
                new[f"{a}down.{kind}"] = theirs[f"{b}feed_forward.3.{kind}"]
            new[f"{a}attention.conv.weight"] = theirs[f"{b}mixer.backend.value_skip"][:, None, :, None]
        for kind in ("weight", "bias"):
            new[f"norm.{kind}"] = theirs[f"encoder.norm.{kind}"]
            new |= {f"head.{j}.{kind}": theirs[f"head.{j}.{kind}"] for j in (0, 2)}
        assert new.keys() == own.keys()
        self.load_state_dict(new)
