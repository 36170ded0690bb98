"""The `lra` command: `lra VERB key=value …`. Help needs neither torch nor Hydra."""

import ast
import difflib
import os
import re
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from shutil import get_terminal_size
from typing import Any

from lra import __version__
from lra.base.overrides import Overrides
from lra.base.paths import environment
from lra.base.printed_commands import command, typed_arguments
from lra.base.signals import clean_up_on_signals, exit_on_signals, raise_if_stopped
from lra.base.text import without_credentials
from lra.base.verb_files import parsed_verb, verb_module
from lra.settings.config_dirs import added_config_dirs, split_config_dirs
from lra.settings.other_words import verb_meant
from lra.terminal.console import OutputError, guard_streams
from lra.types import LOCKED, UserError

# Processes that Hydra's launchers, multiprocessing or torch's compiler start import nothing from the current folder
# either; their commands are not ours.
SAFE_PATH = {"PYTHONSAFEPATH": "1"}
VERBS = {
    "prepare": "make a task's data: download or generate it, pack it, check it",
    "train": "train one attention on one task, test it, record the result; -m for several runs",
    "evaluate": "re-evaluate the saved checkpoint of a run",
    "diagnose": "compare a model's attention with exact attention, and its accuracy with either",
    "table": "reproduce the paper's table: plan, run the missing cells, show them with the published numbers",
    "compare": "compare attentions on a task: confidence intervals, tests of significance, figures",
    "examine": "put an attention of your own through everything that a laptop can do, and write one page",
    "tune": "search hyperparameters: the same space and number of trials for each method, chosen by dev accuracy",
    "sweep": "accuracy against landmarks, the width of a window, or pairs to recall: lra sweep landmarks",
    "report": "write all results of a run group to one HTML file",
    "publish": "append records to a file that is kept with the code",
    "import": "copy runs from another machine",
    "export": "export a trained model: safetensors, settings, model card",
    "fill-mask": "fill the mask in a text with a Hugging Face Nyströmformer checkpoint",
    "show": "inspect models, data, protocols, runs and choices: lra show runs, lra show tasks",
    "new": "write a small package with an attention or a mixer of your own, to start from",
    "check": "check the contract of an attention or a mixer, such as one of your own",
    "bench": "time a training step (lra bench step) or attentions alone (lra bench attention)",
    "doctor": "show what is installed, which folders are used, and what is missing",
}
EXAMPLE = re.compile(r"(?P<typed> *\S.*?) {2,}(?P<said>\S.*)")  # what is typed, and what it does in a second column
LEAST_WIDTH = 20  # of the second column of a help text
INDENT = "      "  # of what stands below the line that it belongs to
HELP = ("-h", "--help", "help")
COMPLETION = ("-sc", "--shell-completion")


def usage() -> str:
    """Build the text of `lra --help`."""
    verbs = "\n".join(f"  {verb:<11}{what}" for verb, what in VERBS.items())
    return (
        "lra: train and compare efficient-attention variants in one fixed encoder on the Long Range Arena tasks\n\n"
        "usage: lra VERB [key=value …]      lra VERB --help for examples\n\n"
        f"{verbs}\n\n"
        "key=value is a Hydra override; `lra train --cfg job` prints all options. LRA_DEBUG=1 shows tracebacks."
    )


@exit_on_signals(lambda line: _fail(line))
def main(argv: Sequence[str] | None = None) -> int:
    """Run one verb and return the exit code.

    Without `argv` the command line of this process is used, and its standard output and error are guarded.
    """
    if argv is None:
        guard_streams()
    arguments = list(sys.argv[1:] if argv is None else argv)
    try:
        with typed_arguments(arguments):
            return _command(arguments)
    except OutputError as error:
        return _fail(str(error))


