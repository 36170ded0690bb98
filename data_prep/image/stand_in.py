"""Write images of stripes in the layout of the binary CIFAR-10 archive, so that Image runs without the archive."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from data_prep.archives import write_tar


def write(folder: Path, settings: Mapping[str, int]) -> Path:
    """Write `cifar-10-binary.tar.gz` into `folder`, always with the same images, as many as the settings say."""
    rng = np.random.default_rng(0)
    train = -(-(settings["train"] + settings["dev"]) // 5)
    sizes = {f"data_batch_{i}": train for i in range(1, 6)} | {"test_batch": settings["test"]}
    files = {f"cifar-10-batches-bin/{name}.bin": _records(rng, count) for name, count in sizes.items()}
    return write_tar(folder / "cifar-10-binary.tar.gz", files)


def _records(rng: np.random.Generator, count: int) -> bytes:
    """Draw stripes in random colours with noise; the width of the stripes is the label + 1."""
    labels = np.arange(count) % 10
    stripes = np.arange(32)[None, :] // (labels[:, None] + 1) % 2
    planes = stripes[:, None, None, :] * rng.integers(60, 200, (count, 3, 1, 1)) + rng.integers(
        0, 50, (count, 3, 32, 32)
    )
    return np.concatenate([labels[:, None], planes.reshape(count, -1)], axis=1).astype(np.uint8).tobytes()
