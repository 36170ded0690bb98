"""Standard output and error as a run needs them: neither a closed pipe nor a letter that a terminal lacks ends it."""

from __future__ import annotations

import errno
import io
import os
import stat
import sys
from typing import Any, TextIO


class _PipeProof(io.FileIO):
    """A descriptor of which nothing is heard once its reader has gone, as with `| head -1` or a closed terminal."""

    def write(self, data: Any, /) -> int:
        """Write; to nowhere, and so for all who share the descriptor, from the time on when nobody reads."""
        try:
            return super().write(data)
        except OSError as error:
            terminal = error.errno == errno.EIO and stat.S_ISCHR(os.fstat(self.fileno()).st_mode)
            if not terminal and not isinstance(error, BrokenPipeError):
                raise
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.fileno())
            os.close(nowhere)
            return len(data)


def guard_streams() -> None:
    """Put such streams in place of this process's own; those that a caller has put there stay."""
    if sys.stdout is sys.__stdout__:
        sys.stdout = _guarded(sys.stdout, errors="replace")
    if sys.stderr is sys.__stderr__:
        sys.stderr = _guarded(sys.stderr, errors="backslashreplace")


def _guarded(stream: TextIO | None, *, errors: str) -> TextIO:
    if stream is None:  # closed by the caller: `>&-`
        return open(os.devnull, "w", encoding="utf-8")
    stream.flush()
    return io.TextIOWrapper(
        io.BufferedWriter(_PipeProof(stream.fileno(), "w", closefd=False)),
        encoding=stream.encoding,
        errors=errors,
        line_buffering=True,
    )