def _command(arguments: list[str]) -> int:
    if not arguments or arguments[0] in HELP:
        _print_help(usage())
        return 0
    verb, *rest = arguments
    if verb == "--version":
        print(f"lra {__version__}")
        return 0
    if verb not in VERBS and verb not in COMPLETION:
        near = verb_meant(verb) or next(iter(difflib.get_close_matches(verb, VERBS, n=1, cutoff=0.5)), None)
        typed = rest if near in VERBS else []  # a longer phrase may take none of the arguments
        meant = f"did you mean: {command(near, *typed)}" if near else f"choose one of {', '.join(VERBS)}"
        return _fail(f"{verb!r} is not a verb of lra; {meant}")
    try:
        if verb in COMPLETION:
            verb_module("completion").complete(rest, VERBS, _subcommands)
            return 0
        rest, folders = split_config_dirs([_as_meant(argument) for argument in rest])
    except UserError as error:
        return _fail(str(error))
    with added_config_dirs(folders), environment(SAFE_PATH):
        if any(argument in HELP for argument in rest):
            _print_help(ast.get_docstring(parsed_verb(verb)) or "")
            return 0
        return _run(verb, rest)


def _subcommands(verb: str) -> Sequence[str]:
    """The words that may follow a verb before its settings, such as `plan` after `table`."""
    if verb not in VERBS:
        return ()
    assigned = (node for node in parsed_verb(verb).body if isinstance(node, ast.Assign))
    values = (node.value for node in assigned if ast.unparse(node.targets[0]) == "SUBCOMMANDS")
    return next(map(ast.literal_eval, values), ())


def _functions(verb: str) -> dict[str, Callable[..., Any]]:
    """The functions that read a verb's arguments; without an import where it has none, for that may take seconds."""
    defined = {node.name for node in parsed_verb(verb).body if isinstance(node, ast.FunctionDef)}
    own = sorted(defined & {"main", "main_reads", "to_overrides"})
    return {name: getattr(verb_module(verb), name) for name in own}


def _run(verb: str, arguments: list[str]) -> int:
    from lra.run import RunLockedError
    from lra.settings.application import ONE_RUN_FLAGS, is_one_of_several, own_overrides, read_flags, run_command
    from lra.settings.check import check_config
    from lra.settings.check_overrides import check_mixer, check_overrides
    from lra.settings.run_config import RunConfig
    from lra.settings.several_values import refuse_all_of_sweep
    from lra.terminal.errors import explain
    from lra.terminal.result import show_result
    from lra.verbs.train_sweep import EndedSweep, Job, jobs_elsewhere

    jobs: list[Job] = []  # of a sweep, as far as they run in this process: those of Hydra's basic launcher

    def run(cfg: RunConfig) -> object:
        try:
            with clean_up_on_signals():
                if is_one_of_several() and verb == "train":
                    jobs.append(Job(cfg, own_overrides()))
                check_config(cfg, verb)
                return show_result(verb_module(verb).run(cfg))
        except Exception as error:
            if not is_one_of_several():
                raise _FailedError(error) from error
            if jobs:
                jobs[-1].error = explain(error)
            _fail(explain(error))  # the other runs of a sweep go on; Hydra raises this one at the end
            raise

    def end_sweep(typed: Overrides) -> None:
        raise_if_stopped()  # a launcher may have taken a signal for the end of a run
        shown = (jobs or jobs_elsewhere(typed)) if flags and verb == "train" else []
        if shown:
            show_result(EndedSweep(shown))

    try:
        functions = _functions(verb)
        # A verb with a `main` composes its configurations itself.
        if "main" in functions and functions.get("main_reads", lambda _: True)(arguments):
            with clean_up_on_signals():
                show_result(functions["main"](arguments))
            return 0
        # Hydra takes these flags only in front of settings.
        flags = [argument for argument in arguments if argument in ("-m", "--multirun")]
        typed = Overrides(argument for argument in arguments if argument not in flags)
        shown = next(iter(typed.only(*ONE_RUN_FLAGS)), None)
        if flags and shown:
            raise UserError(f"{shown.key} is about one run and {flags[0]} about several: leave {flags[0]} out")
        if "to_overrides" in functions:  # for arguments that Hydra cannot read, as in `lra show model`
            typed = functions["to_overrides"](typed)
            if len(actions := typed.texts("what")) > 1:
                raise UserError(f"what= is the word after lra {verb}: {actions[0]}", kind="no_effect", key="what")
        others, settings = _split(typed)
        read_flags(others, verb)
        refuse_all_of_sweep(settings)
        settings = check_overrides(verb, settings, sweep=bool(flags))
        check_mixer(settings)
        try:
            run_command(verb, [*flags, *others], settings, run)
        except Exception:
            end_sweep(settings)
            raise
        end_sweep(settings)
    except (Exception, _FailedError) as error:
        raise_if_stopped()  # an error that a signal has caused, such as a child that ended, is not reported as one
        if os.environ.get("LRA_DEBUG"):
            raise
        cause = error.args[0] if isinstance(error, _FailedError) else error
        return _fail(explain(cause), code=LOCKED if isinstance(cause, RunLockedError) else 2)
    return 0


