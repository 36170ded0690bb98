"""Softmax with masks, exact attention, and attention among blocks of neighbouring positions.

A block sees a list of blocks, so no L × L matrix is computed.

Letters: B examples, H heads, L positions, Q query positions, E dims per head, C positions per block, K blocks, S blocks
that a block sees, W keys that it sees, G 1 or H.
"""

from contextlib import nullcontext

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.functional import pad, scaled_dot_product_attention

from lra.ops.transforms import in_forward_mode, known_length


def masked_softmax(scores: Tensor, keep: Tensor | None) -> Tensor:
    """Compute the softmax over those entries of the last dimension where `keep`, which may be broadcast, is True.

    The others are 0, as is a row without a kept entry; None keeps all.
    """
    if keep is None:
        return scores.softmax(-1)
    return scores.masked_fill(~keep, torch.finfo(scores.dtype).min).softmax(-1) * keep


def key_mask(valid_BL: Tensor | None) -> Tensor | None:
    """Build the mask of keys `[B, 1, 1, L]` for fused attention, which returns NaN for a sequence without any key.

    So a sequence that is all padding may attend to all positions; its output is not used.
    """
    if valid_BL is None:
        return None
    return (valid_BL | ~valid_BL.any(-1, keepdim=True))[:, None, None, :]


def exact_attention(
    q_BHQE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None, *, rate: float = 0.0
) -> Tensor:
    """Compute softmax(q kᵀ / √E) v with torch's fused kernel, without storing the Q × L matrix; `[B, H, Q, E]`.

    `rate` is the fraction of weights that are dropped. Source: Vaswani et al. 2017, equation 1.
    """
    return fused_attention(q_BHQE, k_BHLE, v_BHLE, key_mask(valid_BL), rate=rate)


def fused_attention(q: Tensor, k: Tensor, v: Tensor, keep: Tensor | None, *, rate: float) -> Tensor:
    """Call torch's fused kernel; in forward mode, which it does not know, the one that stores the matrix."""
    with sdpa_kernel(SDPBackend.MATH) if in_forward_mode() else nullcontext():
        return scaled_dot_product_attention(q, k, v, attn_mask=keep, dropout_p=rate)


def block_windows(blocks: int, reach: int, device: torch.device) -> Tensor:
    """List for each of K blocks itself and `reach` blocks on each side, `[K, 1, S]`; none is a number below 0."""
    own_K11 = torch.arange(blocks, device=device)[:, None, None]
    seen_K1S = own_K11 + torch.arange(-reach, reach + 1, device=device)
    return seen_K1S.masked_fill(seen_K1S >= blocks, -1)


def split_blocks(x_BHLE: Tensor, block: int) -> Tensor:
    """Cut the positions into blocks of C = `block`, the last one filled with zeros; `[B, K, H, C, E]`."""
    missing = -known_length(x_BHLE.shape[2]) % block
    blocks_BKHCE: Tensor = pad(x_BHLE, (0, 0, 0, missing)).unflatten(2, (-1, block)).transpose(1, 2)
    return blocks_BKHCE


def join_blocks(x_BKHCE: Tensor, length: int) -> Tensor:
    """Undo `split_blocks`; `[B, H, L, E]`."""
    return x_BKHCE.transpose(1, 2).flatten(2, 3)[:, :, :length]


def take_blocks(x_BHLE: Tensor, seen_KGS: Tensor, block: int) -> Tensor:
    """Take the keys or values that each block sees, `[B, K, H, W, E]`; any others in place of none."""
    x_BKHCE = split_blocks(x_BHLE, block)
    heads = x_BKHCE.shape[2]
    index_KHS = seen_KGS.clamp(min=0) * heads + torch.arange(heads, device=x_BKHCE.device)[:, None]
    taken = x_BKHCE.flatten(1, 2).index_select(1, index_KHS.flatten())  # its backward adds whole blocks, fast on a CPU
    taken_BKHWE: Tensor = taken.unflatten(1, index_KHS.shape).flatten(3, 4)
    return taken_BKHWE


def block_key_mask(valid_BL: Tensor, seen_KGS: Tensor, block: int) -> Tensor:
    """Tell which of the keys of `take_blocks` are real, `[B, K, G, W]` bool."""
    valid_BKC = pad(valid_BL, (0, -valid_BL.shape[1] % block)).unflatten(1, (-1, block))
    kept_BKGW: Tensor = (valid_BKC[:, seen_KGS.clamp(min=0)] & (seen_KGS >= 0)[..., None]).flatten(3)
    return kept_BKGW


def attend_seen_blocks(
    q_BKHCE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor, seen_KGS: Tensor, block: int
) -> Tensor:
    """Attend from each block to all real positions of the blocks that it sees; `[B, K, H, C, E]`."""
    k_BKHWE, v_BKHWE = (take_blocks(x_BHLE, seen_KGS, block) for x_BHLE in (k_BHLE, v_BHLE))
    return attend_blocks(q_BKHCE, k_BKHWE, v_BKHWE, block_key_mask(valid_BL, seen_KGS, block)[:, :, :, None])


def attend_blocks(q_BKHCE: Tensor, k_BKHWE: Tensor, v_BKHWE: Tensor, keep: Tensor) -> Tensor:
    """Compute softmax(q kᵀ / √E) v of each block over the keys that it sees; `[B, K, H, C, E]`.

    `keep`, broadcastable to `[B, K, H, C, W]` with all of B and K, has the keys that count. A query without any, which
    is padding, attends to all.
    """
    keep = keep | ~keep.any(-1, keepdim=True)
    q, k, v, mask = (x.flatten(0, 1) for x in (q_BKHCE, k_BKHWE, v_BKHWE, keep))
    out_BKHCE: Tensor = fused_attention(q, k, v, mask, rate=0.0).unflatten(0, q_BKHCE.shape[:2])
    return out_BKHCE
