"""What a diagnosis is of: which dev examples, which matrices, and the run's name in the file."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import torch

from lra.attention.longformer import LongformerAttention
from lra.tools.diagnosis import measure
from lra.tools.diagnosis.landmark_matrices import attention_matrices
from lra.tools.diagnosis.matrices import exact_matrices
from lra.tools.diagnosis.subject import dev_batches
from lra.tools.diagnosis.swap import Variants
from lra.tools.verbs.diagnose_model import _run_name
from lra.types import Batch
from tests.tools.diagnosis.models import peaked
from tests.tools.diagnosis.test_curves import nystrom_with

LABELS = np.repeat([0, 1], 500)  # sorted by class, as the reviews of the text task are


class SortedData:
    """Data with a dev split alone; a batch's tokens are the numbers of its examples."""

    split = LABELS

    def collator(self, split: str) -> SortedData:
        assert split == "dev"
        return self

    def __call__(self, indices: np.ndarray) -> Batch:
        return Batch(torch.from_numpy(indices), None, torch.from_numpy(LABELS[indices]))


def test_the_examples_of_a_sorted_split_are_of_all_classes_and_the_same_again():
    batches = dev_batches(SortedData(), 100, batch_size=32)
    assert [len(batch.label) for batch in batches] == [32, 32, 32, 4]
    counts = Counter(torch.cat([batch.label for batch in batches]).tolist())
    assert min(counts[0], counts[1]) > 30, counts
    again = dev_batches(SortedData(), 100, batch_size=32)
    assert all(torch.equal(one.tokens, other.tokens) for one, other in zip(batches, again, strict=True))


def test_more_examples_than_there_are_give_each_once_in_order():
    batches = dev_batches(SortedData(), 5000, batch_size=300)
    assert torch.cat([batch.tokens for batch in batches]).tolist() == list(range(1000))


def test_the_matrices_of_the_heat_maps_are_those_that_were_measured_and_computed_once(monkeypatch):
    inputs = peaked(lambda dims: LongformerAttention(dims, window=4, global_tokens=1), 24, 24, 17)
    expected = list(exact_matrices(inputs))
    own = attention_matrices(inputs.backend, inputs).of(expected[0])
    calls = []
    monkeypatch.setattr(measure, "exact_matrices", lambda layer: calls.append(layer) or expected)
    heads, pairs = measure.measure_layer(inputs, Variants(make=nystrom_with()), lambda: None, kept=1)
    assert len(calls) == len(pairs) == 1 < len(heads)
    torch.testing.assert_close(pairs[0].exact, expected[0].matrix, rtol=0, atol=0)
    torch.testing.assert_close(pairs[0].approximated, own, rtol=0, atol=0)


def test_the_image_of_a_long_sequence_has_means_of_its_columns(monkeypatch):
    monkeypatch.setattr(measure, "IMAGE_COLUMNS", 4)
    matrix = torch.arange(16.0, dtype=torch.float64).view(2, 8)
    assert measure.for_image(matrix).tolist() == [[0.5, 2.5, 4.5, 6.5], [8.5, 10.5, 12.5, 14.5]]
    assert torch.equal(measure.for_image(matrix[:, :4]), matrix[:, :4])


def test_a_run_is_named_without_the_folders_of_the_machine(tmp_path, monkeypatch):
    run = tmp_path / "runs/default/seed0"
    run.mkdir(parents=True)
    assert _run_name(run, tmp_path / "runs") == "default/seed0"
    assert _run_name(run, tmp_path / "others") == "seed0"
    monkeypatch.chdir(tmp_path)
    assert _run_name(Path("runs/default/seed0"), tmp_path / "runs") == "default/seed0"
