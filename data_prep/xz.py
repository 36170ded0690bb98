"""Unpack xz and lzma as a stream, with a limit on the memory that a file can ask for; Python's own reader has none."""

import lzma
from pathlib import Path
from typing import IO

from lra.types import UserError

MOST_MEMORY_BYTES = 1 << 27  # xz -9 needs 65 MB
READ_BYTES = 1 << 16
PADDING = b"\0"  # between and after streams


class XzReader:
    """Reads the unpacked bytes of one or several streams of xz, or of lzma's older form.

    Attributes:
        raw: the open file.
        path: its path, for errors.
    """

    def __init__(self, raw: IO[bytes], path: Path):
        self.raw, self.path = raw, path
        self._stream = self._new_stream()
        self._waiting = b""  # packed bytes that no stream has taken yet

    @staticmethod
    def _new_stream() -> lzma.LZMADecompressor:
        return lzma.LZMADecompressor(memlimit=MOST_MEMORY_BYTES)

    def read(self, size: int) -> bytes:
        """Read up to `size` unpacked bytes, none at the end.

        Raises:
            EOFError: when the file ends within a stream.
            lzma.LZMAError: for a damaged file.
            UserError: for one that needs more memory than the limit.
        """
        while True:
            if self._stream.eof:
                self._waiting = (self._stream.unused_data or self._waiting).lstrip(PADDING)
                while not self._waiting and (content := self.raw.read(READ_BYTES)):
                    self._waiting = content.lstrip(PADDING)
                if not self._waiting:
                    return b""
                self._stream = self._new_stream()
            if self._stream.needs_input and not self._waiting:
                self._waiting = self.raw.read(READ_BYTES)
                if not self._waiting:
                    raise EOFError("it ends within a stream of xz")
            try:
                unpacked = self._stream.decompress(self._waiting, size)
            except lzma.LZMAError as error:
                if "emory usage limit" not in str(error):
                    raise
                line = (
                    f"{self.path} needs more than {MOST_MEMORY_BYTES >> 20} MiB of memory to be unpacked; unpack it"
                    " with xz, and name the folder or the tar"
                )
                raise UserError(line, kind="unpacking_memory", key=str(self.path)) from error
            self._waiting = b""
            if unpacked:
                return unpacked
