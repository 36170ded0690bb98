"""The packed form of each attention: the same as its `forward`, for the real tokens alone.

Letters: B sequences, T real tokens of all sequences, P planes (queries, keys, values), D = H·E, H heads, E dims per
head; of Reformer L positions of a group of sequences, N hashes, G half the sum of the factors, X = B·L·H vectors.
"""

from itertools import groupby

import torch
from torch import Tensor

from lra.attention.average import AverageAttention
from lra.attention.base import AttentionBackend
from lra.attention.cosformer import CosformerAttention
from lra.attention.double_softmax import DoubleSoftmaxAttention
from lra.attention.full import FullAttention
from lra.attention.linear import LinearAttention, elu_features
from lra.attention.linformer import LinformerAttention
from lra.attention.none import NoAttention
from lra.attention.nystrom import NystromAttention
from lra.attention.performer import EPSILON, PerformerAttention
from lra.attention.reformer import ReformerAttention
from lra.ops.attention_by_sequence import attention_of_real_tokens
from lra.ops.hashed_chunks import hash_order
from lra.ops.linear_attention import linear_attention
from lra.ops.packing import Packing, mix_by_sequence
from lra.packed.attention import packed_linformer
from lra.packed.dispatch import PackedForms
from lra.packed.hashed_chunks import HashedChunks, attend_hashed_chunks
from lra.packed.nystrom import packed_nystrom
from lra.packed.performer import Features, packed_performer
from lra.packed.segments import segments_of


def attend_through_padding(backend: AttentionBackend, qkv_PTD: Tensor, packing: Packing) -> Tensor:
    """Mix the values of packed tokens, `[3, T, H·E]`, to `[T, H·E]`, in the padded form."""
    heads = packing.unpack(qkv_PTD).unflatten(3, (backend.dims.num_heads, backend.dims.head_dim))
    q_BHLE, k_BHLE, v_BHLE = heads.transpose(2, 3).unbind(0)
    return packing.pack(backend(q_BHLE, k_BHLE, v_BHLE, packing.valid_BL).transpose(1, 2).flatten(2))


attend_packed = PackedForms(attend_through_padding)


@attend_packed.register
def attend_none(backend: NoAttention, qkv_PTD: Tensor, packing: Packing) -> Tensor:
    """Return the values."""
    return qkv_PTD[2]


@attend_packed.register
def attend_average(backend: AverageAttention, qkv_PTD: Tensor, packing: Packing) -> Tensor:
    """Average the values of each sequence."""
    v_TD = qkv_PTD[2]
    sums_BD = v_TD.new_zeros(packing.batch, v_TD.shape[1]).index_add(0, packing.sequence_T, v_TD)
    means_BD: Tensor = sums_BD / packing.counts_B.clamp(min=1)[:, None]
    return means_BD.index_select(0, packing.sequence_T)


@attend_packed.register
def attend_full(backend: FullAttention, qkv_PTD: Tensor, packing: Packing) -> Tensor:
    """Attend in one sequence after the other, which on a CPU the padded form does too; `math` stores L × L matrices."""
    if backend.kernel == "math":
        return attend_through_padding(backend, qkv_PTD, packing)
    rate = backend.attention_dropout if backend.training else 0.0
    return attention_of_real_tokens(qkv_PTD, packing, heads=backend.dims.num_heads, rate=rate)


@attend_packed.register
def attend_linear(backend: LinearAttention, qkv_PTD: Tensor, packing: Packing) -> Tensor:
    """Attend with the features of linear attention."""
    q_TD, k_TD, v_TD = qkv_PTD
    planes = (elu_features(q_TD), elu_features(k_TD), v_TD)
    return mix_by_sequence(planes, packing, linear_attention, heads=backend.dims.num_heads)


@attend_packed.register
def attend_cosformer(backend: CosformerAttention, qkv_PTD: Tensor, packing: Packing) -> Tensor:
    """Attend with the features of cosFormer at the tokens' positions."""
    heads = backend.dims.num_heads
    q_HTE, k_HTE = qkv_PTD[:2].unflatten(2, (heads, -1)).transpose(1, 2)
    features = (backend.features_at(x, packing.position_T).transpose(0, 1).flatten(1) for x in (q_HTE, k_HTE))
    return mix_by_sequence((*features, qkv_PTD[2]), packing, linear_attention, heads=heads)


