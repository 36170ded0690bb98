"""lra show: inspect a model, a task's data, the protocols, runs, or what can be chosen.

lra show model task=text attention=nystrom     layer by layer: output shape, parameters
lra show model attention=full protocol=clean
lra show model mixer=s4d                       a mixer in place of an attention
lra show protocol                              each switch: its values, their protocols, their meaning
lra show protocol format=markdown              the same, as docs/protocol.md has it
lra show data task=listops                     examples in readable form; lengths, labels, masked share, memory
lra show data task=image size=short split=test examples=5
lra show runs                                  each run: its hash, seed, state and accuracy, or why it failed
lra show runs run_group=table
lra show runs published/listops.jsonl          the project's published records, or a .jsonl file of yours
lra show tasks                                 classes, length, examples, terms, and whether the data is prepared here
lra show attentions                            attentions and mixers: options, cost, source, differences from the paper
"""

from collections.abc import Sequence

from lra.base.overrides import Override, Overrides
from lra.base.paths import data_dir
from lra.base.printed_commands import quoted_for_hydra, typed_overrides
from lra.base.verb_files import verb_module
from lra.settings.command_options import Show
from lra.settings.compose import default_choice
from lra.settings.group_to_read import with_group_found
from lra.settings.run_config import RunConfig
from lra.terminal.result import Result
from lra.types import UserError
from lra.verbs.show_choices import show_attentions, show_tasks

OPTIONS_OF = {"runs": ("run_group", "file"), "data": ("examples", "split"), "protocol": ("format",)}
SUBCOMMANDS = ("model", "data", "protocol", "runs", "tasks", "attentions")


def main_reads(arguments: Sequence[str]) -> bool:
    """Tell whether these arguments ask for a list that `main` reads from the files of a config group."""
    return list(arguments) in [["tasks"], ["attentions"]]


def main(arguments: Sequence[str]) -> Result:
    """List the tasks at the default size, or the attentions and mixers."""
    return show_tasks(default_choice("size"), data_dir()) if arguments[0] == "tasks" else show_attentions()


def to_overrides(arguments: Overrides) -> Overrides:
    """Turn the leading argument into `what=WORD`, and a file after `runs` into `file=PATH`.

    Raises:
        UserError: when that argument is missing or unknown.
    """
    if not arguments or arguments[0] not in SUBCOMMANDS:
        wrong = arguments[0] if arguments and not arguments[0].has_value else None
        problem = f"{wrong!r} cannot be shown;" if wrong else "show what?"
        line = f"{problem} type one of: {', '.join(f'lra show {what}' for what in SUBCOMMANDS)}"
        raise UserError(line, kind="unknown_choice", key="what", value=wrong, right=SUBCOMMANDS)
    what, *rest = arguments
    if what != "runs":
        return Overrides([f"what={what}", *rest])
    if rest and not rest[0].has_value and not rest[0].startswith("-"):
        rest[0] = Override(f"file={quoted_for_hydra(rest[0])}")
    return Overrides([f"what={what}", *with_group_found(Overrides(rest))])


def run(cfg: RunConfig) -> Result:
    """Show what `cfg.what` names."""
    cfg = Show.view(cfg)
    for what, keys in OPTIONS_OF.items():
        if what != cfg.what and (typed := typed_overrides(*keys)):
            line = f"{typed[0]} is for lra show {what}; leave it out"
            raise UserError(line, kind="no_effect", key=typed[0].key, value=typed[0].text)
    if cfg.what == "protocol":
        from lra.verbs.show_protocol import show_protocol

        return show_protocol(cfg)
    if cfg.what == "data":
        from lra.verbs.show_data import show_data  # not for the others: numpy, and what a store needs

        return show_data(cfg)
    if cfg.what == "runs":
        shown: Result = verb_module("show_runs").show_runs(cfg)  # in lra/tables/verbs, because it reads many runs
        return shown
    if cfg.what in ("tasks", "attentions"):
        return show_tasks(cfg.size.name, cfg.paths.data) if cfg.what == "tasks" else show_attentions()
    from lra.verbs.show_model import show_model  # torch

    return show_model(cfg)
