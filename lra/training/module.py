"""Train and evaluate one classifier: loss, accuracy, optimizer.

Metrics are added up on the device; only reading them makes the host wait.

Letters: B examples, C classes.
"""

import math
import sys
from collections.abc import Callable
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.trainer.states import TrainerFn
from pytorch_lightning.utilities.types import LRSchedulerConfigType, OptimizerLRScheduler
from torch import Tensor, nn
from torch.nn.functional import cross_entropy
from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler, ReduceLROnPlateau
from torchmetrics import Metric
from torchmetrics.classification import MulticlassAccuracy, MulticlassConfusionMatrix

from lra.training.ranks import gather, interleave, mean_over_ranks
from lra.training.recorded_step import RecordedStep, WaitsForGpuError
from lra.types import Batch, UserError


class MeanLoss(Metric):
    """Mean of losses; a loss that is NaN makes it NaN.

    torchmetrics' MeanMetric reads every value, to look for NaN, and leaves NaN out, so that nobody would notice.
    """

    mean_value: Tensor  # the sum, under MeanMetric's name for it, which the checkpoints of earlier runs have
    weight: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("mean_value", torch.tensor(0.0), dist_reduce_fx="sum")
        self.add_state("weight", torch.tensor(0.0), dist_reduce_fx="sum")

    def update(self, loss: Tensor, weight: int = 1) -> None:
        """Add a mean over `weight` examples."""
        self.mean_value += loss.to(self.mean_value.dtype) * weight
        self.weight += weight

    def compute(self) -> Tensor:
        """Compute the weighted mean."""
        return self.mean_value / self.weight


class NonFiniteLossError(UserError):
    """Raised when the loss becomes NaN or infinite, because more training would be useless."""