@attend_packed.register
def attend_double_softmax(backend: DoubleSoftmaxAttention, qkv_PTD: Tensor, packing: Packing) -> Tensor:
    """Attend in one sequence after the other."""

    def mix(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return backend.forward(q, k, v, None)

    return mix_by_sequence(qkv_PTD, packing, mix, heads=backend.dims.num_heads)


@attend_packed.register
def attend_linformer(backend: LinformerAttention, qkv_PTD: Tensor, packing: Packing) -> Tensor:
    """Project and attend in one sequence after the other.

    Without padding one product for all sequences is faster, and only the padded form knows holes.
    """
    if packing.has_no_padding or packing.has_holes:
        return attend_through_padding(backend, qkv_PTD, packing)
    assert packing.length <= backend.dims.max_seq_len, f"length {packing.length} > {backend.dims.max_seq_len}"
    projections = backend.project_keys, backend.project_values
    return packed_linformer(qkv_PTD, packing, *projections, heads=backend.dims.num_heads)


@attend_packed.register
def attend_nystrom(backend: NystromAttention, qkv_PTD: Tensor, packing: Packing) -> Tensor:
    """Attend through landmarks; those that are not means of both have only the padded form, as has exact attention."""
    landmarks = backend.landmarks_of
    are_means_of_both = landmarks.rule == "segment_means" and not landmarks.of_keys
    if not are_means_of_both or backend.is_exact(packing.length):
        return attend_through_padding(backend, qkv_PTD, packing)
    segments = segments_of(packing, backend.num_landmarks, backend.landmarks)
    return packed_nystrom(qkv_PTD, backend.value_skip, packing, segments, backend.inverse, heads=backend.dims.num_heads)


@attend_packed.register
def attend_performer(backend: PerformerAttention, qkv_PTD: Tensor, packing: Packing) -> Tensor:
    """Attend with softmax features; ReLU features have only the padded form."""
    if backend.kernel == "relu":
        return attend_through_padding(backend, qkv_PTD, packing)
    backend.redraw_when_due()
    features = Features(
        backend.projection, scale=backend.scale, epsilon=EPSILON["softmax"], pass_maximum=backend.pass_maximum
    )
    choices = {"key_maximum": backend.key_maximum, "padded_keys": backend.padded_keys}
    return packed_performer(qkv_PTD, packing, features, heads=backend.dims.num_heads, **choices)


@attend_packed.register
def attend_reformer(backend: ReformerAttention, qkv_PTD: Tensor, packing: Packing) -> Tensor:
    """Attend within chunks of hashed tokens; sequences with the same number of chunks are computed together."""

    def num_chunks(length: int) -> int:
        return max(-(-length // backend.chunk_length), 1)

    rotations_HENG = backend.draw_rotations(qkv_PTD)
    total = num_chunks(packing.length)
    groups = [(chunks, list(counts)) for chunks, counts in groupby(packing.counts, key=num_chunks)]
    parts = []
    for (chunks, counts), part_PTD in zip(groups, qkv_PTD.split([sum(c) for _, c in groups], dim=1), strict=True):
        length = chunks * backend.chunk_length
        valid_BL = torch.arange(length) < torch.tensor(counts)[:, None]
        group = Packing(valid_BL, batch=len(counts), length=length)
        q_BLHE, v_BLHE = group.unpack(part_PTD[::2]).unflatten(3, (backend.dims.num_heads, -1))
        order_BHNL = hash_order(q_BLHE.transpose(1, 2), rotations_HENG, backend.factors, valid_BL)
        across, longer = backend.look_back == "across_hashes", total > chunks
        chunked = HashedChunks(
            order_BHNL, torch.tensor(counts), chunk=backend.chunk_length, across=across, longer=longer
        )
        out_XE = attend_hashed_chunks(q_BLHE.flatten(0, 2), v_BLHE.flatten(0, 2), chunked)
        parts.append(group.pack(out_XE.view(len(counts), length, -1)))
    return torch.cat(parts)
