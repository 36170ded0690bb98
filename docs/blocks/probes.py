"""The block on probes: what each asks, and what is known of it without a model."""

from typing import Any

import numpy as np
from hydra.utils import get_method

from docs.blocks.markdown import table
from lra.base.probes import GIVEN, is_probe
from lra.settings.compose import load_config
from lra.settings.declared import declared_by_class
from lra.verbs.show_choices import choices

TRAIN, TEST = 8_000, 4_000  # examples from which the counts of tokens are fitted, and on which they are tested
RIDGE = 1.0  # added to the diagonal of the counts' products


def probes() -> str:
    """What each probe asks, its settings at size=full, and how much of it the counts of the tokens tell."""
    rows = []
    for task, file in choices("task").items():
        if is_probe(file):
            cfg = load_config("train", [f"task={task}"])
            target = file["open_source"]["generate"]["_target_"]
            own = {key: cfg.task.data[key] for key in declared_by_class(target).kinds if key not in GIVEN}
            length, classes = cfg.task.spec.seq_len, cfg.task.spec.num_classes
            chance, counts = f"{100 / classes:.0f} %", f"{100 * _by_counts(target, length, own):.0f} %"
            settings = ", ".join(f"{key} {value}" for key, value in own.items())
            asks = file["about"].removeprefix("probe: ")
            rows.append((f"`{task}`", asks, str(length), str(classes), settings, chance, counts))
    return table(("probe", "what it asks", "tokens", "classes", "settings", "chance", "by counts"), rows)


def _by_counts(target: str, length: int, settings: dict[str, Any]) -> float:
    """Predict the label by least squares from how often each token is in the sequence; the accuracy in [0, 1]."""
    generate = get_method(target)
    parts = [
        generate(np.random.default_rng(seed), count, length=length, training=False, **settings)
        for seed, count in enumerate((TRAIN, TEST))
    ]
    (train, of_train), (test, of_test) = ((_counts(part.tokens, len(part.words)), part.labels) for part in parts)
    targets = np.eye(of_train.max() + 1)[of_train]
    weights = np.linalg.solve(train.T @ train + RIDGE * np.eye(train.shape[1]), train.T @ targets)
    return float(((test @ weights).argmax(1) == of_test).mean())


def _counts(tokens: np.ndarray, words: int) -> np.ndarray:
    counts = np.zeros((len(tokens), words + 1))
    np.add.at(counts, (np.arange(len(tokens))[:, None], tokens), 1)
    counts[:, 0] = 1  # id 0 is padding, which no probe has; here a constant
    return counts
