"""lra evaluate: re-evaluate the saved checkpoint of a run on the test split, in this process and on one device.

  lra evaluate run=a1b9200f                          the run whose settings have this hash; lra show runs lists them
  lra evaluate run=a1b9200f seed=0                   where several seeds have these settings
  lra evaluate run=runs/default/listops/nystrom/paper-full-5000steps-a1b9200f/seed0    its folder
  lra evaluate run=a1b9200f seed=0 predictions=3     also shows test examples with their predictions
  lra evaluate run=a1b9200f seed=0 trainer.threads=1
  lra evaluate run=a1b9200f seed=0 trainer=cpu       on a CPU, whatever trained it

Four digits of the hash are enough where no other run has them; GROUP/HASH names a run of one run group. The checkpoint
is the best one by dev accuracy. The command prints the test accuracy, and whether it equals the recorded one. The
record is not changed. Of a pretrained run it also prints how well masked positions of dev are predicted. The machine is
that of the training, but for trainer=, trainer.threads= and trainer.precision=.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lra.base.overrides import Override, Overrides
from lra.base.printed_commands import command, override, shell_word, typed_command
from lra.run import Run
from lra.settings.command_options import Evaluate
from lra.settings.override_values import values_of
from lra.settings.read_override import read_override
from lra.settings.run_config import RunConfig
from lra.types import UserError

if TYPE_CHECKING:
    from lra.verbs.evaluate_run import Evaluation

OF_TRAINER = ("accelerator", "precision", "threads")  # options of the trainer that a test has too
ACCELERATORS = ("cpu", "gpu")  # choices of `trainer=` that are nothing but one of these


def to_overrides(arguments: Overrides) -> Overrides:
    """Turn `trainer=cpu` and options of the trainer, which a run has of its own, into options of this command.

    Raises:
        UserError: for what a test has no use for.
    """
    return Overrides(map(_of_this_command, arguments))


def _of_this_command(argument: Override) -> str:
    group, _, name = argument.key.partition(".")
    if group != "trainer" or not argument.has_value:
        return argument
    if name in OF_TRAINER:
        return argument.lstrip("+").removeprefix("trainer.")
    choices = [str(value) for value in values_of(read_override(argument))]
    if not name and choices and choices[0] in ACCELERATORS and len(choices) == 1:
        return override("accelerator", choices[0])
    takes = ["trainer=cpu", "trainer=gpu", *(f"trainer.{key}=" for key in OF_TRAINER if key != "accelerator")]
    right = typed_command("evaluate", without=[argument.key])
    line = f"{shell_word(argument)} has no effect on a test, which takes {', '.join(takes)}; type: {right}"
    raise UserError(line, kind="no_effect", key=argument.key, right=right)


def run(cfg: RunConfig) -> Evaluation:
    """Test the run that `cfg.run` and `cfg.seed` name.

    Raises:
        UserError: when there is no such run.
    """
    asked = Evaluate.view(cfg)
    if asked.run is None:
        right = [command("evaluate", "run=a1b9200f", "seed=0"), command("show runs")]
        line = f"run= is missing; type for example: {right[0]}; {right[1]} lists them"
        raise UserError(line, kind="missing_option", key="run", right=right)
    found = Run.find(asked.run, runs=asked.paths.runs, seed=asked.seed)
    from lra.verbs.evaluate_run import evaluate_run  # torch: a mistyped word or run is told at once

    trainer = {key: value for key in OF_TRAINER if (value := getattr(asked, key)) is not None}
    return evaluate_run(found, asked, trainer)
