"""Slow twins of the ways to choose landmarks and to invert their kernel, by loops over examples, heads and tokens.

Letters: B examples, H heads, L positions, E dims per head, M landmarks.
"""

import math

import torch
from torch import Tensor


def segments(valid_row: list[bool], landmarks: int, positions: str) -> list[list[int]]:
    """The positions of each landmark's segment: of the padded length, or of the real tokens."""
    length = len(valid_row)
    if positions == "padded":
        size = math.ceil(length / landmarks)
        return [list(range(i * size, min((i + 1) * size, length))) for i in range(landmarks)]
    real = [i for i in range(length) if valid_row[i]]
    used = min(landmarks, len(real))
    cut: list[list[int]] = [[] for _ in range(landmarks)]
    for rank, position in enumerate(real):
        cut[rank * used // len(real)].append(position)
    return cut


def segment_means(x: Tensor, valid: Tensor, landmarks: int, positions: str) -> Tensor:
    """Landmarks `[B, H, M, E]`: a mean for each segment; zeros beyond the end count in `padded`."""
    size = math.ceil(x.shape[2] / landmarks)
    rows = []
    for b in range(len(x)):
        means = []
        for cut in segments(valid[b].tolist(), landmarks, positions):
            total = sum((x[b, :, i] * valid[b, i] for i in cut), torch.zeros_like(x[b, :, 0]))
            means.append(total / (size if positions == "padded" else max(len(cut), 1)))
        rows.append(torch.stack(means, 1))
    return torch.stack(rows)


def tokens_at(x: Tensor, chosen: list[list[int | None]]) -> Tensor:
    """The vectors at the chosen positions of each example; zeros for None."""
    nothing = torch.zeros_like(x[0, :, 0])
    rows = [[nothing if i is None else x[b, :, i] for i in row] for b, row in enumerate(chosen)]
    return torch.stack([torch.stack(row, 1) for row in rows])


def strided(valid: Tensor, landmarks: int, positions: str) -> list[list[int | None]]:
    """The token in the middle of each segment, the later one of two."""
    chosen = []
    for row in valid.tolist():
        cuts = segments(row, landmarks, positions)
        chosen.append([cut[len(cut) // 2] if cut else None for cut in cuts])
    return chosen


def random(valid: Tensor, landmarks: int, positions: str, seed: int) -> list[list[int | None]]:
    """The tokens with the lowest of the numbers that are drawn for the positions, in order."""
    length = valid.shape[1]
    drawn = torch.rand(length, generator=torch.Generator().manual_seed(seed)).tolist()
    chosen: list[list[int | None]] = []
    for row in valid.tolist():
        among = [i for i in range(length) if positions == "padded" or row[i]]
        lowest = sorted(sorted(among, key=lambda i: drawn[i])[:landmarks])
        chosen.append([*lowest, *[None] * (landmarks - len(lowest))])
    return chosen


def kmeans(x: Tensor, valid: Tensor, landmarks: int, positions: str, steps: int) -> Tensor:
    """Lloyd's algorithm from the segment means; a centre without tokens stays."""
    centres = segment_means(x, valid, landmarks, positions)
    out = torch.empty_like(centres)
    for b in range(len(x)):
        tokens = [i for i in range(x.shape[2]) if positions == "padded" or valid[b, i]]
        used = min(landmarks, len(tokens))
        for h in range(x.shape[1]):
            mine = list(centres[b, h])
            for _ in range(steps):
                members: list[list[int]] = [[] for _ in mine]
                for i in tokens:
                    distances = [float((x[b, h, i] - mine[m]).detach().square().sum()) for m in range(used)]
                    members[distances.index(min(distances))].append(i)
                mine = [
                    sum((x[b, h, i] for i in cut), torch.zeros_like(old)) / len(cut) if cut else old
                    for cut, old in zip(members, mine, strict=True)
                ]
            out[b, h] = torch.stack(mine)
    return out


def ridge_inverse(a: Tensor, ridge: float) -> Tensor:
    """(Aᵀ A + λ I)⁻¹ Aᵀ, which is the pseudo-inverse for λ → 0."""
    eye = torch.eye(a.shape[-1], dtype=a.dtype)
    return torch.linalg.inv(a.mT @ a + ridge * eye) @ a.mT
