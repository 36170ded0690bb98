"""What the page and the terminal say: the answer in sentences, and the tables."""

from __future__ import annotations

from lra.diagnosis.schema import Diagnosis, Head, Swap
from lra.results.tables import MISSING, TextTable

NEAR_ERROR = 0.1  # relative error of the attention matrices up to which they count as near to the exact ones
ROUNDING_ERROR = 1e-5
MOSTLY = 0.9  # of what attention brings, from which on exact attention does nearly as well
EXACT_ITSELF = "Its attention is exact attention; the other numbers say how far Nyström attention would be from it."
HEAD_COLUMNS = {
    "matrix_error": "matrix error",
    "spectral_error": "spectral error",
    "output_error": "output error",
    "uniform_error": "equal weights' error",
    "effective_rank": "effective rank",
    "rank_99": "rank of 99 %",
    "landmark_condition": "condition of kernel 2",
}


def all_heads(diagnosis: Diagnosis) -> list[Head]:
    """List the heads of all layers, in order."""
    return [head for heads in diagnosis["layers"] for head in heads]


def swap_of(diagnosis: Diagnosis, name: str) -> Swap:
    """Find a swap by its name."""
    return next(swap for swap in diagnosis["swaps"] if swap["name"] == name)


def swap_name(swap: Swap) -> str:
    """Name what is in place of the model's attentions."""
    count = swap["num_landmarks"]
    names = {
        "trained": "as trained",
        "exact": "exact attention",
        "none": "no attention",
        "exact inverse": f"{count} landmarks, exact inverse",
        "nystrom": f"{count} landmark{'s' if count != 1 else ''}",
    }
    return names[swap["name"]]


def is_nothing(swap: Swap) -> bool:
    """Tell whether the accuracy differs by at most two standard errors of the difference."""
    return abs(swap["difference"]) <= 2 * swap["difference_error"]


def is_exact(heads: list[Head]) -> bool:
    """Tell whether the attention is exact attention, up to rounding in float32."""
    return max(head["matrix_error"] for head in heads) < ROUNDING_ERROR


def answer(diagnosis: Diagnosis) -> list[str]:
    """Say in a few sentences whether the attention is near to exact attention, and whether that is why it is good."""
    heads = all_heads(diagnosis)
    errors, uniform = (sum(head[key] for head in heads) / len(heads) for key in ("matrix_error", "uniform_error"))
    name = diagnosis["subject"]["attention"]
    sentences = [
        f"The attention matrices of {name} differ from the exact ones by {errors:.1%} (relative Frobenius error, mean"
        f" over layers, heads and {diagnosis['subject']['sequences']} sequences). Equal weights for all tokens would"
        f" differ by {uniform:.1%}."
    ]
    if not diagnosis["swaps"]:
        return [*sentences, "The model is not trained, so its accuracy is not measured."]
    trained, exact, none = (swap_of(diagnosis, which) for which in ("trained", "exact", "none"))
    sentences.append(
        f"Accuracy on {diagnosis['subject']['examples']:,} dev examples: {_percent(trained)} as trained. Replacing the"
        f" attention by exact attention, without training, gives {_percent(exact)} ({_points(exact)}); by no attention"
        f" {_percent(none)} ({_points(none)}; majority-class baseline {diagnosis['subject']['majority_rate']:.1%})."
    )
    verdict = (
        EXACT_ITSELF
        if is_exact(heads)
        else _verdict(near=errors <= NEAR_ERROR, trained=trained, exact=exact, none=none)
    )
    return [*sentences, verdict, *_fewest(diagnosis)]


def _verdict(*, near: bool, trained: Swap, exact: Swap, none: Swap) -> str:
    if is_nothing(none) or none["difference"] > 0:
        return "The model is no worse without attention: neither its approximation nor exact attention matters here."
    if exact["difference"] > 0 and not is_nothing(exact):
        return "Exact attention is better even without training: the approximation's error costs accuracy."
    kept = (exact["accuracy"] - none["accuracy"]) / (trained["accuracy"] - none["accuracy"])
    if is_nothing(exact) or kept >= MOSTLY:
        well = "as well" if is_nothing(exact) else f"nearly as well (it keeps {kept:.0%} of what attention brings)"
        if near:
            return f"It is near to softmax attention, and exact attention does {well}: it is good because it is near."
        return (
            f"It is not near to softmax attention, but exact attention does {well}: what the error changes is mostly"
            " not what the model uses."
        )
    return (
        f"Exact attention is worse (it keeps {kept:.0%} of what attention brings): the weights have learned with"
        f" {'small' if near else 'large'} errors of the approximation and rely on them. The model is good for another"
        " reason than that it is near to softmax."
    )


def _fewest(diagnosis: Diagnosis) -> list[str]:
    """Say how few landmarks do as well as the model's own attention; its own number does."""
    subject = diagnosis["subject"]
    swaps = [swap for swap in diagnosis["swaps"] if swap["name"] == "nystrom" and is_nothing(swap)]
    enough = [swap["num_landmarks"] or 0 for swap in swaps]
    enough += [subject["num_landmarks"]] * subject["is_nystrom"]
    return [f"Fewest landmarks within two standard errors of the model as trained: {min(enough)}."] if enough else []


def _percent(swap: Swap) -> str:
    return f"{swap['accuracy']:.1%} ± {100 * swap['error']:.1f}"


def _points(swap: Swap) -> str:
    return f"{100 * swap['difference']:+.1f} ± {100 * swap['difference_error']:.1f} points".replace("-", "−")


def heads_table(diagnosis: Diagnosis) -> TextTable:
    """Make the table of all heads."""
    rows = [
        [f"layer {number}, head {place}", *(_cell(key, head) for key in HEAD_COLUMNS)]
        for number, heads in enumerate(diagnosis["layers"], start=1)
        for place, head in enumerate(heads, start=1)
    ]
    subject = diagnosis["subject"]
    return TextTable(
        title=f"{subject['task']} / {subject['attention']}: each head against exact attention",
        columns=("", *HEAD_COLUMNS.values()),
        rows=rows,
        optional=("condition of kernel 2", "spectral error", "rank of 99 %"),
        notes=[
            f"Means over {subject['sequences']} sequences of {subject['tokens']:.0f} tokens; the condition is a median,"
            f" ∞ if singular, of Nyström's kernel 2 with {subject['num_landmarks']} landmarks."
        ],
    )


def _cell(key: str, head: Head) -> str:
    value = head[key]  # type: ignore[literal-required]
    if key == "landmark_condition":
        return "∞" if value is None else f"{value:.3g}"
    return f"{value:.1f}" if "rank" in key else f"{value:.1%}"


def swaps_table(diagnosis: Diagnosis) -> TextTable:
    """Make the table of what was put in place of the attentions."""
    order = {"trained": 0, "exact": 1, "exact inverse": 2, "nystrom": 3, "none": 4}
    swaps = sorted(diagnosis["swaps"], key=lambda swap: (order[swap["name"]], swap["num_landmarks"] or 0))
    rows = [
        [
            swap_name(swap),
            _percent(swap),
            MISSING if swap["name"] == "trained" else _points(swap),
            f"{swap['agreement']:.1%}",
        ]
        for swap in swaps
    ]
    subject = diagnosis["subject"]
    return TextTable(
        title=f"Attention replaced without training: accuracy on {subject['examples']:,} dev examples",
        columns=("attention used", "accuracy", "difference", "same predictions"),
        rows=rows,
        notes=["± is one standard error; differences are over the same examples."],
    )
