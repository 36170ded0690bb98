"""Which GPU each of several workers gets: they are spread over the visible ones."""

import math
from collections.abc import Sequence
from itertools import cycle, islice

from lra.base.devices import no_device_error, visible_devices
from lra.base.overrides import Overrides
from lra.tables.grid.cell import Cell
from lra.types import UserError

ON_THIS_MACHINE = ("basic", "joblib", "submitit_local")  # launchers; jobs of others have what their cluster gives them
LAUNCHER = "hydra/launcher"


def devices_of_a_run(cells: Sequence[Cell]) -> int:
    """Count the GPUs that one run needs on a machine: the most of any unfinished cell; 0 if none runs on a GPU."""
    on_gpu = [cell.cfg.trainer.devices for cell in cells if cell.is_on_gpu and not cell.run.finished]
    return max(on_gpu, default=0)


def gpu_groups_for(needed: int) -> list[str]:
    """Group the visible GPUs into places for runs of `needed` GPUs each, named as in CUDA_VISIBLE_DEVICES."""
    visible = visible_devices()
    return [",".join(visible[start : start + needed]) for start in range(0, len(visible) // needed * needed, needed)]


def gpus_of_workers(cells: Sequence[Cell], *, workers: int, workers_per_device: int, launcher: Overrides) -> list[str]:
    """Choose what CUDA_VISIBLE_DEVICES is for each worker.

    Returns:
        A text for each worker. Empty list: they keep the variable as it is, because no run is on a GPU, or because the
        launcher's jobs run elsewhere.

    Raises:
        UserError: when no GPU is visible, when there are more workers than places, and when `workers_per_device` has no
            effect.
    """
    needed = devices_of_a_run(cells)
    chosen = launcher.get(LAUNCHER) or "joblib"
    is_here = not launcher or chosen in ON_THIS_MACHINE
    on_cpu = not all(cell.is_on_gpu for cell in cells)
    if workers_per_device > 1 and (workers == 1 or not is_here or on_cpu):
        beside = f"{LAUNCHER}={chosen}" if not is_here else "workers=1" if workers == 1 else "trainer=cpu"
        raise UserError(
            f"workers_per_device={workers_per_device} has no effect beside {beside}; leave it out",
            kind="no_effect",
            key="workers_per_device",
        )
    if not needed or not is_here:
        return []
    groups = gpu_groups_for(needed)
    if not groups and not visible_devices():
        raise no_device_error()
    if workers > len(groups) * workers_per_device:
        raise _too_many(workers, workers_per_device, len(groups), needed)
    return list(islice(cycle(groups), workers))


def _too_many(workers: int, workers_per_device: int, groups: int, needed: int) -> UserError:
    visible = len(visible_devices())
    have = f"{visible} GPU{'s are' if visible > 1 else ' is'} visible"
    if not groups:
        line = f"trainer.devices={needed}, but {have}; type trainer.devices={visible}"
        return UserError(line, kind="wrong_value", key="trainer.devices", value=needed, right=visible)
    each = f", {needed} for each run" if needed > 1 else ""
    more = math.ceil(workers / groups)
    line = (
        f"workers={workers}, but {have}{each}, and workers_per_device={workers_per_device}; type"
        f" workers={groups * workers_per_device}, or workers_per_device={more} for {more} on one GPU"
    )
    return UserError(line, kind="wrong_value", key="workers", value=workers, right=groups * workers_per_device)
