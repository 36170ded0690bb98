"""Display names in notes that were written with the names of rows and tasks as they are typed."""

import re
from collections.abc import Callable, Iterable, Mapping

from lra.base.paths import conf_names
from lra.terminal.display_names import TASK, display_name

# A name is replaced where it is one of a list, or stands behind one of these words: `full` and `none` are words too.
BEFORE = ("(", ", ", "; ", ": ", " from ", "best ", "worst ", "all of ", "Range of ", " and ")
AFTER = r"(?=$|[),;:]|\.$| on | has | is | [+\-−–]?\d| \[| \(| all | –)"
BEFORE_TASK = (": ", "; ", ", ", " on ")
AFTER_TASK = r"(?=$|[),;:. ])"


def with_display_names(rows: Iterable[str]) -> Callable[[str], str]:
    """Make a function that replaces, in a note, the names of some rows and those of tasks by their display names."""
    tasks = {name: display_name(name, of=TASK) for name in conf_names("task")}
    rows = list(rows)
    methods = [row.partition(" (")[0] for row in rows]
    replace_tasks = _replacing(tasks, BEFORE_TASK, AFTER_TASK)
    behind_task = [f"{shown} " for shown in tasks.values()]
    replace_rows = _replacing({row: display_name(row) for row in [*rows, *methods]}, (*BEFORE, *behind_task), AFTER)
    return lambda note: replace_rows(replace_tasks(note))


def _replacing(display: Mapping[str, str], before: Iterable[str], after: str) -> Callable[[str], str]:
    """Make a function that replaces names between two texts; of several that fit the longest counts.

    A name at the beginning of a note is replaced where ` on ` follows.
    """
    longest_first = sorted((name for name, shown in display.items() if shown != name), key=len, reverse=True)
    if not longest_first:
        return lambda note: note
    behind = "|".join(f"(?<={re.escape(text)})" for text in before)
    names = "|".join(map(re.escape, longest_first))
    pattern = re.compile(rf"(?:^(?=\S+ on )|{behind})(?P<name>{names}){after}")
    return lambda note: pattern.sub(lambda found: display[found["name"]], note)
