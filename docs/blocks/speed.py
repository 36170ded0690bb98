"""Blocks on the speed of training steps, from the published measurements of `make test-slow`."""

from typing import Any

from docs.blocks.markdown import percent, prose, table
from docs.blocks.published import measurements
from lra.base.openmp import SPIN_COUNT, SPINS

TASKS = ("image", "listops", "pathfinder", "text", "retrieval")
OTHERS = {  # what is measured, its words, and the form of the number
    "harness over bare step": ("time of a step in the harness / of a bare step", ".2f"),
    "dev pass over its forward passes": ("time of a dev pass / of its forward passes", ".2f"),
    "products' share of the profiled listops step": ("fraction of matrix products in the ListOps step", ".0%"),
    "memory text": ("peak memory of a Text step, the paper's implementation / here", ".1f"),
}
FORMS = ("real lengths", "all real")
LENGTHS = (256, 512, 1024, 2048, 4096)
BUSY = (0, 1, 2, 4)  # processes beside the step
OURS, DEFAULT = f"{SPIN_COUNT}={SPINS}", f"{SPIN_COUNT}=300000"


def _speed() -> dict[str, dict[str, Any]]:
    return {record["what"]: record for record in measurements("speed")}


def in_short() -> str:
    """The speed in two sentences."""
    speed = _speed()
    ratios = {task: speed[f"step {task}"]["ratio"] for task in TASKS}
    least, most = min(ratios, key=ratios.__getitem__), max(ratios, key=ratios.__getitem__)
    return prose(
        f"A step of the full ListOps run takes {speed['step listops']['seconds']:.2f} s with two threads on a machine"
        " without other work, dev passes not counted. Compared with the same model in the paper's implementation a step"
        f" is {ratios[least]:.1f}× ({least}) to {ratios[most]:.1f}× ({most}) faster, and a Text step needs"
        f" 1/{speed['memory text']['ratio']:.0f} of the memory."
    )


def steps() -> str:
    """The step of each task."""
    rows = []
    for task in TASKS:
        step = _speed()[f"step {task}"]
        seconds = (f"{step[key]:.2f} s" for key in ("paper_seconds", "seconds"))
        rows.append((f"`{task}`", percent(step["real"]), *seconds, f"{step['ratio']:.1f}×"))
    return table(("task", "real tokens", "the paper's implementation", "here", "speed-up"), rows)


def full() -> str:
    """Exact attention beside one that stores its matrix."""
    speed = _speed()
    rows = [
        (
            f"{length:,}",
            rate,
            *(f"{speed[f'full {length} dropout {rate} {form}']['ratio']:.1f}×" for form in FORMS),
        )
        for length in (2048, 4096)
        for rate in ("0", "0.1")
    ]
    return table(("length", "attention dropout", "real lengths", "every position real"), rows)


def others() -> str:
    """What is no step."""
    rows = [(said, f"{_speed()[what]['ratio']:{form}}".replace("%", " %")) for what, (said, form) in OTHERS.items()]
    return table(("what", "ratio"), rows)


def formula() -> str:
    """Nyström attention beside the paper's formula."""
    ratios = (f"{_speed()[f'nystrom {length} beside its formula']['ratio']:.1f}×" for length in LENGTHS)
    return table(("tokens", *(f"{length:,}" for length in LENGTHS)), [("speed-up", *ratios)])


def beside_busy_processes() -> str:
    """The step of short ListOps beside busy processes, by how OpenMP's threads wait."""
    rows = []
    for step in measurements("busy_machine"):
        way = step["what"].removeprefix("step of short listops, ")
        name = f"**`{way}`** (ours)" if way == OURS else f"`{way}`"
        seconds = (f"{step[f'beside_{count}']:.2f} s" for count in BUSY)
        rows.append((name + (" (libgomp's default)" if way == DEFAULT else ""), f"{step['ratio']:.2f}", *seconds))
    heads = ("at rest", *(f"beside {count}" for count in BUSY[1:]))
    return table(("threads wait with", "time at rest / default's", *heads), rows)
