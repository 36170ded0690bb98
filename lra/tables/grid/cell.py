"""Build the cells of a sweep: all combinations of the values in `conf/sweep/NAME.yaml` and in the user's overrides.

Where an option has an interval in place of values, each combination is tried at points that are drawn from it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from lra.base.overrides import Overrides
from lra.base.paths import conf_groups
from lra.base.printed_commands import shell_word
from lra.run import Run
from lra.runs.schema import Record
from lra.settings.compose import load_config
from lra.settings.override_values import has_tagged_range, is_interval, tags_of_choices, yaml_value
from lra.settings.run_config import ATTENTION, RunConfig
from lra.settings.several_values import METHODS, combined, mixers_beside_attentions, options_in, varied_and_fixed
from lra.settings.which_run import config_hash
from lra.tables.grid.space import DRAWN, Space
from lra.types import UserError

BUDGET = 20  # trials of each method, unless `budget=` says otherwise
BELOW_LENGTH = "below_length"  # tag of choices without cells where they are not below the task's sequence length


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One run of a sweep: its overrides for `lra train`.

    `trial` is its number in a search, `point` those of its overrides that are drawn. `set_apart` is what tells it from
    a cell that it stands beside.
    """

    overrides: Overrides
    trial: int | None = None
    point: Overrides = field(default_factory=Overrides)
    set_apart: str = ""

    @cached_property
    def cfg(self) -> RunConfig:
        """The cell's configuration, composed when it is first needed."""
        return load_config("train", self.overrides)

    @cached_property
    def run(self) -> Run:
        """The cell's run."""
        return Run.of(self.cfg)

    @cached_property
    def key(self) -> tuple[str, int]:
        """What tells the run from others, see `key_of_run`."""
        return config_hash(self.cfg), self.cfg.seed

    @property
    def is_on_gpu(self) -> bool:
        """Whether the run computes on a GPU."""
        return bool(self.cfg.trainer.accelerator == "gpu")

    def choice(self, key: str) -> str:
        """Return the task's name (`task`), the method's name (`attention`) or the `seed`.

        The configuration is composed only if no override names it, because composing is slow.
        """
        groups = METHODS if key == "attention" else (key,)
        values = [each.text for each in self.overrides if each.key.removesuffix(".name") in groups]
        # `attention=all` gives cells with `mixer=attention` beside the attention's name.
        values = [value for value in values if value != ATTENTION] or values
        plain = len(values) == 1 and (values[0].isidentifier() or values[0].isdigit())
        if plain and values[0] != ATTENTION:
            return values[0]
        if key == "attention":
            return self.cfg.method_name
        return str(self.cfg.seed if key == "seed" else self.cfg.task.name)

    @property
    def name(self) -> str:
        """Short name for messages, such as `listops nystrom seed 0`, with the options that the sweep varies."""
        return f"{self.cfg.task.name} {self.cfg.method_name}{self.varied_settings} {self.which}"

    @property
    def which(self) -> str:
        """What tells the cell from the others of its kind: its seed, or the number of its trial."""
        return f"{self.counted} {self.number}"

    @property
    def counted(self) -> str:
        """What the number counts."""
        return "seed" if self.trial is None else "trial"

    @property
    def number(self) -> str:
        """The seed, or the number of the trial."""
        return self.choice("seed") if self.trial is None else str(self.trial)

    @property
    def without_point(self) -> Overrides:
        """The overrides that are not drawn."""
        return Overrides(each for each in self.overrides if each not in self.point)

    @property
    def kind(self) -> object:
        """What cells share that need as much time and memory: they differ by the seed, or by the point of a search."""
        return self.run.folder.parent if self.trial is None else self.without_point

    @property
    def method(self) -> str:
        """The method's name with the options that the sweep varies, such as `nystrom num_landmarks=16`."""
        return f"{self.choice('attention')}{self.varied_settings}"

    @property
    def varied_settings(self) -> str:
        """The options that the sweep varies, such as ` num_landmarks=16`."""
        return f"{options_in(self.without_point)} {self.set_apart}".rstrip()

    def typed_as(self, record: Record) -> bool:
        """Whether a record's settings have the values that the overrides give them; others are not compared."""
        missing = object()
        for each in self.overrides:
            recorded: Any = record.settings
            recorded_key = each.key.replace(f"task.sizes.{record.size}.", "task.data.")
            for part in recorded_key.split("."):
                recorded = recorded.get(part, missing) if isinstance(recorded, dict) else missing
            if recorded is missing or isinstance(recorded, dict):
                continue
            if recorded != yaml_value(each.text):
                return False
        return True

    @property
    def ended(self) -> bool:
        """Whether nothing is left to do: the run has a record, or it is a trial that failed, which counts as tried."""
        return self.run.finished or (self.trial is not None and self.run.failure is not None)


