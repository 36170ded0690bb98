"""Time training steps on a GPU: our forms of a step, and the released code, on each task with the paper's attentions.

python -m tests.speed.gpu_steps OUT.jsonl
python -m tests.speed.gpu_steps OUT.jsonl --released LRA/code     a folder of the Nyströmformer's repository
python -m tests.speed.gpu_steps OUT.jsonl --tasks listops,text --methods nystrom,mixer=s4d --seconds 60
python -m tests.speed.gpu_steps OUT.jsonl --methods attention=nystrom+attention.value_skip_form=product     options by +

A line of the file is a task and a method, with the medians of five turns; in a turn every form takes its steps one
after the other. Batches have the recipe's size and each task's real lengths, contents at random. `graph` is
`trainer.cuda_graph=true`. The kernels of our two float32 forms are counted and timed by torch's profiler, apart from
the turns. The released code computes in float32 with TF32 off, as torch's default is, and with its own mixed precision.
"""

import argparse
import gc
import json
import math
import statistics
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity, profile

from lra.from_config import build_module, build_spec
from lra.runs.versions import git_commit, versions
from lra.settings.compose import load_config
from lra.settings.run_config import RunConfig
from lra.training.cost.harness_step import make_step
from lra.training.machine import set_float32
from lra.types import Batch, to_device
from tests.speed.inputs import batch_of

TASKS = ("listops", "text", "image", "retrieval", "pathfinder")
METHODS = ("nystrom", "full", "linformer", "performer", "reformer")
TURNS, STEPS, TOP = 5, 4, 8
FORMS = {  # precision, and whether the passes are recorded as a CUDA graph
    "32-true": ("32-true", False),
    "32-true graph": ("32-true", True),
    "tf32": ("tf32", False),
    "tf32 graph": ("tf32", True),
    "bf16-mixed": ("bf16-mixed", False),
    "bf16-mixed graph": ("bf16-mixed", True),
}
PROFILED = ("32-true", "32-true graph")
RELEASED = {"released float32": False, "released float16": True}
THEIR_TASKS = {"pathfinder": "pathfinder32-curv_contour_length_14"}
THEIR_METHODS = {"nystrom": "nystrom-64", "full": "softmax", "linformer": "linformer-256"} | {
    "performer": "performer-256",
    "reformer": "reformer-2",
}
Step = Callable[[], object]


def settings_of(task: str, method: str) -> RunConfig:
    """The configuration of a full run on a GPU."""
    chosen = method if "=" in method else f"attention={method}"
    return load_config("train", [f"task={task}", "trainer=gpu", *chosen.split("+")])


def our_step(cfg: RunConfig, batch: Batch, form: str) -> Step:
    """A step of the harness's module, as `lra bench step` times it."""
    precision, recorded = FORMS[form]
    set_float32(precision)
    module = build_module(cfg.changed({"trainer.precision": precision, "trainer.cuda_graph": recorded}))
    step = make_step(module.cuda().train(), [batch], parts=1, precision=precision)

    def in_its_precision() -> object:
        set_float32(precision)
        return step()

    return in_its_precision


def released_step(task: str, method: str, batch: Batch, mixed: bool) -> Step:
    """A step of the released code, with its optimizer; sequences are padded to the power of two that it asks for."""
    from transformers import ReformerConfig
    from transformers.models.reformer import modeling_reformer

    modeling_reformer.ReformerConfig = ReformerConfig
    sys.modules.setdefault("transformers.modeling_reformer", modeling_reformer)  # its place in the releases of 2020
    import attention_linformer
    import lra_config
    import model_wrapper

    attention_linformer.LinformerAttention.projection_matrix = None  # shared by every model of the process
    name = THEIR_METHODS[method]
    chosen = lra_config.config[THEIR_TASKS.get(task, task)]
    config = {**chosen["model"], **chosen["extra_attn_config"][name]}
    length = 2 ** math.ceil(math.log2(config["max_seq_len"]))
    config |= {"mixed_precision": mixed, "attn_type": name, "max_seq_len": length, "seq_len": length}
    kind = model_wrapper.ModelForSCDual if task == "retrieval" else model_wrapper.ModelForSC
    model = kind(config).cuda().train()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, betas=(0.9, 0.999), eps=1e-6, weight_decay=0.0)
    scaler = torch.amp.GradScaler("cuda", enabled=mixed)
    extra = length - batch.tokens.shape[-1]
    tokens = torch.nn.functional.pad(batch.tokens, (0, extra))
    mask = torch.ones_like(tokens) if batch.valid is None else torch.nn.functional.pad(batch.valid.long(), (0, extra))
    inputs = [*tokens.unbind(1), *mask.unbind(1), batch.label]

    def step() -> object:
        set_float32("32-true")
        optimizer.zero_grad()
        loss = model(*inputs)["loss"].mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        return loss

    return step


