"""The model of self-pretraining: an encoder that predicts the tokens, or pixels, that are masked from it.

After Amos, Berant and Gupta, "Never Train from Scratch", ICLR 2024, with their masked objective: what is masked is
always replaced, and the loss is over masked positions alone.

Letters: B examples, N sequences per example, L positions, D model width, V tokens or levels, M masked positions.
"""

import torch
from torch import Tensor, nn

from lra.model.classifier import SequenceClassifier
from lra.model.pooling import MarkedPositions


class MaskedModel(nn.Module):
    """The encoder of a classifier, with a linear layer at each masked position in place of the classifier's head.

    The encoder gets what stands for a masked token, which the classifier's does not have: one more row of its table,
    the last id. Of real values it is a second input channel, 1 where a value is masked (its own channel is then 0).
    `without_mask` takes it out of the trained weights. The encoder is the classifier's own, and is changed.

    Args:
        classifier: the classifier, as it is built.
        num_targets: V, the number of tokens, or of grey levels, that are predicted.
    """

    def __init__(self, classifier: SequenceClassifier, num_targets: int):
        super().__init__()
        self.encoder, self.pooling = classifier.encoder, classifier.pooling
        self.groups, self.packed = classifier.groups, classifier.packed
        token = self.encoder.embedding.token
        self.encoder.embedding.token = with_mask(token)
        self.mask_id = token.num_embeddings if isinstance(token, nn.Embedding) else None
        self.head = nn.Linear(token.weight.shape[0 if self.mask_id is None else 1], num_targets)

    def mask(self, inputs_BNL: Tensor, masked_BNL: Tensor) -> Tensor:
        """Mask positions of token ids or real values; of values, `[B, N, L, 2]`."""
        if self.mask_id is not None:
            return inputs_BNL.masked_fill(masked_BNL, self.mask_id)
        return torch.stack([inputs_BNL.masked_fill(masked_BNL, 0), masked_BNL.to(inputs_BNL.dtype)], dim=-1)

    def masked(self, inputs: Tensor) -> Tensor:
        """Find the masked positions, `[B, N, L]` bool."""
        return inputs == self.mask_id if self.mask_id is not None else inputs[..., 1] > 0

    def forward(self, inputs: Tensor, valid_BNL: Tensor | None) -> Tensor:
        """Predict what is masked: logits `[M, V]`, in the order of the positions in `[B, N, L]`.

        `inputs` is as of `mask`. With a token before each sequence (CLS), their last positions are dropped; so they
        must not be masked.
        """
        inputs, valid_BNL = self.pooling.add_token(inputs, valid_BNL)
        if self.encoder.batch_wide:  # groups of a batch are encoded one after the other, as in the classifier
            x_BNLD = self.groups.encode(self._at_every_position, inputs, valid_BNL)
            vectors_MD = x_BNLD[self.masked(inputs)]
        else:
            vectors_MD = self._vectors(inputs, valid_BNL)
        logits_MV: Tensor = self.head(vectors_MD)
        return logits_MV

    def _vectors(self, inputs: Tensor, valid_BNL: Tensor | None) -> Tensor:
        """Encode, and take the vectors at masked positions, `[M, D]`."""
        flat, valid = inputs.flatten(0, 1), None if valid_BNL is None else valid_BNL.flatten(0, 1)
        pooling = MarkedPositions(self.masked(inputs).flatten(0, 1))
        return self.encoder.pool(flat, valid, pooling, packed=self.packed)

    def _at_every_position(self, inputs: Tensor, valid_BNL: Tensor | None) -> Tensor:
        """Encode, and put the vectors at masked positions into `[B, N, L, D]`, where others are 0."""
        masked_BNL, vectors_MD = self.masked(inputs), self._vectors(inputs, valid_BNL)
        return vectors_MD.new_zeros(*masked_BNL.shape, vectors_MD.shape[1]).index_put((masked_BNL,), vectors_MD)


def with_mask(token: nn.Module) -> nn.Embedding | nn.Linear:
    """Copy an embedding of tokens or values, with what stands for a masked one: one more row, or a second channel."""
    if isinstance(token, nn.Embedding):
        table = nn.Embedding(token.num_embeddings + 1, token.embedding_dim)
        with torch.no_grad():
            table.weight[:-1] = token.weight
            table.weight[-1].normal_(std=float(token.weight.std()))
        return table
    assert isinstance(token, nn.Linear)
    layer = nn.Linear(2, token.out_features)
    with torch.no_grad():
        layer.weight[:, :1] = token.weight
        layer.bias.copy_(token.bias)
    return layer


def without_mask(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Take what stands for masked tokens out of the weights of a `MaskedModel`'s encoder, and leave the head out.

    Returns:
        The weights of the classifier's encoder, by their names in `SequenceClassifier.encoder`.
    """
    encoder = {name.removeprefix("encoder."): w for name, w in weights.items() if name.startswith("encoder.")}
    token = encoder["embedding.token.weight"]
    of_values = "embedding.token.bias" in encoder
    return encoder | {"embedding.token.weight": (token[:, :1] if of_values else token[:-1]).clone()}
