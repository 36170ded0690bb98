"""How long something takes, in a form for people."""

from __future__ import annotations


def as_duration(seconds: float) -> str:
    """Seconds as `h:mm:ss`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"
