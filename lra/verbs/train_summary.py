"""Print the result of a finished run: its accuracy beside the paper's."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.bar import Bar
from rich.console import Console
from rich.table import Table
from rich.text import Text

from lra.base.overrides import Overrides
from lra.base.printed_commands import command, is_typed, override, typed_config_dirs, typed_overrides
from lra.base.text import duration_text, visible, visible_lines
from lra.from_config import build_codec, build_data, build_trained_model
from lra.run import Run
from lra.runs.files import CURVE, METRICS, RESULT
from lra.runs.published_numbers import (
    TOLERANCE_POINTS,
    deviations_from_paper,
    paper_accuracy,
    published_accuracy_for,
    shorten,
)
from lra.runs.reference_curves import place_of, published_curves
from lra.runs.schema import MIXERS, Record, method_column
from lra.settings.compose import load_config
from lra.settings.pretrain import SOURCE
from lra.settings.run_config import RunConfig
from lra.terminal.fit_table import print_text_table
from lra.terminal.text_table import TextTable, with_verdict
from lra.training.curves import read_curves

OF_METHOD = ("attention.", "mixer.", "model.", "pretrain.", "protocol.")  # groups whose options are the method's own
DEV_ACCURACY = "dev/accuracy"
COMPARED = ("nystrom", "full", "linformer")
COMPARED_RUNS = 3 * len(COMPARED)  # with three seeds each
CURVE_LINES, CURVE_WIDTH, LEAST_PASSES = 10, 30, 3


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """A test example in readable form, its class, and a model's guess."""

    label: int
    guess: int
    lines: list[str]

    @property
    def is_right(self) -> bool:
        """Whether the guess is the class."""
        return self.guess == self.label


@dataclass(frozen=True, kw_only=True)
class Trained:
    """A finished run.

    Attributes:
        run: the run.
        record: its record.
        runs: the folder of runs, below which the published ones are.
        predictions: test examples, each with its class and the best checkpoint's guess.
    """

    run: Run
    record: Record
    runs: Path
    predictions: list[Prediction]

    @property
    def objective(self) -> float:
        """The best dev accuracy, a fraction in [0, 1]."""
        return self.record.best_dev_accuracy

    def show(self, console: Console) -> None:
        """Print the summary, then the predictions."""
        print_summary(console, self.run, self.record, self.runs)
        print_predictions(console, self.predictions)


def print_summary(console: Console, run: Run, record: Record, runs: Path) -> None:
    """Print the table of a run, its curve and files, its verdict, and its place among published runs below `runs`."""
    identity, outcome, cost = record.identity, record.outcome, record.cost
    paper = published_accuracy_for(record, "paper")
    measured, majority = 100 * outcome["test_accuracy"], 100 * outcome["majority_rate"]
    title = f"{identity['task']}, protocol {identity['protocol']}, size {identity['size']}"
    cells = {
        method_column([record]): identity["attention"],
        "steps": record.steps_text,
        "test accuracy": f"{measured:.2f} %",
        "paper": "–" if paper is None else f"{paper:.2f} %",
        "majority class": f"{majority:.2f} %",
        "training": f"{cost['train_seconds']:,.0f} s",
    }
    table = TextTable(title=title, columns=tuple(cells), rows=[list(cells.values())], optional=("paper", "training"))
    print_text_table(console, table)
    print_curve(console, run)
    published = published_curves(runs, record.config_hash)
    lines = [*visible_lines(verdict(record)).splitlines(), place_of(record, published)]
    console.print(*[with_verdict(Text(line)) for line in lines if line], sep="\n")
    named = override("run", record.config_hash), override("seed", identity["seed"])
    again = command("evaluate", *named, *_typed_folders())
    rows = (("learning curve", run.folder / CURVE), ("record", run.folder / RESULT), ("re-evaluate", again))
    console.print(*[f"{what:<16}{visible(str(text))}" for what, text in rows], sep="\n")


def print_curve(console: Console, run: Run) -> None:
    """Draw the accuracy of each dev pass of the run as a bar, narrow enough for any terminal."""
    passes = [(int(row["step"]), row[DEV_ACCURACY]) for row in read_curves(run.folder / METRICS) if DEV_ACCURACY in row]
    shown = [passes[round(position)] for position in np.linspace(0, len(passes) - 1, min(CURVE_LINES, len(passes)))]
    if len(shown) < LEAST_PASSES:
        return
    highest = max(accuracy for _, accuracy in shown)
    grid = Table.grid(padding=(0, 1))
    for step, accuracy in shown:
        bar = Bar(highest or 1, 0, accuracy, width=CURVE_WIDTH)
        grid.add_row(Text(f"dev at step {step:,}", justify="right"), bar, f"{accuracy:.1%}")
    console.print(grid)


