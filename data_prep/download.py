"""Download a published archive, resume after an interruption, and check size and hash."""

import http.client
import os
import queue
import threading
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data_prep.archives import CHUNK_BYTES, MB, Tick
from lra.base.file_lock import file_lock
from lra.base.files import sha256
from lra.types import UserError

MISSING = "missing_data"  # kind of the error when a task's data is nowhere
ANSWER_SECONDS = 4.0  # time limit for the server's first answer


@dataclass(frozen=True, kw_only=True)
class Archive:
    """A published archive: name, address, size and hash."""

    name: str
    url: str
    size_bytes: int
    sha256: str


def download(archive: Archive, folder: Path, tick: Tick) -> Path:
    """Download an archive to `folder` unless it is there already, and return its path.

    If a part of it was downloaded there before, the download resumes. `tick` is called with the number of megabytes
    that are downloaded, and with all of them.

    Raises:
        UserError: when the server does not answer, or the file is not the published one.
    """
    path = folder / archive.name
    folder.mkdir(parents=True, exist_ok=True)
    with file_lock(folder / f".{archive.name}.lock"):
        if not path.exists():
            part = folder / f"{archive.name}.part"
            _fetch(archive, part, folder, tick)
            if part.stat().st_size != archive.size_bytes or sha256(part) != archive.sha256:
                part.unlink()
                raise UserError(
                    f"{archive.url} is not the file that was published ({archive.size_bytes:,} bytes, sha256"
                    f" {archive.sha256[:12]}…); what came is deleted, try again later"
                )
            os.replace(part, path)
    return path


def _fetch(archive: Archive, part: Path, folder: Path, tick: Tick) -> None:
    """Download the rest of the archive, and append it to `part`."""
    done = part.stat().st_size if part.exists() else 0
    if done >= archive.size_bytes:
        return
    request = urllib.request.Request(archive.url, headers={"Range": f"bytes={done}-"} if done else {})
    try:
        with _answer(request) as response:
            done = done if response.status == 206 else 0  # 206: the server sends only the part that was requested
            with part.open("ab" if done else "wb") as file:
                while chunk := response.read(CHUNK_BYTES):
                    file.write(chunk)
                    done += len(chunk)
                    tick(done // MB, archive.size_bytes // MB)
            if getattr(response, "length", None):  # bytes that were announced and did not come; `read` raises nothing
                raise ConnectionError("the connection ended early")
    except (TimeoutError, urllib.error.URLError, ConnectionError, http.client.HTTPException) as error:
        why = " ".join(str(getattr(error, "reason", error)).split())
        kept = f"; {done:,} bytes are kept, the same command goes on" if done else ""
        raise UserError(
            f"{archive.name} ({archive.size_bytes / 1e6:.0f} MB) cannot be fetched from {archive.url}"
            f" ({why}){kept}. Put it into {folder}, or name it:"
            f" source=/path/to/{archive.name}",
            kind=MISSING,
        ) from error


def _answer(request: urllib.request.Request) -> Any:
    """Get the server's response, in a thread, because looking up a host name has no time limit."""
    answers: queue.Queue[Any] = queue.Queue()

    def ask() -> None:
        try:
            answers.put(urllib.request.urlopen(request, timeout=ANSWER_SECONDS))
        except Exception as error:  # raised below, in the calling thread
            answers.put(error)

    threading.Thread(target=ask, daemon=True).start()
    try:
        answer = answers.get(timeout=ANSWER_SECONDS + 0.5)
    except queue.Empty:
        raise TimeoutError(f"no answer within {ANSWER_SECONDS:.0f} s") from None
    if isinstance(answer, Exception):
        raise answer
    return answer
