"""Memory that was freed is used again."""

import subprocess
import sys

import pytest

CODE = """
import resource, sys, torch
from lra.training.memory import keep_freed_memory
if sys.argv[1] == "keep" and not keep_freed_memory():
    print(0); sys.exit()
torch.set_num_threads(1)
def work():
    for _ in range(10):
        torch.empty(20_000_000).fill_(1.0)
work()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
work()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def page_faults(how: str) -> int:
    done = subprocess.run([sys.executable, "-c", CODE, how], capture_output=True, text=True, check=True)
    return int(done.stdout)


@pytest.mark.slow
def test_large_tensors_cost_no_page_faults_the_second_time():
    """Ten tensors of 80 MB: 20,000 pages each when they are mapped anew every time."""
    assert page_faults("keep") < 1000


GROWING = """
import sys, torch
from lra.training.memory import keep_freed_memory, resident_bytes
from lra.training.trainer import FreedMemory
if not keep_freed_memory():
    print(0, 0); sys.exit()
torch.set_num_threads(1)
freed, pins, most = FreedMemory(growth=1.0, margin_bytes=1 << 27), [], 0
for step in range(12):
    blocks = []  # larger in every step, so the holes that the last ones left do not hold them
    for _ in range(40):
        blocks.append(torch.empty((step + 4) * 250_000).fill_(1.0))
        pins.append(torch.empty(10_000).fill_(1.0))  # keeps two holes from becoming one
    del blocks
    if sys.argv[1] == "give":
        freed.on_train_batch_end()
    most = max(most, resident_bytes())
print(most, freed.times)
"""


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_process_that_grows_gives_freed_memory_back():
    kept, given = (
        [int(word) for word in subprocess.check_output([sys.executable, "-c", GROWING, how], text=True).split()]
        for how in ("keep", "give")
    )
    assert kept[1] == 0
    if kept[0]:
        assert given[1] >= 1
        assert given[0] < 0.95 * kept[0]


def test_every_trainer_on_a_cpu_watches_its_memory():
    from lra.training.machine import Machine
    from lra.training.trainer import FreedMemory, make_trainer

    machine = Machine(accelerator="cpu")
    assert sum(isinstance(one, FreedMemory) for one in make_trainer(machine, logger=False).callbacks) == 1
