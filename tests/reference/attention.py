"""Slow twins of the attention backends, one formula after the other, nothing fused.

Letters: B examples, H heads, L positions, E dims per head, M landmarks, T taps.
"""

import math
from typing import Any

import torch
from torch import Tensor, nn

from tests.reference import landmarks as choices
from tests.reference.reformer import bucket_factors, lsh_attention


def softmax_rows(scores: Tensor, keep: Tensor | None = None) -> Tensor:
    """exp over its sum, where `keep`; zeros for a row without any."""
    weights = (scores - scores.amax(-1, keepdim=True).detach()).exp()
    if keep is not None:
        weights = weights * keep
    return weights / weights.sum(-1, keepdim=True).clamp(min=1e-30)


def full(q: Tensor, k: Tensor, v: Tensor, valid: Tensor | None, **_: object) -> Tensor:
    """softmax(q kᵀ / √E) v."""
    keep = None if valid is None else valid[:, None, None, :]
    return softmax_rows(q @ k.mT / math.sqrt(q.shape[-1]), keep) @ v


def none(q: Tensor, k: Tensor, v: Tensor, valid: Tensor | None, **_: object) -> Tensor:
    """Every position keeps its own value."""
    return v.clone()


def pinv_steps(a: Tensor, iterations: int, start: str) -> Tensor:
    """The iteration of the paper's equation 11."""
    column_norm = a.abs().sum(-2).amax(-1)[..., None, None]
    row_norm = a.abs().sum(-1).amax(-1)[..., None, None]
    if start == "batch":
        column_norm, row_norm = column_norm.max(), row_norm.max()
    norm = column_norm * row_norm
    z = torch.where(norm > 0, a.mT / torch.where(norm > 0, norm, 1.0), 0.0)
    eye = torch.eye(a.shape[-1], dtype=a.dtype)
    for _ in range(iterations):
        z = z @ (13 * eye - a @ z @ (15 * eye - a @ z @ (7 * eye - a @ z))) / 4
    return z


def skip(v: Tensor, taps: Tensor) -> Tensor:
    """out[l] = Σ_t taps[t] v[l + t − ⌊T/2⌋], zeros beyond the ends."""
    length, half = v.shape[2], taps.shape[1] // 2
    out = torch.zeros_like(v)
    for t in range(taps.shape[1]):
        first, last = max(0, half - t), min(length, length + half - t)
        if first < last:
            piece = v[:, :, first + t - half : last + t - half] * taps[None, :, t, None, None]
            out = out + torch.cat([torch.zeros_like(v[:, :, :first]), piece, torch.zeros_like(v[:, :, last:])], 2)
    return out


