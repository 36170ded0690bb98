"""Read a file of the user's own, of any format that is read, or a folder of images."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from data_prep.tokens.collect import TOKENS
from data_prep.tokens.read_csv import read_csv
from data_prep.tokens.read_images import read_images
from data_prep.tokens.read_npz import read_npz
from data_prep.tokens.read_parquet import read_parquet
from data_prep.tokens.table import MOST_FILE_BYTES, Table
from lra.base.files import regular_file
from lra.types import UserError

Reader = Callable[[Path, Path, Mapping[str, Any]], Table]
READERS: Mapping[str, Reader] = {".csv": read_csv, ".npz": read_npz, ".parquet": read_parquet}


def read_table(path: Path, scratch: Path, settings: Mapping[str, Any]) -> Table:
    """Read the rows of a file or, if it is a folder, of its images.

    Args:
        path: the file.
        scratch: folder for temporary files; one with all tokens is among them.
        settings: the task's `data` settings; read are `tokens`, one of TOKENS, and `columns`, see `Columns`.

    Raises:
        UserError: when there is no such file, or its content is not as the settings say.
    """
    asked = settings.get("tokens")
    if asked not in (None, *TOKENS):
        raise UserError(f"tokens={asked!s:.60} is not known; it may be {', '.join(TOKENS)}", key="tokens", value=asked)
    refuse_missing_file(path)
    if not path.is_dir() and path.suffix not in READERS:
        raise UserError(f"source={path} is no {', '.join(READERS)} file, and no folder of PNG files by class")
    if not path.is_dir() and path.stat().st_size > MOST_FILE_BYTES:
        raise UserError(f"source={path} has {path.stat().st_size:,} bytes, more than {MOST_FILE_BYTES:,}")
    read = read_images if path.is_dir() else READERS[regular_file(path).suffix]
    table = read(path, scratch, settings)
    if asked not in (None, table.tokens):
        line = f"{path} has {table.tokens}, but tokens is {asked}; leave it out, or set tokens={table.tokens}"
        raise UserError(line, key="tokens", value=asked, right=table.tokens)
    return table


def refuse_missing_file(path: Path) -> None:
    """Refuse a path where nothing is.

    Raises:
        UserError: with the path; also for a link that leads to nothing or to itself.
    """
    if not path.exists():
        what = "is a link that leads to nothing, or to itself" if path.is_symlink() else "is not there"
        line = f"source={path} {what}; type source=FILE, such as source=my.csv"
        raise UserError(line, kind="missing_file", key="source", value=str(path))