def key_of_run(record: Record) -> tuple[str, int]:
    """What tells the run of a record from others: the hash of its settings, and its seed."""
    return record.config_hash, record.seed


def make_cells(sweep: str, overrides: Sequence[str]) -> list[Cell]:
    """Build the cells of `conf/sweep/SWEEP.yaml`; the user's overrides replace the file's values.

    An override with several values multiplies the cells, as in `lra train -m`; one with a single value holds for every
    cell. The first key of the file changes slowest. A file that starts with `seed` thus runs one seed of everything
    first. Mixers (`mixer=s4d,gated`) are added to the attentions that the user typed, or replace those of the file.

    Of a search, whose options have intervals, there are `budget=` trials of each cell, trial 0 of everything first.
    """
    params, fixed = varied_and_fixed(sweep, overrides)
    budget = int(params.pop("budget", BUDGET))
    params = mixers_beside_attentions(params, overrides)
    space = _space(params)
    varied = {key: values for key, values in params.items() if key not in space.options}
    bounded = [key for key, values in params.items() if values.startswith(f"tag({BELOW_LENGTH},")]
    every = [
        cell
        for cell in (Cell(overrides=combination) for combination in combined(varied, fixed))
        if all(cell.cfg.value(key) < cell.cfg.task.spec["seq_len"] for key in bounded)
    ]
    return trials(every, space, budget) if space.options else every


def is_drawn(override: str) -> bool:
    """Tell whether values of an option are drawn: `interval(…)`, or choices with a tag, `tag(drawn, choice(…))`."""
    return is_interval(override) or bool(tags_of_choices(override) - {BELOW_LENGTH})


def without_drawn(overrides: Iterable[str]) -> Overrides:
    """Leave out overrides that are drawn from."""
    return Overrides(each for each in overrides if not is_drawn(each))


def space_of(sweep: str, overrides: Sequence[str]) -> Space:
    """Collect what is drawn among the options that a sweep varies, with its seed; most sweeps draw nothing."""
    return _space(varied_and_fixed(sweep, overrides)[0])


def _space(params: Mapping[str, str]) -> Space:
    drawn = {key: values for key, values in params.items() if is_drawn(f"{key}={values}")}
    for key, text in params.items():
        if has_tagged_range(f"{key}={text}"):
            right = f"{key}=tag({DRAWN}, choice(2, 4, 8))"
            line = f"{key}={text} is a range, of which nothing is drawn; type for example {shell_word(right)}"
            raise UserError(line, kind="wrong_value", key=key, value=text, right=right)
    names = conf_groups() if drawn else ()
    for key in (key for key in drawn if key.lstrip("+") in names):
        line = f"{key}={drawn[key]}: names of a config group are not drawn; type them as in {key}=full,nystrom"
        raise UserError(line, kind="wrong_value", key=key, value=drawn[key])
    seed = params.get("seed", "0")
    if drawn and not seed.isdecimal():
        line = f"seed={seed}: the trials of a search have one seed; type for example seed=1000 in its file"
        raise UserError(line, kind="several_values", key="seed", value=seed)
    return Space(drawn, int(seed) if drawn else 0)


def trials(cells: Sequence[Cell], space: Space, budget: int) -> list[Cell]:
    """Make `budget` trials of each cell, at the same points.

    Raises:
        UserError: where the dev split is the test split, because the search would choose on the test split.
    """
    made = []
    for cell in cells:
        if cell.cfg.task.dev_split == "test":
            right = "protocol.text_dev=held_out"
            line = f"with protocol={cell.cfg.protocol.name} the dev split of {cell.cfg.task.name} is its test split, on"
            line += f" which a search must not choose; type {right}"
            raise UserError(line, kind="wrong_value", key="protocol.text_dev", right=right)
    for number, point in enumerate(space.points(budget)):
        for cell in cells:
            drawn = space.overrides(point, cell.cfg)
            made.append(Cell(overrides=Overrides([*cell.overrides, *drawn]), trial=number, point=drawn))
    return made
