"""A prepared store as a LightningDataModule."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytorch_lightning as pl

from lra.data.dev import with_dev
from lra.data.loader import Collator, EvalLoader, TrainLoader
from lra.data.manifest import read_manifest
from lra.data.store import open_store
from lra.types import TaskSpec, UserError

TEST_LAST_BATCH = ("kept", "dropped")
TEXT_LENGTHS = (4000, 1000)


class StoreDataModule(pl.LightningDataModule):
    """Training batches in a seeded order, whole dev and test splits.

    Args:
        spec: the task.
        store_dir: folder of the prepared store.
        mask_zero: True when token 0 is padding wherever it stands; False when every position is real.
        dev_split: where the dev split comes from, see `lra.data.dev`.
        text_length: bytes of a sequence that are used, 4000 or 1000; None: all that the store has.
        test_last_batch: `kept`, or `dropped` when it is smaller than the others.
        batch_size: examples per batch, in evaluation too.
        num_train_batches: batches of the whole run.
        seed: of the training order.

    Raises:
        UserError: when the store is missing, or not what its manifest or the spec says; for an unknown
            `dev_split`, `text_length` or `test_last_batch`.
    """

    def __init__(
        self,
        *,
        spec: TaskSpec,
        store_dir: Path,
        mask_zero: bool,
        dev_split: str,
        text_length: int | None,
        test_last_batch: str,
        batch_size: int,
        num_train_batches: int,
        seed: int,
    ):
        super().__init__()
        if test_last_batch not in TEST_LAST_BATCH:
            raise UserError(
                f"protocol.test_last_batch={test_last_batch} is not known; choose one of {', '.join(TEST_LAST_BATCH)}"
            )
        if text_length is not None and text_length not in TEXT_LENGTHS:
            raise UserError(
                f"protocol.text_length={text_length} is not known; choose one of {', '.join(map(str, TEXT_LENGTHS))}"
            )
        stored = {name: replace(split, longest=text_length) for name, split in open_store(store_dir, spec).items()}
        self.splits = with_dev(stored, dev_split)
        self.drop_last_of_test = test_last_batch == "dropped"
        self.manifest = read_manifest(store_dir)
        self.batch_size, self.num_train_batches, self.seed = batch_size, num_train_batches, seed
        self._collate = {name: Collator(split, spec, mask_zero=mask_zero) for name, split in self.splits.items()}

    @property
    def origin(self) -> str:
        """`official`, `unverified`, `generated`, `stand-in` or `own`."""
        return str(self.manifest["origin"])

    @property
    def source_facts(self) -> dict[str, Any]:
        """What the manifest says of the source."""
        facts: dict[str, Any] = dict(self.manifest).get("source", {})  # type: ignore[assignment]
        return facts

    @property
    def data_sha256(self) -> dict[str, str]:
        """Hex digest of every array."""
        return {name: said["sha256"] for name, said in self.manifest["arrays"].items()}

    def collator(self, split: str) -> Collator:
        """What makes batches of a split."""
        return self._collate[split]

    def num_examples(self, split: str) -> int:
        """Examples of a split that are used."""
        return self.test_dataloader().num_examples if split == "test" else len(self.splits[split])

    def majority_rate(self, split: str) -> float:
        """Fraction of examples with the most frequent label: the accuracy of always guessing it; in [0, 1]."""
        counts = self.manifest["splits"][split]["label_counts"].values()
        return max(counts) / sum(counts)

    def train_dataloader(self) -> TrainLoader:
        """This process's share of the run's batches."""
        rank, world_size = self._place()
        return TrainLoader(
            self._collate["train"],
            batch_size=self.batch_size,
            num_batches=self.num_train_batches,
            seed=self.seed,
            rank=rank,
            world_size=world_size,
        )

    def val_dataloader(self) -> EvalLoader:
        """This process's batches of the dev split."""
        rank, world_size = self._place()
        return EvalLoader(self._collate["dev"], batch_size=self.batch_size, rank=rank, world_size=world_size)

    def test_dataloader(self) -> EvalLoader:
        """This process's batches of the test split."""
        rank, world_size = self._place()
        return EvalLoader(
            self._collate["test"],
            batch_size=self.batch_size,
            drop_last=self.drop_last_of_test,
            rank=rank,
            world_size=world_size,
        )

    def _place(self) -> tuple[int, int]:
        """Rank and number of the processes that train together."""
        return (self.trainer.global_rank, self.trainer.world_size) if self.trainer else (0, 1)
