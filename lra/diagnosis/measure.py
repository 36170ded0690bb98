"""Measure each head of an attention layer against exact softmax attention.

Letters: S sequences, H heads, R rows, N real tokens, K singular values.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from lra.attention.base import AttentionBackend
from lra.attention.nystrom import NystromAttention
from lra.diagnosis.curves import both_errors, head_curves
from lra.diagnosis.inverse import conditions, convergence, landmark_kernels
from lra.diagnosis.layers import LayerInputs
from lra.diagnosis.low_rank import effective_rank, rank_holding
from lra.diagnosis.matrices import attention_matrices, check_matrices, exact_matrices
from lra.diagnosis.schema import Head
from lra.diagnosis.variants import Variants
from lra.ops.linear_algebra import relative_error

SHARE = 0.99  # of the squared norm
MatrixPair = tuple[Tensor, Tensor]


def approximating(backend: AttentionBackend, variants: Variants) -> AttentionBackend:
    """The part of an attention that approximates softmax attention: Nyström attention without its value skip."""
    return variants.without_skip(backend) if isinstance(backend, NystromAttention) else backend


@torch.inference_mode()
def measure_layer(
    inputs: LayerInputs, variants: Variants, advance: Callable[[], object], *, kept: int = 0
) -> tuple[list[Head], list[MatrixPair]]:
    """Measure a layer's heads.

    Args:
        inputs: what the layer got.
        variants: makes the Nyström attentions to compare with.
        advance: called after each number of landmarks.
        kept: number of heads, the first ones, whose matrices are returned too.

    Returns:
        What was measured of each head, and the exact and the approximated matrix of the first sequence, `[R, N]` each.
    """
    exact = exact_matrices(inputs)
    backend = approximating(inputs.backend, variants)
    own = attention_matrices(backend, inputs, exact)
    check_matrices(own, backend, inputs, exact)
    matrix_SH, output_SH = both_errors(own, exact)
    spectral_SH = torch.stack([relative_error(mine, one.matrix, 2) for mine, one in zip(own, exact, strict=True)])
    uniform = (torch.full_like(one.matrix, 1 / len(one.columns)) for one in exact)
    values = [torch.linalg.svdvals(one.matrix) for one in exact]
    nystrom = variants.without_skip(inputs.backend)
    kernels, used = landmark_kernels(nystrom, inputs)
    means = {
        "matrix_error": matrix_SH.mean(0),
        "spectral_error": spectral_SH.mean(0),
        "output_error": output_SH.mean(0),
        "uniform_error": both_errors(uniform, exact)[0].mean(0),
        "effective_rank": _mean([effective_rank(of_one) for of_one in values]),
        "rank_99": _mean([rank_holding(of_one, SHARE) for of_one in values]),
    }
    parts = zip(
        conditions(kernels, used),
        head_curves(inputs, exact, values, variants, advance),
        convergence(kernels, start=nystrom.inverse.pinv_start, rtol=nystrom.inverse.pinv_rtol),
        strict=True,
    )
    heads = [
        Head(
            **{name: float(numbers[head]) for name, numbers in means.items()},  # type: ignore[typeddict-item]
            landmark_condition=number,
            curves=curves,
            convergence=steps,
        )
        for head, (number, curves, steps) in enumerate(parts)
    ]
    return heads, [(exact[0].matrix[head].clone(), own[0][head].clone()) for head in range(min(kept, len(heads)))]


def _mean(of_sequences: list[Tensor]) -> Tensor:
    return torch.stack(of_sequences).double().mean(0)
