"""A Nyström-64 training step against the same model written the paper's way, at the paper's shapes and real lengths.

Medians of steps in turns, in one process, float32, 2 threads. What is asserted leaves room for a noisy machine;
docs/performance.md has the figures of a quiet one.
"""

import statistics
import subprocess
import sys

import pytest
import torch
from torch.nn.functional import cross_entropy

from lra import from_config
from lra.settings.compose import load_config
from tests.reference.model import PlainClassifier
from tests.speed.inputs import batch_of

pytestmark = pytest.mark.slow

LEAST = {"image": 1.8, "listops": 2.6, "pathfinder": 3.5, "text": 4.5, "retrieval": 4.5}
STEPS = 6


def pair_of(task: str):
    cfg = load_config("train", [f"task={task}"])
    spec, fast = from_config.build_spec(cfg), from_config.build_model(cfg)
    plain = PlainClassifier(
        vocab=spec.vocab_size, length=spec.seq_len, classes=spec.num_classes, sequences=spec.num_sequences
    )
    plain.take_weights(fast)
    return fast, plain, batch_of(spec, cfg.recipe.batch_size)


def step(model, optimizer, batch) -> None:
    cross_entropy(model(batch.tokens, batch.valid), batch.label).backward()
    optimizer.step()
    optimizer.zero_grad()


@pytest.mark.parametrize("task", LEAST)
def test_a_nystrom_step_against_the_papers_way(task, note):
    from tests.speed.timing import in_turns

    fast, plain, batch = pair_of(task)
    few = [None if x is None else x[:4] for x in batch]
    with torch.no_grad():
        torch.testing.assert_close(fast.eval()(*few[:2]), plain.eval()(*few[:2]), rtol=1e-3, atol=1e-4)
    made = [(m.train(), torch.optim.AdamW(m.parameters(), 1e-4)) for m in (fast, plain)]
    ours, theirs = in_turns(*(lambda m=m, o=o: step(m, o, batch) for m, o in made), turns=STEPS)
    ratio = statistics.median(t / o for o, t in zip(ours, theirs, strict=True))
    note(
        f"step {task}",
        seconds=statistics.median(ours),
        paper_seconds=statistics.median(theirs),
        ratio=ratio,
        real=batch.valid.float().mean().item(),
    )
    assert ratio >= LEAST[task]


PEAK = """
import sys
import torch
from tests.speed.test_step import pair_of, step
torch.set_num_threads(2)
def bytes_of(key):  # not getrusage: its peak begins with that of the process that started this one
    lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
    return int(lines[key].split()[0]) * 1024
fast, plain, batch = pair_of("text")
model = {"fast": fast, "plain": plain}[sys.argv[1]].train()
before = bytes_of("VmRSS")
optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
for _ in range(2):
    step(model, optimizer, batch)
print(bytes_of("VmHWM") - before)
"""


def test_a_text_step_needs_at_most_a_third_of_the_papers_memory(note):
    """Each in a process of its own, what it held before the first step left out."""
    peaks = {}
    for name in ("fast", "plain"):
        done = subprocess.run([sys.executable, "-c", PEAK, name], capture_output=True, text=True, check=True)
        peaks[name] = int(done.stdout)
    note("memory text", bytes=peaks["fast"], paper_bytes=peaks["plain"], ratio=peaks["plain"] / peaks["fast"])
    assert peaks["fast"] <= peaks["plain"] / 3
