"""What the function of a probe draws."""

from typing import NamedTuple

import numpy as np


class Drawn(NamedTuple):
    """Examples of a probe.

    Attributes:
        tokens: ids `[count, length]`, from 1 on.
        labels: class labels `[count]`, from 0 on.
        words: what each id stands for, the first word for id 1.
    """

    tokens: np.ndarray
    labels: np.ndarray
    words: list[str]
