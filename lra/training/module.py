"""Training and evaluation of one classifier: loss, accuracy, optimizer.

Letters: B examples, C classes.
"""

from __future__ import annotations

from collections.abc import Callable

import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities.types import OptimizerLRScheduler
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler
from torchmetrics import MeanMetric
from torchmetrics.classification import MulticlassAccuracy, MulticlassConfusionMatrix

from lra.training.ranks import gather, interleave
from lra.types import Batch, UserError


class NonFiniteLossError(UserError):
    """The loss became NaN or infinite; going on would only waste time."""


class ClassifierModule(pl.LightningModule):
    """Cross-entropy, micro-averaged accuracy, one optimizer with a schedule per step.

    Metrics of training stay on the device until `pop_train_metrics`: a `self.log` at every step would cost more than
    a small model's step on a GPU.

    Args:
        model: maps tokens `[B, N, L]` and their mask to logits `[B, C]`.
        num_classes: C.
        make_optimizer: from the model, whose parameters have names.
        make_schedule: from the optimizer.
        label: what an error calls this run, such as `listops/nystrom`.

    Attributes:
        correct: which examples the last test got right, `[B]` bool for each batch.
        confusion: how often, in the last test, the label of the row was taken for that of the column, C × C.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        num_classes: int,
        make_optimizer: Callable[[nn.Module], Optimizer],
        make_schedule: Callable[[Optimizer], LRScheduler],
        label: str,
    ):
        super().__init__()
        self.model = model
        self.label = label
        self._make_optimizer, self._make_schedule = make_optimizer, make_schedule
        self.train_loss, self.eval_loss = MeanMetric(), MeanMetric()
        self.train_accuracy = MulticlassAccuracy(num_classes, average="micro")
        self.eval_accuracy = MulticlassAccuracy(num_classes, average="micro")
        self.eval_confusion = MulticlassConfusionMatrix(num_classes)
        self.correct: list[Tensor] = []
        self.confusion: list[list[int]] = []
        self.train_loss.persistent(True)  # so that a resumed run logs the very same points
        self.train_accuracy.persistent(True)

    def make_optimizer(self) -> Optimizer:
        """The recipe's optimizer of this model, without its schedule."""
        return self._make_optimizer(self.model)

    def configure_optimizers(self) -> OptimizerLRScheduler:
        """Build the optimizer and its schedule."""
        optimizer = self.make_optimizer()
        schedule = self._make_schedule(optimizer)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def forward(self, batch: Batch) -> Tensor:
        """Logits `[B, C]` in float32, or in float64 where the model computes in it."""
        logits_BC: Tensor = self.model(batch.tokens, batch.valid)
        return logits_BC.to(torch.promote_types(logits_BC.dtype, torch.float32))

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Loss of one batch."""
        logits = self(batch)
        loss = cross_entropy(logits, batch.label)
        if loss.device.type == "cpu":  # elsewhere reading it would stop the queue: the logged mean is checked
            self._check_finite(loss)
        self.train_loss.update(loss.detach())
        self.train_accuracy.update(logits.detach(), batch.label)
        return loss

    def pop_train_metrics(self) -> dict[str, float]:
        """Mean loss and accuracy since the last call; stops the run if the loss is no number."""
        loss = self.train_loss.compute()
        self._check_finite(loss)
        metrics = {"train/loss": loss.item(), "train/accuracy": self.train_accuracy.compute().item()}
        self.train_loss.reset()
        self.train_accuracy.reset()
        return metrics

    def _check_finite(self, loss: Tensor) -> None:
        if not torch.isfinite(loss):
            raise NonFiniteLossError(
                f"the loss is {loss.item()} at step {self.global_step} of {self.label}; the last checkpoint before it"
                " is kept. A smaller rate may help: recipe.optimizer.lr=5e-5"
            )

    def _eval_step(self, batch: Batch) -> Tensor:
        logits: Tensor = self(batch)
        self.eval_loss.update(cross_entropy(logits, batch.label), weight=len(batch.label))
        self.eval_accuracy.update(logits, batch.label)
        return logits

    def _log_eval(self, split: str) -> None:
        metrics = {
            f"{split}/loss": self.eval_loss.compute(),
            f"{split}/accuracy": self.eval_accuracy.compute(),
        }
        self.log_dict(metrics, logger=False)  # Lightning's own step for a logger is one behind here
        for logger in self.loggers:
            logger.log_metrics({key: value.item() for key, value in metrics.items()}, step=self.global_step)
        self.eval_loss.reset()
        self.eval_accuracy.reset()

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Add one dev batch."""
        self._eval_step(batch)

    def on_validation_epoch_end(self) -> None:
        """Log the dev split's loss and accuracy, over every example."""
        self._log_eval("dev")

    def on_test_epoch_start(self) -> None:
        """Clear the counts of an earlier test."""
        self.correct = []
        self.eval_confusion.reset()

    def test_step(self, batch: Batch, batch_idx: int) -> None:
        """Add one test batch."""
        guesses = self._eval_step(batch).argmax(-1)
        self.eval_confusion.update(guesses, batch.label)
        self.correct.append(guesses == batch.label)

    def on_test_epoch_end(self) -> None:
        """Log the test split's loss and accuracy, over every example."""
        self.correct = interleave(gather([flags.cpu() for flags in self.correct]))
        self.confusion = self.eval_confusion.compute().tolist()
        self._log_eval("test")