def verdict(record: Record) -> str:
    """Compare a run with the majority class, and with the paper if its settings allow it, in a few sentences."""
    identity, outcome = record.identity, record.outcome
    measured, majority, tested = outcome["test_accuracy"], outcome["majority_rate"], outcome["test_examples"]
    lines = [_against_majority(measured, majority, tested)]
    if (first := record.pretraining) is not None:
        lines.append(
            f"Its encoder was pretrained before, {first['steps']:,} steps in {duration_text(first['train_seconds'])}:"
            f" accuracy {first['dev_accuracy']:.1%} at masked positions of dev."
        )
    for length, accuracy in record.longer.items():
        shown = "its weights are for one length" if accuracy is None else f"{100 * accuracy:.2f} %"
        lines.append(f"On sequences of {int(length):,} tokens: {shown}.")
    if record.settings["task"].get("dev_split") == "test":
        as_paper = ", as the paper's (protocol.text_dev=held_out: on train)" if identity["task"] == "text" else ""
        lines.append(f"The checkpoint was selected on the test split{as_paper}.")
    if identity["size"] != "full":
        lines.append(f"This is size={identity['size']}, NOT the benchmark: other data, and {record.steps_text} steps.")
        lines.append(_next_command(record))
        return "\n".join(lines)
    task = identity["task"]
    paper, tolerance = paper_accuracy(identity["attention"], task), TOLERANCE_POINTS.get(task)
    deviations = deviations_from_paper(record)
    if record.data_origin == "stand-in":
        lines.append(f"Placeholder data, not those of {task}: no result of that task.")
    elif paper is not None and deviations:
        lines.append(f"Not the paper's settings, so not comparable with its accuracy: {shorten(deviations, most=10)}.")
    elif paper is not None and tolerance is not None:
        difference = 100 * measured - paper
        where = "within" if abs(difference) <= tolerance else "outside"
        lines.append(f"Against the paper {difference:+.2f} points, {where} the ±{tolerance:g}-point tolerance.")
    return "\n".join(lines)


def _against_majority(accuracy: float, majority: float, examples: int) -> str:
    """Compare an accuracy with that of the majority class in a sentence; it is exact about a tie."""
    right = round((accuracy - majority) * examples)  # more test examples than the majority class has
    named = f"the majority-class baseline ({100 * majority:.2f} %)"
    if not right:
        return f"It is as accurate as {named}."
    points = f"{100 * abs(right) / examples:.{1 if abs(right) / examples >= 0.0005 else 3}f} points"
    return f"It is {points} {'below' if right < 0 else 'above'} {named}."


def _next_command(record: Record) -> str:
    """Word the command that comes after a run that is not the benchmark; it keeps what was typed of the method."""
    identity, settings = record.identity, record.settings
    task = [override("task", identity["task"])]
    protocol = [] if identity["protocol"] == "paper" else [override("protocol", identity["protocol"])]
    if identity["size"] != "short":
        name = identity["attention"]
        group = next((group for group in MIXERS if settings.get(group, {}).get("name") == name), "model")
        method = [override(group, name)]
        if "pretrain" in settings:
            method.append(override("pretrain", settings["pretrain"]["name"]))
        return f"The full run: {command('train', *task, *method, *protocol, *_typed_options(), *_typed_folders())}"
    minutes = COMPARED_RUNS * record.train_seconds / 60
    compared = [*protocol, "size=short", f"attention={','.join(COMPARED)}"]
    return (
        f"Next, {COMPARED_RUNS} such runs side by side, about {max(minutes, 1):.0f} minutes:"
        f" {command('compare run', *task, *compared, *_typed_folders())}"
    )


def _typed_folders() -> list[str]:
    """List what was typed of the places of configuration, data and runs."""
    return [*typed_overrides("paths.data", "paths.runs"), *typed_config_dirs()]


def _typed_options() -> Overrides:
    """List what was typed of the method's own options; of a sweep nothing, because it may name several values."""
    typed = Overrides() if is_typed("-m", "--multirun") else typed_overrides(*OF_METHOD)
    return typed.without(SOURCE)  # a pretraining is of one size


def predict_examples(cfg: RunConfig, run: Run, count: int) -> list[Prediction]:
    """Let the best checkpoint guess the classes of the `count` shortest examples of the first test batch.

    The whole batch is computed together, as in the test, because some attentions share a constant over a batch.
    """
    if not count:
        return []
    import torch

    data, model = build_data(cfg), build_trained_model(cfg, run.folder)
    codec = build_codec(load_config("train", [f"task='{cfg.task.name}'"]))  # a stored configuration has no codec
    batch = next(iter(data.test_dataloader()))
    with torch.inference_mode(), torch.compiler.set_stance("force_eager"):
        guesses = model.eval()(batch.tokens, batch.valid).argmax(1).tolist()
    examples = [(*data.splits["test"].example(number), guess) for number, guess in enumerate(guesses)]
    examples.sort(key=lambda example: sum(map(len, example[0])))
    return [
        Prediction(label=label, guess=guess, lines=codec.draw(stored, data.source_facts))
        for stored, label, guess in examples[:count]
    ]


def print_predictions(console: Console, predictions: list[Prediction]) -> None:
    """Print examples, each with its class and the guess."""
    for example in predictions:
        right = ("right", "green") if example.is_right else ("wrong", "red")
        shown = f": class {example.label}, guessed {example.guess}, "
        console.print(Text.assemble(("a test example", "bold"), shown, right))
        for line in example.lines:
            console.print(f"  {line}")