def kernels_of(step: Step) -> dict[str, Any]:
    """Milliseconds of all kernels of a step, their number, and the longest by name."""
    with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as profiler:
        for _ in range(3):
            step()
        torch.cuda.synchronize()
    events = [e for e in profiler.key_averages() if e.device_type.name == "CUDA" and e.self_device_time_total > 0]
    longest = sorted(events, key=lambda e: -e.self_device_time_total)[:TOP]
    return {
        "kernel_milliseconds": round(sum(e.self_device_time_total for e in events) / 3e3, 3),
        "kernels": round(sum(e.count for e in events) / 3),
        "longest": [[e.key[:100], round(e.self_device_time_total / 3e3, 3), round(e.count / 3)] for e in longest],
    }


def measure(task: str, method: str, forms: dict[str, Callable[[], Step]]) -> dict[str, Any]:
    """Time the forms of a cell in turns; a form that fails has its error in place of numbers."""
    found: dict[str, dict[str, Any]] = {}
    steps: dict[str, Step] = {}
    for form, make in forms.items():
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        try:
            torch.manual_seed(0)
            step = make()
            for _ in range(2):
                step()
            torch.cuda.synchronize()
        except Exception as error:  # another form may still be measured; the line says what happened
            traceback.print_exc(limit=-4)
            found[form] = {"error": f"{type(error).__name__}: {str(error)[:300]}"}
            continue
        steps[form] = step
        found[form] = {"gib": round((torch.cuda.max_memory_allocated() - before) / 2**30, 3)}
    turns: dict[str, list[float]] = {form: [] for form in steps}
    for _ in range(TURNS):
        for form, step in steps.items():
            torch.cuda.synchronize()
            began = time.perf_counter()
            for _ in range(STEPS):
                step()
            torch.cuda.synchronize()
            turns[form].append((time.perf_counter() - began) / STEPS * 1e3)
    for form, values in turns.items():
        found[form]["milliseconds"] = round(statistics.median(values), 3)
        found[form]["turns"] = [round(value, 3) for value in values]
        if form in PROFILED:
            found[form] |= kernels_of(steps[form])
    return {"task": task, "method": method, "forms": found}


def forms_of(task: str, method: str, names: Sequence[str], *, with_released: bool) -> dict[str, Callable[[], Step]]:
    """What makes each form of a cell's step, all for one batch."""
    cfg = settings_of(task, method)
    batch = to_device(batch_of(build_spec(cfg), cfg.recipe.batch_size), torch.device("cuda"))
    forms: dict[str, Callable[[], Step]] = {name: partial(our_step, cfg, batch, name) for name in names}
    if with_released and method in THEIR_METHODS:
        forms |= {name: partial(released_step, task, method, batch, mixed) for name, mixed in RELEASED.items()}
    return forms


def main() -> None:
    """Measure cell after cell until the time is over, and append each to the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--released", type=Path)
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--methods", default=",".join(METHODS))
    parser.add_argument("--forms", default=",".join(FORMS))
    parser.add_argument("--seconds", type=float, default=math.inf)
    asked = parser.parse_args()
    if asked.released:
        sys.path.append(str(asked.released))
    began = time.monotonic()
    where = {"card": torch.cuda.get_device_name(), "git_commit": git_commit(), "torch": versions()["torch"]}
    for method in asked.methods.split(","):
        for task in asked.tasks.split(","):
            if time.monotonic() - began > asked.seconds:
                print(f"out of time before {task} {method}", flush=True)
                return
            forms = forms_of(task, method, asked.forms.split(","), with_released=asked.released is not None)
            line = measure(task, method, forms) | where
            with asked.out.open("a") as file:
                file.write(json.dumps(line) + "\n")
            print(f"{task:<11}{method:<12}" + "  ".join(_shown(*item) for item in line["forms"].items()), flush=True)
            del forms
            gc.collect()
            torch.cuda.empty_cache()


def _shown(form: str, found: dict[str, Any]) -> str:
    if "error" in found:
        return f"{form}: {found['error'][:100]}"
    kernels = f" ({found['kernel_milliseconds']:.2f} in {found['kernels']})" if "kernels" in found else ""
    return f"{form}: {found['milliseconds']:.2f}{kernels}"


if __name__ == "__main__":
    main()
