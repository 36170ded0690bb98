"""Blocks on the speed of training steps, from the published measurements of `make test-slow`."""

from __future__ import annotations

from typing import Any

from docs.blocks.markdown import percent, prose, table
from docs.blocks.published import measurements

STEP_AIMS = {"image": 3, "listops": 4, "pathfinder": 4, "text": 5, "retrieval": 5}
OTHER_AIMS = {  # what is measured, its words, the aim, and the form of the number
    "harness over bare step": ("time of a step in the harness / of a bare step", "at most 1.05", ".2f"),
    "dev pass over its forward passes": ("time of a dev pass / of its forward passes", "at most 1.1", ".2f"),
    "products' share of the profiled listops step": (
        "fraction of matrix products in the ListOps step",
        "at least 40 %",
        ".0%",
    ),
    "memory text": ("peak memory of a Text step, the paper's way / here", "at least 3", ".1f"),
}
LENGTHS = (256, 512, 1024, 2048, 4096)


def _speed() -> dict[str, dict[str, Any]]:
    return {record["what"]: record for record in measurements("speed")}


def in_short() -> str:
    """A sentence for the first page."""
    speed = _speed()
    steps = {task: speed[f"step {task}"]["ratio"] for task in STEP_AIMS}
    least, most = min(steps, key=steps.__getitem__), max(steps, key=steps.__getitem__)
    return prose(
        f"A step of the full ListOps run takes {speed['step listops']['seconds']:.2f} s with two threads on a machine"
        " without other work, dev passes not counted. Beside the same model in the paper's implementation a step is"
        f" {steps[least]:.1f}× ({least}) to {steps[most]:.1f}× ({most}) as fast, and a Text step needs"
        f" 1/{speed['memory text']['ratio']:.0f} of the memory."
    )


def steps() -> str:
    """The step of each task."""
    rows = []
    for task, aim in STEP_AIMS.items():
        step = _speed()[f"step {task}"]
        seconds = (f"{step[key]:.2f} s" for key in ("paper_seconds", "seconds"))
        reached = "yes" if step["ratio"] >= aim else "no"
        rows.append((f"`{task}`", percent(step["real"]), *seconds, f"{step['ratio']:.1f}", str(aim), reached))
    return table(("task", "real tokens", "the paper's way", "here", "ratio", "aim", "reached"), rows)


def full() -> str:
    """Exact attention beside one that stores its matrix."""
    speed = _speed()
    rows = [
        (
            f"{length:,}",
            rate,
            *(f"{speed[f'full {length} dropout {rate} {form}']['ratio']:.1f}" for form in ("real lengths", "all real")),
        )
        for length in (2048, 4096)
        for rate in ("0", "0.1")
    ]
    return table(("length", "attention dropout", "real lengths", "every position real"), rows)


def others() -> str:
    """What is no step."""
    rows = [
        (said, f"{_speed()[what]['ratio']:{form}}".replace("%", " %"), aim)
        for what, (said, aim, form) in OTHER_AIMS.items()
    ]
    return table(("what", "ratio", "aim"), rows)


def formula() -> str:
    """Nyström attention beside the paper's formula."""
    ratios = (f"{_speed()[f'nystrom {length} beside its formula']['ratio']:.1f}×" for length in LENGTHS)
    return table(("tokens", *(f"{length:,}" for length in LENGTHS)), [("as fast as the formula", *ratios)])
