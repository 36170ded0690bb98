"""W&B's server and its files: begin an online run only if the server answers; read what `.wandb` files hold.

W&B itself would wait long for its server. It writes the `.wandb` files online and offline.
"""

import json
import os
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, TypeVar

from lra.base.command_line import shell_command
from lra.base.files import read_file
from lra.training.wandb_session import session_settings, without_user
from lra.types import UserError

T = TypeVar("T")
PROBE_SECONDS = 4.0
OFFLINE = "type logger.wandb.mode=offline (wandb sync sends it later) or logger.wandb.when_unreachable=offline"
OFFLINE_RUNS = "offline-run-*"  # the folders of a run's processes, below its folder `wandb`
STEP = "trainer/global_step"  # the step of a row, by Lightning's logger
HEADER_BYTES = 7  # of a file, and of each piece of a record
BLOCK_BYTES = 32768
ONLY_PIECE, LAST_PIECE = 1, 4  # kinds of pieces of a record; 2 is the first of several, 3 one between


def begin_online(
    begin: Callable[[Literal["online", "offline"]], T], folder: Path, *, when_unreachable: Literal["fail", "offline"]
) -> T:
    """Begin an online W&B run with `begin`, or an offline one if the server fails and `when_unreachable` allows it.

    Raises:
        UserError: when there is no valid API key, when the server fails and `when_unreachable` is `fail`, and for
            an environment variable that W&B refuses.
    """
    import wandb

    trouble = server_trouble()
    if trouble is None:
        try:
            with _nobody_to_ask():
                return begin("online")
        except (wandb.errors.UsageError, wandb.errors.AuthenticationError) as error:
            line = f"W&B has no valid API key; type wandb login, or without one {OFFLINE}"
            raise UserError(line, kind="no_key", key="logger.wandb.mode") from error
        except (wandb.errors.Error, ValueError) as error:  # the second for an address with which W&B cannot work
            server = without_user(session_settings().base_url)
            trouble = f"{server} did not begin the run ({type(error).__name__})"
    if when_unreachable == "fail":
        line = f"logger.wandb.mode=online, but {trouble}; {OFFLINE}"
        raise UserError(line, kind="unreachable", key="logger.wandb.mode", value="online")
    print(f"W&B: {trouble}; the run is kept offline, later: {sync_command(folder)}", file=sys.stderr)
    return begin("offline")


def sync_command(folder: Path) -> str:
    """Write the command that sends the offline W&B runs in a folder; the shell lists them."""
    return f"{shell_command('wandb', 'sync', folder / 'wandb')}/{OFFLINE_RUNS}"


def server_trouble() -> str | None:
    """Find out why W&B's server does not answer within some seconds; None if it answers, even with an error.

    The request uses the proxy that W&B is configured with.

    Raises:
        UserError: for an environment variable that W&B refuses.
    """
    import requests

    settings = session_settings()  # the address is from WANDB_BASE_URL or `wandb login --host`
    proxies = {"http": settings.http_proxy, "https": settings.https_proxy}
    server = without_user(settings.base_url)
    trouble = [f"{server} has not answered for {PROBE_SECONDS:.0f} seconds"]

    def ask() -> None:
        try:
            requests.get(
                settings.base_url,
                timeout=PROBE_SECONDS,
                stream=True,
                allow_redirects=False,
                proxies={scheme: proxy for scheme, proxy in proxies.items() if proxy},
            ).close()
            trouble.clear()
        except (requests.RequestException, ValueError) as error:
            trouble[:] = [f"{server} cannot be reached ({type(error).__name__})"]

    asking = threading.Thread(target=ask, daemon=True)  # in a thread, because looking up a host name has no timeout
    asking.start()
    asking.join(PROBE_SECONDS)
    return trouble[0] if trouble else None


@contextmanager
def _nobody_to_ask() -> Iterator[None]:
    """Keep W&B from asking for an API key on the terminal and waiting for it."""
    before = sys.stdin
    with open(os.devnull) as nothing:
        sys.stdin = nothing
        try:
            yield
        finally:
            sys.stdin = before


def points_in_wandb(folder: Path, run_id: str) -> set[tuple[int, str]]:
    """Collect step and metric of each point that the processes of a W&B run have written below `folder`.

    A process that was killed has not written its last seconds, so what it logged is no measure. Files that the user
    has removed are not counted.
    """
    return {
        (step, name)
        for path in folder.glob(f"wandb/*run-*-{run_id}/run-{run_id}.wandb")
        for row in read_history(path)
        if isinstance(step := row.get(STEP), int)
        for name in row
    }


def wait_until_written(path: Path, *, seconds: float = 60) -> bool:
    """Wait, at most so long, until W&B's own process has written the end of a run, which `finish` does not wait for.

    A run that is resumed before would not know the points that are still to be written, and send them twice.

    Returns:
        Whether the end was written in time.
    """
    end = time.monotonic() + seconds
    while not (path.exists() and any(record.WhichOneof("record_type") == "exit" for record in read_records(path))):
        if time.monotonic() >= end:
            return False
        time.sleep(0.05)
    return True


def read_history(path: Path) -> Iterator[dict[str, Any]]:
    """Yield the history rows of a `.wandb` file, by metric."""
    for record in read_records(path):
        if record.WhichOneof("record_type") == "history":
            yield {item.key or ".".join(item.nested_key): json.loads(item.value_json) for item in record.history.item}


def read_records(path: Path) -> Iterator[Any]:
    """Yield the whole records of a `.wandb` file, which a kill may have cut short.

    The file is a header and LevelDB's log format (github.com/google/leveldb, doc/log_format.md): pieces of records,
    each with checksum, size and kind, which do not cross the end of a block. A record is a protobuf message.
    """
    from google.protobuf.message import DecodeError
    from wandb.proto.wandb_internal_pb2 import Record  # type: ignore[attr-defined]  # a generated module

    raw, at, message = read_file(path), HEADER_BYTES, b""
    while at + HEADER_BYTES <= len(raw):
        left = BLOCK_BYTES - at % BLOCK_BYTES
        if left < HEADER_BYTES:  # the end of a block is filled up
            at += left
            continue
        _, size, kind = struct.unpack("<IHB", raw[at : at + HEADER_BYTES])
        at += HEADER_BYTES + size
        if not ONLY_PIECE <= kind <= LAST_PIECE or at > len(raw):
            return
        message += raw[at - size : at]
        if kind in (ONLY_PIECE, LAST_PIECE):
            try:
                record = Record.FromString(message)
            except DecodeError:  # the rest of a file after a crash of the machine
                return
            yield record
            message = b""
