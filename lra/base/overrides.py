"""Overrides as they are typed: `key=value`, `+key=value` to add a key, `~key` to take one away.

Here they are texts with a key. What their values are, such as `0` and `1` of `seed=0,1`, Hydra's grammar says: see
`lra.settings.override_values`.
"""

from __future__ import annotations

from collections.abc import Iterable

SIGNS = "+~"


class Override(str):
    """An override, equal to its text."""

    __slots__ = ()

    @property
    def signed_key(self) -> str:
        """What stands before the first equals sign, such as `+trainer.max_time`."""
        return self.partition("=")[0]

    @property
    def key(self) -> str:
        """The key without the sign of an addition or deletion; of another argument, the argument."""
        return self.signed_key.lstrip(SIGNS)

    @property
    def group(self) -> str:
        """The first part of the key: `attention` of `attention.num_landmarks`."""
        return self.key.partition(".")[0]

    @property
    def text(self) -> str:
        """What stands behind the first equals sign, in Hydra's quotes where these were typed."""
        return self.partition("=")[2]

    @property
    def has_value(self) -> bool:
        """Whether there is an equals sign; `~key`, an action and a flag have none."""
        return "=" in self

    def is_of(self, *keys: str) -> bool:
        """Tell whether the key is one of these; one with a dot at its end, as `task.`, stands for options below it."""
        return self.key in keys or self.key.startswith(tuple(key for key in keys if key.endswith(".")))


class Overrides(tuple[Override, ...]):
    """Several overrides in their order; the keys of the methods are as those of `Override.is_of`."""

    __slots__ = ()

    def __new__(cls, texts: Iterable[str] = ()) -> Overrides:
        """Make them of texts."""
        return super().__new__(cls, map(Override, texts))

    @property
    def keys(self) -> set[str]:
        """Every key."""
        return {each.key for each in self}

    def only(self, *keys: str) -> Overrides:
        """Those with these keys."""
        return Overrides(each for each in self if each.is_of(*keys))

    def without(self, *keys: str) -> Overrides:
        """Those with other keys."""
        return Overrides(each for each in self if not each.is_of(*keys))

    def of_groups(self, *groups: str) -> Overrides:
        """The choices of these config groups, and their options."""
        return Overrides(each for each in self if each.group in groups)

    def texts(self, key: str) -> list[str]:
        """What was typed as the value of a key, each time that it was."""
        return [each.text for each in self if each.key == key and each.has_value]

    def get(self, key: str) -> str | None:
        """What was typed last as the value of a key; None if nothing was."""
        return next(reversed(self.texts(key)), None)
