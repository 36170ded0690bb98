"""The schema of `diagnosis.json`, and how the file is written and read.

Errors are relative to the exact value and at least 0; every number of a head is a mean over sequences, except medians.
"""

import json
from pathlib import Path
from typing import Annotated, NotRequired

from pydantic import ConfigDict, Field, TypeAdapter, with_config
from typing_extensions import TypedDict

from lra.base.checked_json import Count, Positive, checked, parsed_json
from lra.base.files import regular_file, replace_text
from lra.types import UserError

DIAGNOSIS_VERSION = 1
MOST_BYTES = 64 << 20
STRICT = ConfigDict(strict=True, extra="forbid")  # pydantic passes it on to the types of the fields
Finite = Annotated[float, Field(allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Rate = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Curve(TypedDict):
    """The errors of a way to approximate the exact matrix, against the number of landmarks.

    `method`: how landmarks are chosen; `classical`, C W⁺ R, or `cur`, C (C⁺ A R⁺) R, with columns and
    rows of the exact matrix; `best`, the truncated singular value decomposition, with the matrix error alone.
    """

    method: str
    num_landmarks: list[Positive]
    matrix_error: list[NotNegative]
    output_error: list[NotNegative]


class Convergence(TypedDict):
    """The iterative pseudo-inverse Z of kernel 2, A, after each number of steps.

    `residual`: ‖AZA − A‖ / ‖A‖. `distance`: ‖Z − A⁺‖ / ‖A⁺‖, with A⁺ by singular value
    decomposition, with the attention's cut-off.
    """

    steps: list[Positive]
    residual: list[NotNegative]
    distance: list[NotNegative]


class Head(TypedDict):
    """One head of one layer.

    `matrix_error`, `spectral_error`: of the attention matrix, in the Frobenius and in the spectral norm.
    `output_error`: of matrix times values. `uniform_error`: the matrix error of uniform attention, for
    comparison. `effective_rank`, `rank_99`: of the exact matrix, see docs/diagnosis.md. `landmark_condition`: median
    condition number of kernel 2; null if it is singular.
    """

    matrix_error: NotNegative
    spectral_error: NotNegative
    output_error: NotNegative
    uniform_error: NotNegative
    effective_rank: NotNegative
    rank_99: NotNegative
    landmark_condition: NotNegative | None
    curves: list[Curve]
    convergence: Convergence


class Swap(TypedDict):
    """The model with other attentions in place of its own, not trained further, on the dev split.

    `name`: `trained`, `exact`, `nystrom`, `exact inverse` or `none`. `num_landmarks`: of `nystrom`. `error`: standard
    error of the accuracy. `difference`: from `trained`, over the same examples, with its standard error.
    `agreement`: fraction of the examples with the same prediction as `trained`.
    """

    name: str
    num_landmarks: Positive | None
    accuracy: Rate
    error: NotNegative
    difference: Finite
    difference_error: NotNegative
    agreement: Rate


class DiagnosisSubject(TypedDict):
    """What was measured: the run's folder (null: a fresh model), its names, and on how much.

    `run`: from the folder of runs on; of a run that lies elsewhere, the last part alone.

    `num_landmarks`: of the Nyström attention that was measured, the model's own or, if `is_nystrom` is false, one with
    the default settings. `tokens`: real tokens of the measured sequences, as a mean.
    """

    run: str | None
    task: str
    attention: str
    protocol: str
    size: str
    seed: Count
    is_nystrom: bool
    num_landmarks: Positive
    sequences: Positive
    tokens: NotNegative
    examples: Count
    majority_rate: Rate


@with_config(STRICT)
class Diagnosis(TypedDict):
    """The whole file: `layers` holds the heads of each layer; `swaps` is empty for a fresh model.

    `answer`: what the page and the terminal say of these numbers, in sentences; files of earlier versions lack it.
    """

    version: int
    subject: DiagnosisSubject
    layers: list[list[Head]]
    swaps: list[Swap]
    answer: NotRequired[list[str]]


ADAPTER: TypeAdapter[Diagnosis] = TypeAdapter(Diagnosis)


def write_diagnosis(path: Path, diagnosis: Diagnosis) -> None:
    """Write the file atomically."""
    replace_text(path, json.dumps(diagnosis, indent=1, allow_nan=False) + "\n")


def read_diagnosis(path: Path) -> Diagnosis:
    """Read and check a file.

    Raises:
        UserError: when it is no such file, or of another version.
    """
    remedy = "make it again: lra diagnose"
    if regular_file(path).stat().st_size > MOST_BYTES:
        raise UserError(f"{path} has more than {MOST_BYTES >> 20} MiB; {remedy}")
    content = parsed_json(path.read_bytes(), path, remedy)
    if not isinstance(content, dict) or content.get("version") != DIAGNOSIS_VERSION:
        line = f"{path} is no diagnosis of version {DIAGNOSIS_VERSION}; {remedy}"
        raise UserError(line, kind="other_version", key=str(path), right=DIAGNOSIS_VERSION)
    return checked(ADAPTER, content, path, remedy)