class ClassifierModule(pl.LightningModule):
    """LightningModule with loss, accuracy, and a schedule that is stepped every step.

    Of a classifier they are cross-entropy and micro-averaged accuracy; a model that predicts something else brings its
    own `loss`, of outputs and labels, and `accuracy`, in [0, 1], of which more is better. Where parts of a batch, and
    processes, have different numbers of labels (`uneven`), each counts by its number, as in one batch of all.

    Training metrics stay on the device until `pop_train_metrics`: on a GPU, a `self.log` at every step would take
    longer than the step of a small model. The model maps tokens `[B, N, L]` and their mask to logits `[B, C]`; errors
    name the run by `label`, such as `listops/nystrom`, and the option of its learning rate by `rate`. With
    `records_step` the passes of the first step on a GPU are recorded as a CUDA graph, which the other steps repeat.

    Attributes:
        correct: whether the last test's predictions were right, `[B]` bool for each batch.
        confusion: the last test's confusion matrix, C × C: examples by true label (row) and predicted label (column).
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        num_classes: int,
        make_optimizer: Callable[[nn.Module], Optimizer],
        make_schedule: Callable[[Optimizer], LRScheduler],
        label: str,
        rate: str = "recipe.optimizer.lr",
        records_step: bool = False,
        loss: Callable[[Tensor, Tensor], Tensor] = cross_entropy,
        accuracy: Metric | None = None,
        uneven: bool = False,
    ):
        super().__init__()
        self.model = model
        self.label, self.rate, self.records_step, self.loss, self.uneven = label, rate, records_step, loss, uneven
        self._recorded: RecordedStep | None = None
        self._make_optimizer, self._make_schedule = make_optimizer, make_schedule
        self.train_loss, self.eval_loss = MeanLoss(), MeanLoss()
        # torchmetrics' check of the labels would wait for the device; a wrong label is an error of the loss anyway.
        self.train_accuracy = accuracy or MulticlassAccuracy(num_classes, average="micro", validate_args=False)
        self.eval_accuracy = self.train_accuracy.clone()
        self.eval_confusion = MulticlassConfusionMatrix(num_classes, validate_args=False)
        self.correct: list[Tensor] = []
        self.confusion: list[list[int]] = []
        self._loaded_step = 0
        self._labels = self._positions = 0  # labels in the parts of a step so far, and positions of a part
        # Kept in checkpoints, so that a resumed run logs the same points. Of several processes the first one's are
        # kept: the first point after resuming weighs its examples alone.
        self.train_loss.persistent(True)
        self.train_accuracy.persistent(True)

    @property
    def reads_late(self) -> bool:
        """Whether a step reads nothing from the device: on a GPU the host would wait for it, and launch nothing."""
        return self.device.type != "cpu"

    def make_optimizer(self) -> Optimizer:
        """Make the recipe's optimizer for this model, without the schedule."""
        return self._make_optimizer(self.model)

    def configure_optimizers(self) -> OptimizerLRScheduler:
        """Build the optimizer and its schedule."""
        optimizer = self.make_optimizer()
        schedule = self._make_schedule(optimizer)
        stepped: LRSchedulerConfigType = {"scheduler": schedule, "interval": "step"}
        if isinstance(schedule, ReduceLROnPlateau):
            stepped["frequency"] = sys.maxsize  # never by Lightning, see `on_validation_epoch_end`
            stepped["monitor"] = "dev/loss"
        return {"optimizer": optimizer, "lr_scheduler": stepped}

    def forward(self, batch: Batch) -> Tensor:
        """Compute the logits `[B, C]` in float32, or in float64 if the model computes in float64."""
        logits_BC: Tensor = self.model(batch.tokens, batch.valid)
        return logits_BC.to(torch.promote_types(logits_BC.dtype, torch.float32))

    def loss_and_logits(self, batch: Batch) -> tuple[Tensor, Tensor]:
        """Compute the mean loss of a batch, and its logits `[B, C]`."""
        logits_BC = self(batch)
        return self.loss(logits_BC, batch.label), logits_BC

    def passes(self, batch: Batch) -> tuple[Tensor, ...]:
        """Set the gradients of a batch, by the recorded passes; return its loss and logits, valid until the next call.

        Raises:
            UserError: when the step waits for the GPU, so that it cannot be recorded.
        """
        if self._recorded is None:
            try:
                self._recorded = RecordedStep(self.model, self.loss_and_logits, batch)
            except WaitsForGpuError as error:
                right = "trainer.cuda_graph=false"
                line = (
                    f"a step of {self.label} waits for the GPU, so it cannot be recorded as a CUDA graph; type {right}"
                )
                raise UserError(line, kind="wrong_value", key="trainer.cuda_graph", right=right) from error
        return self._recorded(batch)

    def on_train_start(self) -> None:
        """Forget a recording of an earlier training, which had the weights in other memory."""
        self._recorded = None

    def on_train_end(self) -> None:
        """Give the memory of the recording back."""
        if self._recorded is not None:
            self._recorded = None
            self.zero_grad(set_to_none=True)

    def optimizer_zero_grad(self, epoch: int, batch_idx: int, optimizer: Optimizer) -> None:
        """Leave the gradients to recorded passes, which have set them and will overwrite them."""
        if self._recorded is None:
            super().optimizer_zero_grad(epoch, batch_idx, optimizer)

    def backward(self, loss: Tensor, *args: Any, **kwargs: Any) -> None:
        """Do the backward pass, which recorded passes have done."""
        if self._recorded is None:
            super().backward(loss, *args, **kwargs)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        """Compute the loss of one batch.

        Raises:
            NonFiniteLossError: when the loss is NaN or infinite; on a GPU `pop_train_metrics` raises it.
        """
        loss, logits = self.passes(batch) if self.records_step and self.reads_late else self.loss_and_logits(batch)
        if not self.reads_late:
            self._check_finite(loss)
        labels = len(batch.label)
        self.train_loss.update(loss.detach(), weight=labels if self.uneven else 1)
        self.train_accuracy.update(logits.detach(), batch.label)
        if not self.uneven:
            return loss
        self._labels += labels
        self._positions = math.prod(batch.tokens.shape[:3])  # of B, N, L: the same for all parts and processes
        return loss * (labels / self._positions)

    def on_before_optimizer_step(self, optimizer: Optimizer) -> None:
        """Make gradients of parts that counted by their numbers of labels those of the mean over all of them."""
        if not self.uneven:
            return
        share = torch.tensor(self._labels / self.trainer.accumulate_grad_batches, device=self.device)
        share = mean_over_ranks(share) / self._positions
        for weight in self.model.parameters():
            if weight.grad is not None:
                weight.grad.div_(share.to(weight.grad.dtype))
        self._labels = 0

    def pop_train_metrics(self) -> dict[str, float]:
        """Return mean loss and accuracy since the last call.

        Raises:
            NonFiniteLossError: when the mean loss is NaN or infinite.
        """
        loss = self.train_loss.compute()
        self._check_finite(loss)
        metrics = {"train/loss": loss.item(), "train/accuracy": self.train_accuracy.compute().item()}
        self.train_loss.reset()
        self.train_accuracy.reset()
        return metrics

    def check_finite(self) -> None:
        """Check the losses since the last call of `pop_train_metrics`, which a GPU has not been asked for yet.

        Raises:
            NonFiniteLossError: when one of them is NaN or infinite.
        """
        if self.reads_late and self.train_loss.update_called:
            self._check_finite(self.train_loss.compute())

    def _check_finite(self, loss: Tensor) -> None:
        if not torch.isfinite(loss):
            raise NonFiniteLossError(
                f"the loss is {loss.item()} at step {self.global_step} of {self.label}; a smaller rate"
                f" may help: {self.rate}=5e-5"
            )

    def eval_step(self, batch: Batch) -> Tensor:
        """Add a batch to `eval_loss` and `eval_accuracy`; return its logits."""
        logits: Tensor = self(batch)
        self.eval_loss.update(self.loss(logits, batch.label), weight=len(batch.label))
        self.eval_accuracy.update(logits, batch.label)
        return logits

    def _log_eval(self, split: str, *, step: int) -> dict[str, Tensor]:
        metrics = {f"{split}/loss": self.eval_loss.compute(), f"{split}/accuracy": self.eval_accuracy.compute()}
        self.log_dict(metrics, logger=False)  # Lightning would give the loggers a step that is one too small
        for logger in self.loggers:
            logger.log_metrics({key: value.item() for key, value in metrics.items()}, step=step)
        self.eval_loss.reset()
        self.eval_accuracy.reset()
        return metrics

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        """Add one dev batch to the metrics."""
        self.eval_step(batch)

    def on_validation_epoch_end(self) -> None:
        """Log the dev split's loss and accuracy, over every example; show them to a schedule that waits for a plateau.

        Lightning would step such a schedule after the checkpoint of this step, and a resumed run would miss the step.
        """
        metrics = self._log_eval("dev", step=self.global_step)
        schedule = self.lr_schedulers()
        if isinstance(schedule, ReduceLROnPlateau) and self.trainer.state.fn == TrainerFn.FITTING:
            schedule.step(metrics["dev/accuracy" if schedule.mode == "max" else "dev/loss"])

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        """Note the step of the weights: the Trainer of a test is at step 0."""
        self._loaded_step = checkpoint["global_step"]

    def on_test_epoch_start(self) -> None:
        """Clear the results of an earlier test."""
        self.correct = []
        self.eval_confusion.reset()

    def test_step(self, batch: Batch, batch_idx: int) -> None:
        """Add one test batch to the metrics."""
        guesses = self.eval_step(batch).argmax(-1)
        self.eval_confusion.update(guesses, batch.label)
        self.correct.append(guesses == batch.label)

    def on_test_epoch_end(self) -> None:
        """Log loss and accuracy over all test examples at the step that was tested; keep `correct` and `confusion`."""
        self.correct = interleave(gather([flags.cpu() for flags in self.correct]))
        self.confusion = self.eval_confusion.compute().tolist()
        self._log_eval("test", step=self._loaded_step)
