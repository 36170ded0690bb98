"""Add the errors of Nyström's attention matrices to the record of a finished run that a kill has left without them."""

from rich.console import Console

from lra.attention.nystrom import NystromAttention
from lra.from_config import build_datamodule, build_trained_model, machine_and_loggers
from lra.run import Run
from lra.runs.schema import TARGET, Record
from lra.settings.declared import class_named
from lra.settings.run_config import RunConfig
from lra.training.machine import prepare_machine
from lra.types import UserError
from lra.verbs.train_record import add_approximation


def add_missing_approximation(cfg: RunConfig, run: Run, console: Console) -> Record | None:
    """Measure the errors of a finished run's Nyström layers with its best weights, and add them to its record.

    The measurement is that at the end of the training, on the first test batch of one process. The W&B run, which has
    ended, does not get them.

    Returns:
        The record with the errors; None if there is nothing to add, another process is at work on the run, or they
            cannot be measured, which a line says.
    """

    def add(record: Record) -> Record:
        machine = machine_and_loggers.build_machine(trained)
        prepare_machine(machine)
        data = build_datamodule(trained)
        if data.data_sha256 != record.provenance["data_sha256"]:
            console.print("The errors of its attention matrices are missing, and the data are others by now.")
            return record
        model = build_trained_model(trained, run.folder)
        return add_approximation(record, run, model, data.test_dataloader, machine.device, console)

    try:
        trained = run.config_at(cfg)
        if not trained.mixes_by_attention or not _is_nystrom(trained):
            return None
        trained = trained.on_one_device()
        return run.add_missing(lambda record: "approximation" not in record, add)
    except UserError as error:
        console.print(f"The errors of its attention matrices are missing, and cannot be measured: {error}")
        return None


def _is_nystrom(trained: RunConfig) -> bool:
    return issubclass(class_named(trained.attention[TARGET]), NystromAttention)
