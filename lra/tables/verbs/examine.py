"""lra examine: put an attention of your own through everything that a laptop can do, and write one page.

  lra examine attention=mine                  contract, cost, probes, short tasks, diagnosis: 1 to 2 hours on two cores
  lra examine plan attention=mine             the commands, with the hours of the trainings
  lra examine attention=nystrom,mine workers=2
  lra examine mixer=mine task=listops seed=0  one short task, one seed
  lra examine attention=mine n=256,1024 probes=recall,lag

It types other commands of lra, and prints each: lra check, lra bench attention, lra table run sweep=probes, lra compare
run for each task (task=listops,image), and lra diagnose of a run on the first task. Exact attention (attention=full) is
beside yours. After Ctrl-C or a kill the same command goes on. The page is examine.md in the folder of the run group,
examine-mine; the probes have a group of their own, examine-mine-probes. What else is typed goes to all trainings: an
option of your attention, which exact attention does not take, belongs into its YAML file.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.text import Text

from lra.base.files import checked_name, replace_text
from lra.base.overrides import Overrides
from lra.base.paths import runs_dir
from lra.base.printed_commands import command, typed_config_dirs
from lra.base.processes import ERROR, Child, echo_line, python_module, stop
from lra.base.signals import Stopped
from lra.base.text import visible
from lra.runs.files import BEST
from lra.settings.check_overrides import check_overrides
from lra.settings.override_values import one_by_one
from lra.settings.several_values import refuse_action_behind
from lra.tables.attention_sweep import EXACT
from lra.terminal.console import make_console
from lra.types import UserError

SUBCOMMANDS = ("plan", "run")
PAGE = "examine.md"
METHODS = ("attention", "mixer")
DEFAULTS = {"task": "listops,image", "seed": "0,1,2", "size": "short", "n": "256,1024,4096", "probes": "all"}
OWN = (*DEFAULTS, *METHODS, "workers", "budget", "run_group")  # what else is typed goes to all trainings
Words = tuple[str, ...]


@dataclass(frozen=True)
class Step:
    """A section of the page.

    Attributes:
        title: its heading: the question that it answers.
        shown: the command whose output stands on the page.
        work: the command that trains or measures first; empty: there is none.
        planned: the command that estimates the time of `work`; empty: it takes minutes at most.
    """

    title: str
    shown: Words
    work: Words = ()
    planned: Words = ()


@dataclass(frozen=True)
class Examined:
    """The page of an attention that was examined."""

    page: Path

    def show(self, console: Console) -> None:
        """Name the page."""
        console.print(f"\nthe page   {visible(str(self.page))}")


def main(arguments: Sequence[str]) -> Examined | None:
    """Run the steps, or plan them: then there is no page."""
    has_action = list(arguments[:1]) in (["plan"], ["run"])
    refuse_action_behind("examine", arguments[has_action:], SUBCOMMANDS)
    typed = Overrides(arguments[has_action:])
    values = {**DEFAULTS, **{each.key: each.text for each in typed}}
    methods = typed.only(*METHODS)
    if not methods:
        right = "lra examine attention=NAME"
        line = f"examine what? Type {right}, or mixer=NAME"
        raise UserError(line, kind="missing_value", key="attention", right=right)
    others = typed.without(*OWN)
    trained = [f"{key}={values[key]}" for key in ("task", "seed", "size")]
    check_overrides("train", [*_with_exact(methods), *others, *trained], sweep=True)
    names = [each.text for text in methods for each in one_by_one(text)]
    group = checked_name(values.get("run_group", f"examine-{'-'.join(names)}"), "run_group=", example="run_group=mine")
    values["run_group"] = group
    steps, folder, console = make_steps(methods, others, values), runs_dir() / group, make_console()
    if list(arguments[:1]) == ["plan"]:
        plan(steps, console)
        return None
    task, seed = (one_by_one(f"{key}={values[key]}")[0].text for key in ("task", "seed"))
    attentions = [each.text for each in one_by_one(_with_exact(methods)[0]) if each.text != EXACT]
    run_all(steps, [(folder / task / name, f"seed{seed}") for name in attentions], folder / PAGE, console)
    return Examined(folder / PAGE)


def make_steps(methods: Overrides, others: Overrides, values: Mapping[str, str]) -> list[Step]:
    """List the steps but the diagnosis, which needs a trained run.

    Args:
        methods: `attention=` and `mixer=`, as typed.
        others: what goes to all trainings, such as options of an attention.
        values: the values of the verb's own options, by key.
    """
    of_method = others.of_groups(*METHODS, "protocol")
    beside = [*_with_exact(methods), *others, *_overrides(values, "seed", "workers")]
    group = f"run_group={values['run_group']}"
    each = [one for text in methods for one in one_by_one(text)]
    steps = [Step(f"Does {method} keep the contract?", ("check", method, *of_method)) for method in each]
    bench = ("bench", "attention", *_with_exact(methods), *of_method, f"n={values['n']}")
    steps.append(Step("What does it cost?", (*bench, "format=markdown"), work=bench))
    size = _overrides(values, "size") if values["size"] != DEFAULTS["size"] else []  # of probes: full unless typed
    probes = [] if values["probes"] == DEFAULTS["probes"] else [f"task={values['probes']}"]
    words = ["sweep=probes", *probes, *size, f"{group}-probes", *beside, *_overrides(values, "budget")]
    steps.append(_trained("What can it do?", "table", words))
    for task in one_by_one(f"task={values['task']}"):
        words = [task, *_overrides(values, "size"), group, *beside]
        steps.append(_trained(f"How does it do on {task.text}?", "compare", words))
    return steps


def _overrides(values: Mapping[str, str], *keys: str) -> list[str]:
    return [f"{key}={values[key]}" for key in keys if key in values]


def _with_exact(methods: Overrides) -> list[str]:
    """Put exact attention first, as the baseline of comparisons."""
    attentions = [each.text for text in methods.only("attention") for each in one_by_one(text)]
    names = [EXACT, *(name for name in attentions if name != EXACT)]
    return [f"attention={','.join(names)}", *methods.without("attention")]


def _trained(title: str, verb: str, words: Sequence[str]) -> Step:
    shown = Overrides(words).without("workers", "budget")
    return Step(title, (verb, "show", *shown, "format=markdown"), (verb, "run", *words), (verb, "plan", *words))


def plan(steps: Sequence[Step], console: Console) -> None:
    """Print the command of each step, with the hours of its trainings."""
    for step in steps:
        print_head(step, console)
        if step.planned:
            type_command(step.planned)


def run_all(steps: Sequence[Step], diagnosed: Sequence[tuple[Path, str]], page: Path, console: Console) -> None:
    """Run the steps, then the diagnosis of a run in each folder of a method, and write the page anew after each.

    Raises:
        UserError: when a step fails; a diagnosis that fails, as of an attention without a matrix, is said on the page.
    """
    sections = [f"# {page.parent.name}"]
    for step in steps:
        print_head(step, console)
        if step.work:
            type_command(step.work)
        said = type_command(step.shown, kept=True)
        if not step.work:
            console.print("\n".join(said), markup=False, highlight=False)
        sections.append(_section(step, said if step.work else ["```", *said, "```"]))
        _write(page, sections)
    for folder, seed in diagnosed:
        runs = sorted(folder.glob(f"*/{seed}/{BEST}"), key=lambda path: path.stat().st_mtime)
        if not runs:  # the comparison has no run of it, as where its record alone was brought here
            continue
        run = runs[-1].parent
        step = Step("How far is it from exact attention?", ("diagnose", f"run={run}"))
        print_head(step, console)
        try:
            said = type_command(step.shown, kept=True)
        except UserError as error:
            said = [f"Not measured: {error}"]
        console.print("\n".join(said), markup=False, highlight=False)
        sections.append(_section(step, ["```", *said, "```"]))
        _write(page, sections)


def _write(page: Path, sections: Sequence[str]) -> None:
    page.parent.mkdir(parents=True, exist_ok=True)
    replace_text(page, "\n\n".join(sections) + "\n")


def _section(step: Step, said: Sequence[str]) -> str:
    return "\n".join([f"## {step.title}", "", "```", command(*step.shown), "```", "", *said])


def print_head(step: Step, console: Console) -> None:
    """Print the question of a step, and its command."""
    console.print(Text.assemble("\n", (step.title, "bold"), "\n", command(*(step.work or step.shown))), soft_wrap=True)


def type_command(words: Words, *, kept: bool = False) -> list[str]:
    """Run a command of lra in a process of its own; return the lines that it printed where they are `kept`.

    Raises:
        UserError: when it fails, with its line.
    """
    arguments = python_module("lra", *words, *typed_config_dirs())
    with Child(arguments, echo=False, keep_output=kept, hear_error=None if kept else _echo_but_errors) as child:
        try:
            if child.wait():
                raise UserError(f"{command(*words)}: {child.error()}", kind="step_failed", key=words[0])
        except Stopped as stopped:
            stop([child])
            stopped.kept = child.error().partition("; ")[2]  # what the command has kept, in its own words
            raise
        return child.output


def _echo_but_errors(line: str) -> None:
    """Show a line of the command's stderr, but not how it ended, which is said once, by this process."""
    if not line.startswith(ERROR):
        echo_line(line)
