"""W&B's server: begin an online run only if it answers; W&B itself would wait long for it."""

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeVar

from lra.base.printed_commands import shell_command
from lra.training.wandb_session import session_settings, without_user
from lra.types import UserError

T = TypeVar("T")
PROBE_SECONDS = 4.0
OFFLINE = "type logger.wandb.mode=offline (wandb sync sends it later) or logger.wandb.when_unreachable=offline"
OFFLINE_RUNS = "offline-run-*"  # the folders of a run's processes, below its folder `wandb`


def begin_online(
    begin: Callable[[Literal["online", "offline"]], T], folder: Path, *, when_unreachable: Literal["fail", "offline"]
) -> T:
    """Begin an online W&B run with `begin`, or an offline one if the server fails and `when_unreachable` allows it.

    Raises:
        UserError: when there is no valid API key, when the server fails and `when_unreachable` is `fail`, and for
            an environment variable that W&B refuses.
    """
    import wandb

    problem = server_problem()
    if problem is None:
        try:
            with _nobody_to_ask():
                return begin("online")
        except (wandb.errors.UsageError, wandb.errors.AuthenticationError) as error:
            line = f"W&B has no valid API key; type wandb login, or without one {OFFLINE}"
            raise UserError(line, kind="no_key", key="logger.wandb.mode") from error
        except (wandb.errors.Error, ValueError) as error:  # the second for an address with which W&B cannot work
            server = without_user(session_settings().base_url)
            problem = f"{server} did not begin the run ({type(error).__name__})"
    if when_unreachable == "fail":
        line = f"logger.wandb.mode=online, but {problem}; {OFFLINE}"
        raise UserError(line, kind="unreachable", key="logger.wandb.mode", value="online")
    print(f"W&B: {problem}; the run is kept offline, later: {sync_command(folder)}", file=sys.stderr)
    return begin("offline")


def sync_command(folder: Path) -> str:
    """Write the command that sends the offline W&B runs in a folder; the shell lists them."""
    return f"{shell_command('wandb', 'sync', folder / 'wandb')}/{OFFLINE_RUNS}"


def server_problem() -> str | None:
    """Find out why W&B's server does not answer within some seconds; None if it answers, even with an error.

    The request uses the proxy that W&B is configured with.

    Raises:
        UserError: for an environment variable that W&B refuses.
    """
    import requests

    settings = session_settings()  # the address is from WANDB_BASE_URL or `wandb login --host`
    proxies = {"http": settings.http_proxy, "https": settings.https_proxy}
    server = without_user(settings.base_url)
    problems = [f"{server} has not answered for {PROBE_SECONDS:.0f} seconds"]

    def ask() -> None:
        try:
            requests.get(
                settings.base_url,
                timeout=PROBE_SECONDS,
                stream=True,
                allow_redirects=False,
                proxies={scheme: proxy for scheme, proxy in proxies.items() if proxy},
            ).close()
            problems.clear()
        except (requests.RequestException, ValueError) as error:
            problems[:] = [f"{server} cannot be reached ({type(error).__name__})"]

    asking = threading.Thread(target=ask, daemon=True)  # in a thread, because looking up a host name has no timeout
    asking.start()
    asking.join(PROBE_SECONDS)
    return problems[0] if problems else None


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
