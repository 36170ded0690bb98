"""The GPUs that a process may use: CUDA_VISIBLE_DEVICES names them; without it, they are all of the machine."""

import itertools
import os

from lra.types import UserError

VISIBLE = "CUDA_VISIBLE_DEVICES"  # indices, or names of GPUs (GPU-…) or of parts of one (MIG-…), split by commas


def visible_devices() -> list[str]:
    """Name the GPUs that this process may use, as CUDA_VISIBLE_DEVICES does; the first one is `cuda:0` to torch.

    torch is asked, and imported, only where the variable is not set; it makes no CUDA context for that.
    """
    listed = os.environ.get(VISIBLE)
    if listed is None:
        import torch

        return [str(index) for index in range(torch.cuda.device_count())]
    names = (name.strip() for name in listed.split(","))
    readable = itertools.takewhile(lambda name: name not in ("", "-1"), names)  # CUDA reads no further
    return list(dict.fromkeys(readable))


def no_device_error() -> UserError:
    """Word that a run on a GPU was typed where there is none."""
    line = "trainer=gpu, but no CUDA device is visible to torch; type trainer=cpu, or see: lra doctor"
    return UserError(line, kind="no_gpu", key="trainer", value="gpu")