def nystrom(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    valid: Tensor | None,
    *,
    num_landmarks: int,
    landmarks: str,
    landmark_rule: str,
    landmark_source: str,
    kmeans_steps: int,
    coarse_landmarks: int,
    pinv: str,
    pinv_iterations: int,
    pinv_start: str,
    pinv_rtol: float,
    pinv_ridge: float,
    masking: str,
    exact_when_short: bool,
    value_skip: Tensor | None = None,
    landmark_seed: Tensor | None = None,
    **_: object,
) -> Tensor:
    """The three kernels of the paper's equation 10 in full, pseudo-inverse, value skip."""
    if valid is None:
        valid = torch.ones(q.shape[0], q.shape[2], dtype=torch.bool)
    if masking == "all":
        real = valid[:, None, :, None]
        q, k, v = q * real, k * real, v * real
    if exact_when_short and landmarks == "padded" and num_landmarks >= q.shape[2]:
        out = full(q, k, v, valid)
    else:
        scale = 1 / math.sqrt(q.shape[-1])
        if landmark_rule in ("strided", "random"):
            if landmark_rule == "strided":
                chosen = choices.strided(valid, num_landmarks, landmarks)
            else:
                chosen = choices.random(valid, num_landmarks, landmarks, int(landmark_seed))
            q_m, k_m = (choices.tokens_at(x, chosen) for x in (q, k))
            used = torch.tensor([[i is not None for i in row] for row in chosen])
        else:
            used = torch.ones(len(q), num_landmarks, dtype=torch.bool)
            if landmarks == "valid":
                used = torch.arange(num_landmarks) < valid.sum(1, keepdim=True)
            counted = valid if masking == "all" else torch.ones_like(valid)
            if landmark_rule == "kmeans":
                q_m, k_m = (choices.kmeans(x, counted, num_landmarks, landmarks, kmeans_steps) for x in (q, k))
            else:
                q_m, k_m = (choices.segment_means(x, counted, num_landmarks, landmarks) for x in (q, k))
        if landmark_source == "keys":
            q_m = k_m
        columns = used[:, None, None, :]
        kernel_1 = softmax_rows(q @ k_m.mT * scale, columns)
        kernel_2 = softmax_rows(q_m @ k_m.mT * scale, columns) * used[:, None, :, None]
        kernel_3 = softmax_rows(q_m @ k.mT * scale, valid[:, None, None, :])
        if coarse_landmarks:
            q_c, k_c = (choices.segment_means(x, used, coarse_landmarks, "valid") for x in (q_m, k_m))
            coarse = torch.arange(coarse_landmarks) < used.sum(1, keepdim=True)
            rows, columns_c = coarse[:, None, :, None], coarse[:, None, None, :]
            to_coarse = softmax_rows(q_m @ k_c.mT * scale, columns_c) * used[:, None, :, None]
            between = softmax_rows(q_c @ k_c.mT * scale, columns_c) * rows
            from_coarse = softmax_rows(q_c @ k_m.mT * scale, columns) * rows
            inverses = [choices.ridge_inverse(x, pinv_ridge) for x in (from_coarse, to_coarse)]
            inverse = inverses[0] @ between @ inverses[1]
        elif pinv == "none":
            inverse = torch.eye(num_landmarks, dtype=q.dtype)
        elif pinv == "exact":
            inverse = torch.linalg.pinv(kernel_2, rtol=pinv_rtol)
        elif pinv == "regularised":
            inverse = choices.ridge_inverse(kernel_2, pinv_ridge)
        else:
            inverse = pinv_steps(kernel_2, pinv_iterations, pinv_start)
        out = kernel_1 @ inverse @ kernel_3 @ v
    return out if value_skip is None else out + skip(v, value_skip)


def landmark(*inputs: Tensor, **knobs: Any) -> Tensor:
    """Nyström attention without its pseudo-inverse."""
    return nystrom(*inputs, **{**knobs, "pinv": "none"})


def linformer(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    valid: Tensor | None,
    *,
    project_keys: Tensor,
    project_values: Tensor | None = None,
    **_: object,
) -> Tensor:
    """Equation 7 of the Linformer paper, one example and head at a time; padding is zero, not masked."""
    project_values = project_keys if project_values is None else project_values
    out = torch.zeros_like(q)
    for b in range(q.shape[0]):
        real = torch.ones(q.shape[2], 1, dtype=q.dtype) if valid is None else valid[b, :, None].to(q.dtype)
        for h in range(q.shape[1]):
            keys = project_keys[h, :, : q.shape[2]] @ (k[b, h] * real)
            values = project_values[h, :, : q.shape[2]] @ (v[b, h] * real)
            out[b, h] = softmax_rows(q[b, h] @ keys.T / math.sqrt(q.shape[3])) @ values
    return out


