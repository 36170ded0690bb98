"""Where output goes: the console and its progress bar, guarded standard output and error, the file that `out=` names.

A closed pipe or a character that the terminal lacks does not end a run.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import stat
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from lra.base.files import regular_file
from lra.base.printed_commands import override, shell_command, shell_word
from lra.types import UserError

if TYPE_CHECKING:  # slow, and the front door needs the streams alone
    from rich.console import Console

PIPE_WIDTH = 120  # least width of output into a pipe, which has no width of its own
PIPE_SECONDS = 5.0  # between two lines of progress in a pipe
Advance = Callable[..., object]  # takes `what`, a text, and `cost`
STDERR = 2
IN_ASCII = {  # signs of tables and errors that a terminal may lack; the marks at a number must stay different
    **{"†": "*", "‡": "#", "§": "!", "¶": "^", "–": "-", "−": "-", "─": "-", "·": ".", "×": "x", "’": "'", "²": "2"},
    **{"√": "sqrt", "±": "+-", "…": "...", "→": "->", "≤": "<=", "≥": ">=", "Δ": "diff.", "α": "alpha", "‖": "|"},
}


def make_console(*, stderr: bool = False) -> Console:
    """Make a console for standard output, or for standard error.

    Colours and progress bars are for a terminal only (or with FORCE_COLOR=1).

    Markup is off, because names of folders and texts of records may contain brackets. Colours come from `style=` and
    from `rich.text.Text`.
    """
    from rich.console import Console

    console = Console(stderr=stderr, highlight=False, soft_wrap=True, markup=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


@contextmanager
def work_progress(console: Console, total: float, *, in_pipe: bool = False) -> Iterator[Advance]:
    """Yield a function that takes what is measured now and the cost of what has been measured, and advances the bar.

    `total` is the sum of all costs, in any unit; without any there is no bar. In a pipe there is none, but with
    `in_pipe` a line now and then.
    """
    if not console.is_terminal or not total:
        yield _lines_of_progress(console, total) if in_pipe and total else lambda what, cost: None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=total)

        def advance(what: str, cost: float) -> None:
            bar.update(task, advance=cost, description=what)

        yield advance


def _lines_of_progress(console: Console, total: float) -> Advance:
    """Make a function that prints a line of progress if the last one is some seconds old."""
    done, printed = 0.0, time.monotonic()

    def advance(what: str, cost: float) -> None:
        nonlocal done, printed
        done += cost
        if time.monotonic() - printed >= PIPE_SECONDS:
            printed = time.monotonic()
            console.print(f"{done / total:.0%} {what}")

    return advance


def _in_ascii(error: UnicodeError) -> tuple[str, int]:
    """Give a sign that the output lacks in ASCII: as in `IN_ASCII`, or without its accent, else spelt out."""
    assert isinstance(error, UnicodeEncodeError)
    sign = error.object[error.start]
    plain = IN_ASCII.get(sign) or unicodedata.normalize("NFKD", sign).encode("ascii", "ignore").decode()
    return plain or sign.encode("ascii", "backslashreplace").decode(), error.start + 1


codecs.register_error("lra.in_ascii", _in_ascii)


class OutputError(UserError):
    """Raised when what a command prints cannot be written."""


class _PipeProof(io.FileIO):
    """A file descriptor that raises no error after its reader has gone, as with `| head -1` or a closed terminal."""

    def write(self, data: Any, /) -> int:
        """Write; after an error redirect the descriptor to /dev/null, for child processes too.

        Raises:
            OutputError: once, when standard output cannot be written, as on a full disk; none for standard error.
        """
        try:
            return super().write(data)
        except OSError as error:
            terminal = error.errno == errno.EIO and stat.S_ISCHR(os.fstat(self.fileno()).st_mode)
            heard = self.fileno() != STDERR and not terminal and not isinstance(error, BrokenPipeError)
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            if heard:
                raise OutputError(f"the output cannot be written ({error.strerror}); send it elsewhere") from error
            return len(data)


def guard_streams() -> None:
    """Replace the process's standard output and error by guarded ones, unless a caller has replaced them already."""
    if sys.stdout is sys.__stdout__:
        sys.stdout = _guarded(sys.stdout)
    if sys.stderr is sys.__stderr__:
        sys.stderr = _guarded(sys.stderr)


def _guarded(stream: TextIO | None) -> TextIO:
    if stream is None:  # the shell has closed it: `>&-`
        return open(os.devnull, "w", encoding="utf-8")
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_PipeProof(stream.fileno(), "w", closefd=False)),
        encoding=stream.encoding,
        errors="lra.in_ascii",
        line_buffering=True,
    )


def check_out(out: str | None, example: str, *, makes_folder: bool = False, key: str = "out") -> None:
    """Refuse a wrong `out=`, or the file of another `key`, before any run starts; None: nothing was typed.

    `example` is the name of a file, for the error; `makes_folder`: the command makes the file's folder.

    Raises:
        UserError: when `out` is the name of a folder, a pipe or a device, in a folder that is not there or cannot be
            made, or cannot be written.
    """
    if out is None:
        return
    typed = override(key, out)
    if Path(out).expanduser().is_dir():
        right = override(key, Path(out) / example)
        line = f"{typed} is a folder; type a file, for example {shell_word(right)}"
        raise UserError(line, kind="no_file", key=key, value=out, right=right)
    path = out_path(out)
    if path.exists():
        regular_file(path, typed)  # a device or a pipe would be replaced by a file
    elif not path.parent.exists() and not makes_folder:
        right = shell_command("mkdir", "-p", path.parent)
        line = f"{typed}: its folder is not there; type: {right}"
        raise UserError(line, kind="missing_folder", key=key, value=out, right=right)
    check_writable(path, out, key)


def check_writable(path: Path, typed: str | None, key: str = "out", *, example: str | None = None) -> None:
    """Refuse a file or folder that cannot be written, or made, before the work whose result it is.

    Args:
        path: the file or folder, which need not exist, nor the folders that it is in.
        typed: what was typed for it; None: nothing, the place is the command's own.
        key: the option that can name another.
        example: a value of this option, for the error; None: the file's name, in the current folder.

    Raises:
        UserError: when what is there is no folder, or cannot be written.
    """
    there = next(folder for folder in path.parents if os.path.lexists(folder))
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK):
        return
    problem = "cannot be written" if there.is_dir() else "is no folder"
    right = override(key, example or path.name)
    line = f"{there} {problem}; name another place, such as {shell_word(right)}"
    if typed is not None:
        line = f"{override(key, typed)}: {line}"
    raise UserError(line, kind="not_writable", key=key, value=typed, right=right)


def out_path(out: str) -> Path:
    """Return the file to write; where `out` is a link, the file that it leads to: the link stays."""
    return Path(out).expanduser().resolve()