def _split(arguments: Overrides) -> tuple[list[str], Overrides]:
    """Split arguments into Hydra's flags with their values, and settings: Hydra accepts settings only side by side.

    The argument after a flag may be its value, as in `--cfg job`. Without a flag, every one is taken for a setting.
    """
    if not any(argument.startswith("-") for argument in arguments):
        return [], arguments
    settings = Overrides(
        each for each in arguments if each.startswith("~") or (each.has_value and not each.startswith("-"))
    )
    return [each for each in arguments if each not in settings], settings


def _as_meant(argument: str) -> str:
    """Replace `~` in `source=~/x`, which bash alone does, by the home folder, and `None` (W&B's agents) by `null`."""
    if not re.search("[\"'{]", argument):  # a text in quotes is what it is
        argument = re.sub(r"(?<=[=,\[])None(?=[,\]]|$)", "null", argument)
    return re.sub(r"^([\w.+]+=)~(?=/|$)", lambda match: match[1] + os.path.expanduser("~"), argument)


class _FailedError(BaseException):
    """Carries an error of a command past Hydra, which would otherwise print it in its own words."""


def _fail(line: str, code: int = 2) -> int:
    from rich.console import Console
    from rich.text import Text

    one_line = "".join(letter if letter.isprintable() else " " for letter in without_credentials(line))
    console = Console(stderr=True, soft_wrap=True, highlight=False)
    console.print(Text.assemble(("lra:", "bold red"), " ", one_line))
    return code


def _print_help(text: str) -> None:
    """Print a help text, on a terminal with no line that is longer than its width."""
    print(wrap_help(text, get_terminal_size().columns) if sys.stdout.isatty() else text)


def wrap_help(text: str, width: int) -> str:
    """Break the lines of a help text that has lines longer than `width`."""
    if all(len(line) <= width for line in text.splitlines()):
        return text
    return "\n".join(line for block in _blocks(text) for line in _fitted(block, width))


def _blocks(text: str) -> Iterator[str]:
    """Yield paragraphs of prose, each as one line, and each other line by itself."""
    for is_prose, lines in groupby(text.splitlines(), key=_is_prose):
        if is_prose:
            yield " ".join(lines)
        else:
            yield from lines


def _is_prose(line: str) -> bool:
    return line != "" and not line.startswith((" ", "lra ", "- ")) and not EXAMPLE.fullmatch(line)


def _fitted(line: str, width: int) -> list[str]:
    example = EXAMPLE.fullmatch(line) if len(line) > width else None
    if example is None:
        indent = line[: len(line) - len(line.lstrip())]
        below = indent + ("  " if indent or line.startswith(("lra ", "- ")) else "")
        return _wrapped(line, width, below) or [""]
    column = example.start("said")
    if width - column >= LEAST_WIDTH:
        first, *others = _wrapped(example["said"], width - column, "")
        return [line[:column] + first, *(" " * column + other for other in others)]
    return [*_wrapped(example["typed"], width, INDENT), *_wrapped(INDENT + example["said"], width, INDENT)]


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
