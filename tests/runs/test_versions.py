"""What a record says of the machine."""

import torch

from lra.runs.versions import processor, versions


def test_the_processors_vectors_are_those_that_torch_found():
    capability = torch.backends.cpu.get_cpu_capability()
    found = {"AVX512": "avx512f", "AVX2": "avx2"}.get(capability)
    assert (f"({found})" in processor()) == (found is not None)
    assert processor() == versions()["processor"]
    assert processor().split("(")[0].strip()
