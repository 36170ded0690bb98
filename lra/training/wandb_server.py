"""Begin an online W&B run, after a check that W&B's server answers: W&B itself would wait long for it."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Literal, TypeVar

from lra.base.text import without_credentials
from lra.types import UserError

T = TypeVar("T")
PROBE_SECONDS = 4.0
OFFLINE = "type logger.wandb.mode=offline (wandb sync sends it later) or logger.wandb.when_unreachable=offline"


def begin_online(
    begin: Callable[[Literal["online", "offline"]], T],
    folder: Path,
    *,
    when_unreachable: Literal["fail", "offline"],
) -> T:
    """Begin an online W&B run with `begin`, or an offline one if the server fails and `when_unreachable` allows it.

    Raises:
        UserError: when there is no valid API key, or when the server fails and `when_unreachable` is `fail`.
    """
    import wandb

    trouble = server_trouble()
    if trouble is None:
        try:
            with _nobody_to_ask():
                return begin("online")
        except (wandb.errors.UsageError, wandb.errors.AuthenticationError) as error:
            raise UserError(f"W&B has no valid API key; type wandb login, or without one {OFFLINE}") from error
        except wandb.errors.Error as error:
            trouble = (
                f"{without_credentials(wandb.setup().settings.base_url)} did not begin the run ({type(error).__name__})"
            )
    if when_unreachable == "fail":
        raise UserError(f"logger.wandb.mode=online, but {trouble}; {OFFLINE}")
    print(f"W&B: {trouble}; the run is kept offline, later: wandb sync {folder}/wandb/offline-run-*", file=sys.stderr)
    return begin("offline")


def server_trouble(seconds: float = PROBE_SECONDS) -> str | None:
    """Find out why W&B's server does not answer within `seconds`; None if it answers, even with an error.

    The request uses the proxy that W&B is configured with.
    """
    import requests
    import wandb

    # The address is from WANDB_BASE_URL or `wandb login --host`. Without `silent`, W&B prints where it found a key.
    settings = wandb.setup(settings=wandb.Settings(silent=True)).settings
    proxies = {"http": settings.http_proxy, "https": settings.https_proxy}
    server = without_credentials(settings.base_url)
    trouble = [f"{server} has not answered for {seconds:.0f} seconds"]

    def ask() -> None:
        try:
            requests.get(
                settings.base_url,
                timeout=seconds,
                stream=True,
                allow_redirects=False,
                proxies={scheme: proxy for scheme, proxy in proxies.items() if proxy},
            ).close()
            trouble.clear()
        except requests.RequestException as error:
            trouble[:] = [f"{server} cannot be reached ({type(error).__name__})"]

    asking = threading.Thread(target=ask, daemon=True)  # in a thread, because looking up a host name has no timeout
    asking.start()
    asking.join(seconds)
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
