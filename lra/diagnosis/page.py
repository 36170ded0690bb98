"""Write a diagnosis as one HTML page."""

from functools import partial
from pathlib import Path

from lra.diagnosis.figures import plot_convergence, plot_errors, plot_heat_maps, plot_swaps
from lra.diagnosis.measure import MatrixPair
from lra.diagnosis.schema import Diagnosis
from lra.diagnosis.sentences import answer, heads_table, swaps_table
from lra.results.page import Part, Section, svg, write_page

OF_HEADS = (
    "S is softmax(q kᵀ / √E) of the layer's own queries and keys, and Ŝ the matrix that its attention multiplies the"
    " values with, without Nyström's value skip. Padded tokens are neither rows nor columns. Constants and draws that"
    " the examples of a batch share are those of the compared sequences, not of a whole evaluation batch."
)
OF_SWAPS = (
    "Every attention of the model is replaced, and nothing is trained. Nyström attention keeps its value skip, so “no"
    " attention” is the value skip alone. With 1 landmark all tokens get the same mixture of the values."
)
OF_CURVES = (
    "Nyström attention with each landmark rule and the model's own pseudo-inverse; beside it the classical methods,"
    " which take columns C and rows R of S itself at tokens in equal distances, and the best matrix of rank m. The"
    " classical error is the Schur complement of the landmark block. It has no bound where that block is"
    " nearly singular. The axes end at .001 and 10."
)
OF_INVERSE = (
    "A is kernel 2, softmax of landmark queries and keys, Z the iterative pseudo-inverse after each step, A⁺ that of"
    " the singular value decomposition with the attention's cut-off; in float64."
)
OF_MAPS = (
    "One sequence of the dev split. The first two images have the same colours, which end at the 99.5 % quantile"
    " of the exact weights; the colours of the difference end at half of its largest entry."
)


def write_diagnosis_page(path: Path, diagnosis: Diagnosis, pairs: dict[str, MatrixPair]) -> Path:
    """Write the page atomically, and return its path; `pairs` are the heat maps' matrices by the name of the head."""
    subject = diagnosis["subject"]
    trained = f"seed {subject['seed']}" if subject["run"] else "a fresh model"
    return write_page(
        path,
        title=f"How far from exact? {subject['task']} / {subject['attention']}",
        subtitle=f"Protocol {subject['protocol']}, size {subject['size']}, {trained}. What each number means:"
        " docs/diagnosis.md.",
        sections=_sections(diagnosis, pairs),
        troubles=[],
    )


def _sections(diagnosis: Diagnosis, pairs: dict[str, MatrixPair]) -> list[Section]:
    sections = {
        "Answer": [Part(texts=answer(diagnosis))],
        "Heads": [Part(texts=[OF_HEADS], tables=[heads_table(diagnosis)])],
    }
    if diagnosis["swaps"]:
        figure = svg(partial(plot_swaps, diagnosis))
        sections["Swaps"] = [Part(texts=[OF_SWAPS], tables=[swaps_table(diagnosis)], figures={"accuracy": figure})]
    errors = {
        "matrix error against landmarks": svg(partial(plot_errors, diagnosis, key="matrix_error")),
        "output error against landmarks": svg(partial(plot_errors, diagnosis, key="output_error")),
    }
    sections["Landmarks"] = [Part(texts=[OF_CURVES], figures=errors)]
    sections["Heat maps"] = [Part(texts=[OF_MAPS], figures={"matrices": svg(partial(plot_heat_maps, pairs))})]
    inverse = svg(partial(plot_convergence, diagnosis))
    sections["Pseudo-inverse"] = [Part(texts=[OF_INVERSE], figures={"convergence": inverse})]
    return [Section(name=name, parts=parts) for name, parts in sections.items()]
