"""Blocks on the configuration: recipes, switches, attentions and mixers, their deviations from papers."""

from collections.abc import Callable

from docs.blocks.markdown import table
from docs.blocks.published import printed
from lra.runs.published_numbers import TASKS
from lra.settings.compose import load_config
from lra.verbs.show_choices import choices, differences


def recipes() -> str:
    """The recipe of each task of the paper's table."""
    rows = []
    for task in TASKS:
        cfg = load_config("train", [f"task={task}"])
        recipe = cfg.recipe
        rows.append(
            (
                f"`{task}`",
                f"{cfg.task.data.seq_len:,}",
                f"{recipe.steps:,}",
                str(recipe.batch_size),
                f"{recipe.optimizer.lr:.0e}".replace("e-0", "e-"),
                f"{round(recipe.warmup_fraction * recipe.steps):,} steps",
                f"{recipe.eval_every} steps",
            )
        )
    columns = ("task", "length", "steps", "batch", "largest learning rate", "warm-up", "a dev pass every")
    return table(columns, rows)


def protocols() -> str:
    """What the switches of a protocol are, and what no protocol has."""
    return printed("show protocol").strip()


def described(group: str) -> Callable[[], str]:
    """A block with what each attention, or each mixer, is."""
    return lambda: table((group, "what it is"), [(f"`{name}`", file["about"]) for name, file in choices(group).items()])


def deviations() -> str:
    """How attentions and mixers differ from their papers."""
    return "\n".join(f"- `{choice}`: {text}" for choice, text in differences().items())
