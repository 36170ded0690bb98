"""The batches of a prepared store, on the CPU and in one process."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from lra.base.option_types import checked
from lra.base.protocol import DevSplit, ListopsBrackets, Padding, TestLastBatch, TextLength
from lra.data.listops import END
from lra.data.loader import Collator, DeviceCollator, EvalLoader, PixelScale, TrainLoader
from lra.data.store import open_store, with_dev, without_token
from lra.data.symbols import with_characters, with_end
from lra.types import TaskSpec, UserError


class StoreData:
    """Gives training batches in a seeded order, and all batches of the dev and test splits.

    Args:
        mask_zero: whether token 0 is padding at all positions; if not, no position is masked.
        dev_split: origin of the dev split, see `lra.data.store`.
        text_length: number of bytes of a sequence that are used, 4000 or 1000; None: all stored bytes.
        listops_brackets: whether the closing brackets of ListOps are `kept` or `dropped`; None: another task.
        vocabulary: number of ids, with those of padding and of the end of a sequence, which is the last one.
        end_token: whether the end is added to each sequence.
        least_count: how often a character must be in the training split to have an id; None: tokens stay as stored.
        scale: how real values are made of grey levels; None: they are tokens.
        padding: whether a batch is as long as the `task` says, or as its longest sequence (`batch`).
        test_last_batch: whether the last test batch is `kept` or `dropped` if it is smaller than the others.
        batch_size: examples per batch, in evaluation too.
        dev_batch_size: examples per dev batch; None: as many as in the others.
        num_train_batches: batches of the whole run.
        on_device: whether a Trainer's batches are made on its device, see `lra.data.datamodule`.

    Attributes:
        origin, source_facts: what the manifest says of the data's origin, and of its source.
        data_sha256: hex SHA-256 digests of the arrays by name.

    Raises:
        UserError: when the store is missing or does not match its manifest or the spec; for an argument outside its
            declared type; for a dev or test split that would be empty; for `on_device` with batches of several lengths.
    """

    @checked
    def __init__(
        self,
        *,
        spec: TaskSpec,
        store_dir: Path,
        mask_zero: bool,
        dev_split: DevSplit,
        text_length: TextLength | None,
        listops_brackets: ListopsBrackets | None,
        vocabulary: int | None = None,
        end_token: bool = False,
        least_count: int | None = None,
        scale: PixelScale | None = None,
        padding: Padding = "task",
        test_last_batch: TestLastBatch,
        batch_size: int,
        dev_batch_size: int | None = None,
        num_train_batches: int,
        seed: int,
        on_device: bool,
    ):
        super().__init__()
        store = open_store(store_dir, spec)
        self.manifest = store.manifest
        self.origin, self.source_facts = self.manifest["origin"], self.manifest.get("source", {})
        self.data_sha256 = {name: facts["sha256"] for name, facts in self.manifest["arrays"].items()}
        stored = {name: replace(split, longest=text_length) for name, split in store.splits.items()}
        if listops_brackets == "dropped":
            stored = without_token(stored, END)
        self.splits = with_dev(stored, dev_split)  # as stored, for people
        vocabulary = vocabulary or spec.vocab_size
        if least_count is not None:
            stored = with_characters(stored, vocabulary=vocabulary, least_count=least_count)
        if end_token:
            stored = with_end(stored, vocabulary - 1)
        self._in_batches = with_dev(stored, dev_split)
        if on_device and padding == "batch" and scale is None:
            raise UserError(
                "trainer.data_on_device=true makes batches of one length, but protocol.padding=batch asks for that of"
                " their longest sequences; type trainer.data_on_device=false",
                kind="no_effect",
                key="trainer.data_on_device",
            )
        self.drop_last_of_test = test_last_batch == "dropped"
        if self.drop_last_of_test and len(self.splits["test"]) < batch_size:
            raise UserError(
                f"protocol.test_last_batch=dropped leaves none of {len(self.splits['test'])} test examples with batches"
                f" of {batch_size}; type protocol.test_last_batch=kept"
            )
        self._check_requirements(store_dir, {"text_length": text_length, "listops_brackets": listops_brackets})
        self.batch_size, self.num_train_batches, self.seed = batch_size, num_train_batches, seed
        self.dev_batch_size = dev_batch_size or batch_size
        self._spec, self._mask_zero, self._scale, self._on_device = spec, mask_zero, scale, on_device
        self._collate = {
            name: Collator(split, spec, mask_zero=mask_zero, scale=scale, to_longest=padding == "batch")
            for name, split in self._in_batches.items()
        }

    @property
    def source_files(self) -> dict[str, Any]:
        """Hashes of the source's files by name, if it has several, and the split if the source has one of its own."""
        facts = self.source_facts
        return {key: facts[key] for key in ("files", "split") if key in facts} if "files" in facts else {}

    def _check_requirements(self, store_dir: Path, settings: dict[str, object]) -> None:
        """Refuse settings that need more than the store's source had, such as closing brackets."""
        for key, only in self.source_facts.get("requires", {}).items():
            if settings[key] != only:
                raise UserError(
                    f"protocol.{key}={settings[key]} needs other data than {store_dir}, whose source has less; type"
                    f" protocol.{key}={only}",
                    kind="other_data",
                    key=f"protocol.{key}",
                    value=settings[key],
                    right=only,
                )

    def collator(self, split: str) -> Collator:
        """Return the collator that makes the batches of a split in main memory."""
        return self._collate[split]

    def num_examples(self, split: str) -> int:
        """Count the examples of a split that are used."""
        return self.test_dataloader().num_examples if split == "test" else len(self.splits[split])

    def majority_rate(self, split: str) -> float:
        """Compute the accuracy of always predicting a split's most frequent label, in [0, 1]."""
        counts = self.manifest["splits"][split]["label_counts"].values()
        return max(counts) / sum(counts)

    def train_dataloader(self) -> TrainLoader:
        """Make the loader of the training batches, with this process's share of each batch."""
        return TrainLoader(
            self._collator_of_trainer("train"),
            batch_size=self.batch_size,
            num_batches=self.num_train_batches,
            seed=self.seed,
            **self._share(),
        )

    def val_dataloader(self) -> EvalLoader:
        """Make the loader of this process's dev batches."""
        collate = self._collator_of_trainer("dev")
        return EvalLoader(collate, batch_size=self.dev_batch_size, drop_last=False, **self._share())

    def test_dataloader(self) -> EvalLoader:
        """Make the loader of this process's test batches."""
        collate = self._collator_of_trainer("test")
        return EvalLoader(collate, batch_size=self.batch_size, drop_last=self.drop_last_of_test, **self._share())

    def _collator_of_trainer(self, split: str) -> Collator | DeviceCollator:
        """Return the collator of a split's batches."""
        return self._collate[split]

    def _share(self) -> dict[str, int]:
        """Return the rank of this process, and the number of processes that train together."""
        return {"rank": 0, "world_size": 1}
