"""The memory of a diagnosis of a long sequence, in a process of its own."""

import json
import subprocess
import sys

import pytest

from tests.conftest import ROOT, outer_environment

LENGTH, MOST_MIB = 4096, 300
CODE = f"""
import json
from lra.base.processes import peak_resident_bytes
from lra.tools.diagnosis import curves, swap
swap.LANDMARK_COUNTS = curves.LANDMARK_COUNTS = (8,)
from lra.tools.diagnosis.measure import measure_layer
from tests.tools.diagnosis.models import batch_of, inputs_of, model_of

model, variants = model_of("task=text", "size=full", "model.num_layers=1")
(inputs,) = inputs_of(model, batch_of(*[{LENGTH}] * 8, length={LENGTH}))
before = peak_resident_bytes()
heads, pairs = measure_layer(inputs, variants, lambda: None, kept=2)
print(json.dumps([len(heads), len(pairs), (peak_resident_bytes() - before) >> 20]))
"""


@pytest.mark.slow
@pytest.mark.exhaustive
def test_it_is_that_of_a_few_matrices_however_many_sequences_there_are(tmp_path):
    """A matrix of 512 rows is 16 MiB, and the layer's 8 sequences have 16 exact and 16 approximated ones."""
    done = subprocess.run(
        [sys.executable, "-c", CODE], env=outer_environment(), cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    heads, pairs, grown = json.loads(done.stdout)
    print(f"{grown} MiB")
    assert (heads, pairs) == (2, 2)
    assert grown < MOST_MIB
