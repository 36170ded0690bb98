"""What the page and the terminal say: the answer in sentences, and the tables."""

from lra.base.text import MISSING
from lra.runs.convergence import is_converged
from lra.terminal.text_table import TextTable
from lra.tools.diagnosis.schema import Diagnosis, Head, Swap

SMALL_ERROR = 0.1  # relative error of the attention matrices up to which they count as close to the exact ones
ROUNDING_ERROR = 1e-5
MOSTLY = 0.9  # part of the gain from attention from which on exact attention does nearly as well
VERDICTS = {  # each says what was measured, and no more
    "majority": "The model is not above the majority class: train it first. Its accuracies do not show whether the"
    " approximation error matters.",
    "exact": "The model uses exact attention. The other numbers are those of Nyström attention in its place.",
    "harmful": "Exact attention is significantly better, even without training: their error costs accuracy.",
    "needless": "The model is not significantly worse without attention, so its accuracies do not show whether the"
    " approximation error matters.",
    "close": "The attention matrices are close to exact, and their error matters little for this accuracy.",
    "unused": "The attention matrices are not close to exact, but their error matters little for this accuracy.",
    "adapted": "Exact attention is significantly worse: the weights depend on the error that they were trained with.",
}
HEAD_COLUMNS = {
    "matrix_error": "matrix error",
    "spectral_error": "spectral error",
    "output_error": "output error",
    "uniform_error": "uniform error",
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


def verdict(diagnosis: Diagnosis) -> str:
    """Choose the key of `VERDICTS` that the errors of a trained model's attention and its swaps lead to."""
    errors, subject = [head["matrix_error"] for head in all_heads(diagnosis)], diagnosis["subject"]
    trained, exact, none = (swap_of(diagnosis, name) for name in ("trained", "exact", "none"))
    if not is_converged(trained["accuracy"], subject["majority_rate"], subject["examples"]):
        return "majority"
    if max(errors) < ROUNDING_ERROR:
        return "exact"
    if exact["difference"] > 0 and not is_nothing(exact):
        return "harmful"
    if is_nothing(none) or none["difference"] > 0:
        return "needless"
    if not is_nothing(exact) and retained(diagnosis) < MOSTLY:
        return "adapted"
    return "close" if sum(errors) / len(errors) <= SMALL_ERROR else "unused"


def retained(diagnosis: Diagnosis) -> float:
    """Compute the part of the accuracy gained by attention that exact attention retains."""
    trained, exact, none = (swap_of(diagnosis, name)["accuracy"] for name in ("trained", "exact", "none"))
    return (exact - none) / (trained - none)


def fewest_landmarks(diagnosis: Diagnosis) -> int | None:
    """Find how few landmarks are as accurate as the model's own attention, whose number counts; None if none are."""
    subject = diagnosis["subject"]
    swaps = [swap for swap in diagnosis["swaps"] if swap["name"] == "nystrom" and is_nothing(swap)]
    enough = [swap["num_landmarks"] or 0 for swap in swaps] + [subject["num_landmarks"]] * subject["is_nystrom"]
    return min(enough, default=None)


def answer(diagnosis: Diagnosis) -> list[str]:
    """Say in a few sentences how large the approximation error is, and whether it matters for accuracy."""
    heads, subject = all_heads(diagnosis), diagnosis["subject"]
    errors, uniform = (sum(head[key] for head in heads) / len(heads) for key in ("matrix_error", "uniform_error"))
    sentences = [
        f"The attention matrices of {subject['attention']} have a relative error of {errors:.1%} (Frobenius norm, mean"
        f" over layers, heads and {subject['sequences']} sequences).",
        f"For comparison, uniform attention would have an error of {uniform:.1%}.",
    ]
    if not diagnosis["swaps"]:
        return [*sentences, "The model is not trained, so its accuracy is not measured."]
    trained, exact, none = (swap_of(diagnosis, name) for name in ("trained", "exact", "none"))
    kind, fewest = verdict(diagnosis), fewest_landmarks(diagnosis)
    sentences += [
        f"As trained, the accuracy is {_percent(trained)} on {subject['examples']:,} dev examples (majority-class"
        f" baseline {subject['majority_rate']:.1%}).",
        f"Replacing the attention without training gives {_percent(exact)} with exact attention ({_points(exact)}) and"
        f" {_percent(none)} without attention ({_points(none)}).",
    ]
    if kind in ("close", "unused", "adapted"):
        worse = "" if is_nothing(exact) or kind == "adapted" else " It is significantly worse all the same."
        part = f"{retained(diagnosis):.0%} of the accuracy gained by attention"
        sentences.append(f"Exact attention retains {part}.{worse}")
    sentences.append(VERDICTS[kind])
    if fewest is not None and kind != "majority":
        sentences.append(f"The fewest landmarks within two standard errors of the accuracy as trained: {fewest}.")
    return sentences


def _percent(swap: Swap) -> str:
    return f"{swap['accuracy']:.1%} ± {100 * swap['error']:.1f}"


def _points(swap: Swap) -> str:
    return f"{100 * swap['difference']:+.1f} ± {100 * swap['difference_error']:.1f} points".replace("-", "−")


def heads_table(diagnosis: Diagnosis) -> TextTable:
    """Make the table of all heads."""
    rows = [
        [f"layer {number}, head {position}", *(_cell(key, head) for key in HEAD_COLUMNS)]
        for number, heads in enumerate(diagnosis["layers"], start=1)
        for position, head in enumerate(heads, start=1)
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