def performer(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    valid: Tensor | None,
    *,
    kernel: str,
    scaling: str,
    key_maximum: str,
    maximum_gradient: str,
    padded_keys: str,
    projection: Tensor,
    **_: object,
) -> Tensor:
    """The approximated L × L attention matrix itself, normalised row by row, times the values."""
    if valid is None:
        valid = torch.ones(q.shape[0], q.shape[2], dtype=torch.bool)
    real = valid[:, None, :, None]
    k, v = k * real, v * real
    for _twice in range(2 if scaling == "twice" else 1):
        q, k = q / q.shape[-1] ** 0.25, k / k.shape[-1] ** 0.25
    counted = torch.ones_like(valid) if padded_keys == "counted" else valid

    def phi(x: Tensor, maximum: Tensor) -> Tensor:
        if kernel == "relu":
            return ((x @ projection.T).clamp(min=0) + 1e-3) / math.sqrt(len(projection))
        exponent = x @ projection.T - (x * x).sum(-1, keepdim=True) / 2
        return (torch.exp(exponent - maximum) + 1e-4) / math.sqrt(len(projection))

    with torch.set_grad_enabled(maximum_gradient == "passed"):
        query_maximum = (q @ projection.T).max(-1, keepdim=True).values
        products = k @ projection.T
        if key_maximum == "batch":
            key_top = products.max()
        else:
            key_top = torch.stack(
                [
                    torch.stack([(one[row] if row.any() else one).max() for one in products[b]])
                    for b, row in enumerate(counted)
                ]
            )[..., None, None]
    scores = phi(q, query_maximum) @ phi(k, key_top).mT * counted[:, None, None, :]
    total = scores.sum(-1, keepdim=True)
    return scores / torch.where(total > 0, total, 1.0) @ v


def reformer(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    valid: Tensor | None,
    *,
    num_hashes: int,
    chunk_length: int,
    look_back: str,
    rotation_seed: Tensor,
    **_: object,
) -> Tensor:
    """LSH attention, with the rotations of the first call of an evaluation; padded to a multiple of the chunk."""
    heads, length, dims = q.shape[1:]
    if valid is None:
        valid = torch.ones(len(q), length, dtype=torch.bool)
    missing = math.ceil(length / chunk_length) * chunk_length - length
    q, v = (nn.functional.pad(x, (0, 0, 0, missing)) for x in (q, v))
    axes = sum(bucket_factors(length, chunk_length)) // 2
    generator = torch.Generator().manual_seed(int(rotation_seed))
    return lsh_attention(
        q,
        v,
        nn.functional.pad(valid, (0, missing)),
        rotations_HENK=torch.randn(heads, dims, num_hashes, axes, generator=generator).to(q),
        chunk_length=chunk_length,
        look_back=look_back,
        model_length=length,
    )[:, :, :length]


class PlainNystrom(nn.Module):
    """The way the paper's authors wrote it, for comparing speed: materialised kernels, a grouped conv2d."""

    def __init__(self, heads: int, landmarks: int, taps: int, iterations: int):
        super().__init__()
        self.landmarks, self.iterations = landmarks, iterations
        self.conv = nn.Conv2d(heads, heads, (taps, 1), padding=(taps // 2, 0), bias=False, groups=heads)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, valid: Tensor) -> Tensor:
        scale = q.shape[-1] ** -0.25
        mask = valid[:, None, :, None].to(q.dtype)
        q, k = q * mask * scale, k * mask * scale
        q_m, k_m = (x.unflatten(2, (self.landmarks, -1)).mean(3) for x in (q, k))
        kernel_1 = (q @ k_m.mT).softmax(-1)
        kernel_2 = (q_m @ k_m.mT).softmax(-1)
        kernel_3 = (q_m @ k.mT - 1e9 * (1 - mask.mT)).softmax(-1)
        eye = torch.eye(self.landmarks, dtype=q.dtype)
        z = kernel_2.mT / kernel_2.sum(-2).max()
        for _ in range(self.iterations):
            az = kernel_2 @ z
            z = 0.25 * z @ (13 * eye - az @ (15 * eye - az @ (7 * eye - az)))
        return kernel_1 @ z @ (kernel_3 @ v) + self.conv(v * mask)
