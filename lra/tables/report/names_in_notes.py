"""Display names in sentences that were written with the names of rows and tasks as they are typed."""

import re
from collections.abc import Callable, Iterable

from lra.base.paths import conf_names
from lra.terminal.display_names import TASK, display_name

# A name is replaced where it is one of a list, or stands behind one of these words: `full` and `none` are words too.
BEFORE = ("(", ", ", "; ", ": ", " from ", "best ", "worst ", "all of ", "Range of ", " and ")
AFTER = r"(?=$|[),;:]|\.$| on | has | is | [+\-−–]?\d| \[| all | –)"


def with_display_names(rows: Iterable[str]) -> Callable[[str], str]:
    """Make a function that replaces, in a note, the names of some rows and those of tasks by their display names."""
    tasks = conf_names("task")
    display = {name: display_name(name, of=TASK) for name in tasks} | {name: display_name(name) for name in rows}
    longest_first = sorted((name for name, shown in display.items() if shown != name), key=len, reverse=True)
    if not longest_first:
        return lambda note: note
    before = "|".join(f"(?<={re.escape(word)})" for word in (*BEFORE, " on "))
    names = "|".join(map(re.escape, longest_first))
    pattern = re.compile(rf"(?:^(?=\S+ on )|{before})(?P<name>{names}){AFTER}")
    return lambda note: pattern.sub(lambda found: display[found["name"]], note)
