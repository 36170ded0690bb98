"""Memory that was freed is used again."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import resource, sys, torch
from lra.training.allocator import keep_freed_memory
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


def test_large_tensors_cost_no_page_faults_the_second_time():
    """Ten tensors of 80 MB: 20,000 pages each when they are mapped anew every time."""
    assert page_faults("keep") < 1000
