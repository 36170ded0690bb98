"""Where output goes: guarded standard output and error, and the file that `out=` names.

A closed pipe or a character that the terminal lacks does not end a run."""

import codecs
import errno
import io
import os
import stat
import sys
import unicodedata
from pathlib import Path
from typing import Any, TextIO

from lra.types import UserError

STDERR = 2
IN_ASCII = {  # signs of tables and errors that a terminal may lack; the marks at a number must stay different
    **{
        "†": "*",
        "‡": "#",
        "§": "!",
        "¶": "^",
        "–": "-",
        "−": "-",
        "─": "-",
        "·": ".",
        "×": "x",
        "’": "'",
        "²": "2",
        "√": "sqrt",
    },
    **{"±": "+-", "…": "...", "→": "->", "≤": "<=", "≥": ">=", "Δ": "diff.", "α": "alpha", "‖": "|"},
}


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


def check_out(out: str | None, example: str, *, makes_folder: bool = False) -> None:
    """Refuse a wrong `out=` before any run starts; None: nothing was typed.

    `example` is the name of a file, for the error; `makes_folder`: the command makes the file's folder.

    Raises:
        UserError: when `out` is the name of a folder, a pipe or a device, or in a folder that is not there.
    """
    from lra.base.files import regular_file

    if out is None:
        return
    if Path(out).expanduser().is_dir():
        place = Path(out) / example
        line = f"out={out} is a folder; type a file, for example out={place}"
        raise UserError(line, kind="no_file", key="out", value=out, right=str(place))
    path = out_path(out)
    if path.exists():
        regular_file(path, f"out={out}")  # a device or a pipe would be replaced by a file
    elif not path.parent.is_dir() and not makes_folder:
        line = f"out={out}: its folder is not there; type: mkdir -p {path.parent}"
        raise UserError(line, kind="missing_folder", key="out", value=out)


def out_path(out: str) -> Path:
    """Return the file to write; where `out` is a link, the file that it leads to: the link stays."""
    return Path(out).expanduser().resolve()
