"""Blocks on the published diagnosis of a trained model."""

import re

from docs.blocks.markdown import ends, prose, table_of
from docs.blocks.published import PUBLISHED
from lra.tools.diagnosis.schema import Diagnosis, read_diagnosis
from lra.tools.diagnosis.sentences import all_heads, answer, swaps_table


def _diagnosis() -> Diagnosis:
    return read_diagnosis(PUBLISHED / "diagnosis_pathfinder.json")


def in_words() -> str:
    """The answer, as the page of `lra diagnose` has it."""
    return _spaced(prose(" ".join(answer(_diagnosis()))))


def swaps() -> str:
    """Accuracies with other attentions in place of the model's own."""
    return _spaced(table_of(swaps_table(_diagnosis())))


def _spaced(text: str) -> str:
    """With a space before each percent sign, as the documents have it."""
    return re.sub(r"(?<=\d)%", " %", text)


def k_means() -> str:
    """The error with landmarks by k-means beside that with segment means."""
    made, shares = _diagnosis(), []
    counts = set()
    for head in all_heads(made):
        curves = {curve["method"]: curve for curve in head["curves"]}
        means, clusters = (
            dict(zip(curves[name]["num_landmarks"], curves[name]["matrix_error"], strict=True))
            for name in ("segment_means", "kmeans")
        )
        below = [count for count in means if count <= made["subject"]["num_landmarks"]]
        counts.update(below)
        shares += [clusters[count] / means[count] for count in below]
    return prose(
        f"With {min(counts)} to {max(counts)} landmarks, the error of k-means landmarks is {ends(shares, '.1f')} times"
        " that of segment means, depending on the head and the number. The sequences have"
        f" {made['subject']['tokens']:.0f} real tokens on average."
    )
