"""Linear algebra of small matrices: the pseudo-inverse of the landmark kernel, linear systems, relative errors.

Letters: B examples, H heads, M landmarks.
"""

from typing import Any

import torch
from torch import Tensor

from lra.ops.first_order import first_order, without_autocast
from lra.ops.transforms import in_torch_func, runs_plainly

# Avoids a division by zero for an all-zero matrix (an example without real tokens); far below all other norms.
TINY_NORM = 1e-12
MATRICES_AT_ONCE = 32  # that a CPU iterates: 512 KiB for 64 × 64 in float32, so that they stay in cache
ENTRIES_AT_ONCE = 16 * 1024  # more matrices at once where they are as small: each product has the cost of its call


def iterative_pinv(a_BHMM: Tensor, *, iterations: int, start: str) -> Tensor:
    """Approximate the pseudo-inverse of each M × M matrix by an iteration that needs only matrix products.

    Z ← ¼ Z (13 I − A Z (15 I − A Z (7 I − A Z))), from Z = Aᵀ / (‖A‖₁ ‖A‖∞) (Razavi et al. 2014, as in Xiong et al.
    2021, equation 11). Convergence is of third order; six iterations are enough for a softmax kernel.

    `start=per_matrix` divides each matrix by its own norms, as in the paper's equation; `batch` divides all matrices by
    the largest norms in the batch, as the released code does, so that an example's result depends on the other
    examples.
    """
    absolute = a_BHMM.abs()
    columns, rows = absolute.sum(-2).amax(-1), absolute.sum(-1).amax(-1)
    if start == "batch":
        columns, rows = columns.max(), rows.max()
    z = a_BHMM.mT / (columns * rows).clamp(min=TINY_NORM)[..., None, None]
    pair = a_BHMM.flatten(0, 1), z.flatten(0, 1)
    at_once = max(MATRICES_AT_ONCE, ENTRIES_AT_ONCE // a_BHMM.shape[-1] ** 2)
    groups = zip(*(x.split(at_once) for x in pair), strict=True) if on_cpu(a_BHMM) else [pair]
    iterate = _Iterations.iterated if in_torch_func() else _Iterations.apply
    matrices = [iterate(a, start, iterations) for a, start in groups]
    return torch.cat(matrices).view(a_BHMM.shape)


def on_cpu(x: Tensor) -> bool:
    """Tell whether caches decide the speed: on a GPU, or compiled, each group would be more launches, or more code."""
    return x.device.type == "cpu" and runs_plainly()


class _Iterations(torch.autograd.Function):
    """The iteration with fused products: each operator is a matrix product that also adds a matrix.

    This reads and writes memory half as often as the formula written operator by operator.
    """

    @staticmethod
    @without_autocast
    def forward(ctx: Any, a: Tensor, z: Tensor, iterations: int) -> Tensor:
        kept = [a]
        for _ in range(iterations):
            kept.append(z)
            z = _Iterations.iterated(a, z, 1)
        ctx.save_for_backward(*kept)
        return z

    @staticmethod
    def iterated(a: Tensor, z: Tensor, iterations: int) -> Tensor:
        """Iterate, with torch's own gradients."""
        for _ in range(iterations):
            z = torch.baddbmm(z, z, _Iterations.inner(a, z)[2], beta=3.25, alpha=-0.25)
        return z

    @staticmethod
    def inner(a: Tensor, z: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Compute A Z, A Z (7 I − A Z) and A Z (15 I − A Z (7 I − A Z)), in the backward pass again, to save memory."""
        az = torch.bmm(a, z)
        seven = torch.baddbmm(az, az, az, beta=7, alpha=-1)
        return az, seven, torch.baddbmm(az, az, seven, beta=15, alpha=-1)

    @staticmethod
    @first_order
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        a, *kept = ctx.saved_tensors
        grad, grad_a = grads[0], torch.zeros_like(a)
        for z in reversed(kept):
            az, seven, fifteen = _Iterations.inner(a, z)
            grad_z = torch.baddbmm(grad, grad, fifteen.mT, beta=3.25, alpha=-0.25)
            grad_fifteen = torch.bmm(z.mT, grad).mul_(-0.25)
            grad_az = torch.baddbmm(grad_fifteen, grad_fifteen, seven.mT, beta=15, alpha=-1)
            grad_seven = torch.bmm(az.mT, grad_fifteen).neg_()
            grad_az.add_(grad_seven, alpha=7)
            grad_az.baddbmm_(grad_seven, az.mT, alpha=-1).baddbmm_(az.mT, grad_seven, alpha=-1)
            grad_a.baddbmm_(grad_az, z.mT)
            grad = grad_z.baddbmm_(a.mT, grad_az)
        return grad_a, grad, None


def exact_pinv(a_BHMM: Tensor, *, rtol: float) -> Tensor:
    """Compute the pseudo-inverse by singular value decomposition, which is slower than the iteration.

    With fewer landmarks than tokens, attention with the exact pseudo-inverse is nearer to softmax attention than with
    six iterations only for long sequences. Errors of the attention matrix for normal queries and keys of 32 dims with
    64 landmarks, exact and iterative: 4.5 and .51 for 100 tokens, 1.9 and .59 for 256, .68 and .75 for 1,024.

    torch's default cut-off keeps singular values that are rounding noise, and the gradient grows with the square of
    their inverse. Relative errors, median and worst, on 32 kinds of softmax kernels (M from 16 to 256, kernels from
    nearly uniform to nearly one-hot, with and without near-duplicate landmarks):

    | rtol | float32 gradient from float64 gradient | ‖AZA − A‖ / ‖A‖ | from 15 iterations |
    |---|---|---|---|
    | torch's | 1.0, 1.0 | 1e-5, 1e-3 | 3.8, 1600 |
    | 1e-5 | 2e-3, 6e-2 | 8e-6, 1e-4 | 4.1, 30 |
    | 1e-4 | 3e-4, 6e-3 | 1e-5, 5e-4 | .59, 1.8 |
    | 1e-3 | 4e-5, 6e-4 | 3e-4, 5e-3 | .97, 1.0 |

    1e-4 is nearest to fifteen iterations (more iterations gain nothing in float32), and its gradient is accurate in
    float32.

    Args:
        a_BHMM: the matrices.
        rtol: singular values below this fraction of a matrix's largest singular value count as 0; in [0, 1).
    """
    inverse_BHMM: Tensor = torch.linalg.pinv(a_BHMM, rtol=rtol)
    return inverse_BHMM


def ridge_inverse(a: Tensor, *, ridge: float) -> Tensor:
    """Compute the regularised pseudo-inverse (Aᵀ A + λ I)⁻¹ Aᵀ (Tikhonov), `[..., N, M]` from `[..., M, N]`; λ > 0.

    Unlike the pseudo-inverse it is bounded, by 1 / (2 √λ), and so are its gradients.
    """
    eye = torch.eye(a.shape[-1], dtype=a.dtype, device=a.device)
    return solve(a.mT @ a + ridge * eye, a.mT)


def solve(a: Tensor, b: Tensor) -> Tensor:
    """Solve A X = B, `[..., N, N]` and `[..., N, M]`, as `torch.linalg.solve` does, without its check of A.

    The host would wait for it to tell whether A is singular. The matrices here are made regular by a ridge. A singular
    one would give numbers that are not finite, and these a loss that ends the run.
    """
    dtype = torch.promote_types(torch.promote_types(a.dtype, b.dtype), torch.float32)  # autocast gives shorter ones
    solution: Tensor = torch.linalg.solve_ex(a.to(dtype), b.to(dtype)).result
    return solution


def relative_error(approximation: Tensor, exact: Tensor, norm: str | int = "fro") -> Tensor:
    """Compute ‖approximation − exact‖ / ‖exact‖ over the last two dimensions; `norm` 2 is the spectral norm.

    Zeros in place of zeros, as in a sequence without real tokens, are no error.
    """
    error: Tensor = torch.linalg.matrix_norm(approximation - exact, norm)
    return torch.where(error == 0, error, error / torch.linalg.matrix_norm(exact, norm))
