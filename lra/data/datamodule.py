"""The LightningDataModule of a prepared store."""

from functools import cached_property

import pytorch_lightning as pl
import torch

from lra.data.loader import Collator, DeviceCollator, device_collators
from lra.data.store_data import StoreData


class StoreDataModule(StoreData, pl.LightningDataModule):
    """Gives a Trainer the batches of `StoreData`: each process its share, with `on_device` from the device's memory."""

    @cached_property
    def _device_collate(self) -> dict[torch.device, dict[str, DeviceCollator]]:
        return {}

    def _collator_of_trainer(self, split: str) -> Collator | DeviceCollator:
        """Return the collator for a Trainer's batches; without a Trainer, batches are made in main memory."""
        if not (self._on_device and self.trainer):
            return super()._collator_of_trainer(split)
        device = self.trainer.strategy.root_device
        if device not in self._device_collate:
            self._device_collate[device] = device_collators(
                self._in_batches, self._spec, mask_zero=self._mask_zero, device=device, scale=self._scale
            )
        return self._device_collate[device][split]

    def _share(self) -> dict[str, int]:
        if not self.trainer:
            return super()._share()
        return {"rank": self.trainer.global_rank, "world_size": self.trainer.world_size}
