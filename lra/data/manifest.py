"""The manifest of a store: its schema, which is checked whenever a manifest is read."""

from pathlib import Path
from typing import Annotated, Any, Literal, NotRequired

from pydantic import ConfigDict, Field, TypeAdapter, with_config
from typing_extensions import TypedDict  # pydantic reads typing's own from Python 3.12 on

from lra.base.checked_json import Count, Positive, checked, parsed_json
from lra.base.files import regular_file
from lra.data.prepare_again import make_again, prepare_command
from lra.types import UserError

FORMAT_VERSION = 2
SPLITS = ("train", "dev", "test")
MANIFEST = "manifest.json"
UNVERIFIED_IN_OLD_STORES = "altered"

Name = Annotated[str, Field(min_length=1)]
Quantity = Annotated[float, Field(ge=0, allow_inf_nan=False)]
SplitName = Annotated[str, Field(pattern="^(train|dev|test)$")]
ArrayName = Annotated[str, Field(pattern=r"^(tokens|offsets|(train|dev|test)\.(sequences|labels))$")]
Quantiles = TypedDict(
    "Quantiles", {"0": Quantity, "0.25": Quantity, "0.5": Quantity, "0.75": Quantity, "0.95": Quantity, "1": Quantity}
)


class Spec(TypedDict):
    """The task's specification, see `lra.types.TaskSpec`."""

    name: Name
    vocab_size: Annotated[int, Field(ge=2)]
    seq_len: Positive
    num_sequences: Positive
    num_classes: Annotated[int, Field(ge=2)]


class SplitFacts(TypedDict):
    """Facts about a split: number of examples, examples of each label, quantiles of the length of a sequence."""

    count: Positive
    label_counts: Annotated[dict[str, Positive], Field(min_length=1)]
    length_quantiles: Quantiles
    cut_sequences: Count
    empty_sequences: Count


class ArrayFacts(TypedDict):
    """Type, shape and hash of an array in the store."""

    dtype: Literal["uint8", "uint16", "int32", "int64"]
    shape: Annotated[list[Count], Field(min_length=1, max_length=2)]
    sha256: Annotated[str, Field(pattern="^[0-9a-f]{64}$")]


class RecordedRequest(TypedDict):
    """The request that the store was made for: the task's `data` settings, `source=`, and the path that it names."""

    settings: dict[str, Any]
    source: str
    source_path: NotRequired[str]


@with_config(ConfigDict(extra="allow"))
class Manifest(TypedDict):
    """The whole manifest.

    `first_id` is added to a stored number to get the token id; `source` has facts about the source;
    `seconds` is the time that making the store took.
    """

    format_version: Literal[2]
    spec: Spec
    first_id: Annotated[int, Field(ge=0, le=1)]
    max_length: Positive
    splits: dict[SplitName, SplitFacts]
    arrays: dict[ArrayName, ArrayFacts]
    origin: Literal["official", "unverified", "pickle", "generated", "stand-in", "own"]
    asked: RecordedRequest
    source: NotRequired[dict[str, Any]]
    builder: Name
    seconds: Quantity


SCHEMA = TypeAdapter(Manifest)


def read_manifest(folder: Path) -> Manifest:
    """Read and check the manifest of a store.

    Raises:
        UserError: when the store has no manifest, or one that this version cannot read, or with a field of a wrong type
            or that contradicts another; with the first such field.
    """
    path = folder / MANIFEST
    if not path.exists():
        raise UserError(f"no prepared data in {folder}; type: {prepare_command(folder)}")
    remedy = make_again(folder)
    manifest = parsed_json(regular_file(path).read_bytes(), path, remedy)
    version = manifest.get("format_version") if isinstance(manifest, dict) else None
    if version != FORMAT_VERSION:
        raise UserError(f"{folder} has store format {version}, this version reads {FORMAT_VERSION}; {remedy}")
    if manifest.get("origin") == UNVERIFIED_IN_OLD_STORES:
        manifest["origin"] = "unverified"
    valid = checked(SCHEMA, manifest, path, remedy)
    for name in ("train", "test"):
        if name not in valid["splits"]:
            raise UserError(f"{path}: splits.{name} is missing; {remedy}")
    shapes = _shapes(valid)
    for array, shape in shapes.items():
        if array not in valid["arrays"]:
            raise UserError(f"{path}: arrays.{array} is missing; {remedy}")
        recorded = valid["arrays"][array]["shape"]
        if recorded != shape:
            raise UserError(f"{path}: arrays.{array}.shape={recorded} should be {shape}; {remedy}")
    for array in valid["arrays"].keys() - shapes:
        raise UserError(f"{path}: arrays.{array} belongs to no split; {remedy}")
    for name, facts in valid["splits"].items():
        total = sum(facts["label_counts"].values())
        if total != facts["count"]:
            raise UserError(f"{path}: splits.{name}.count={facts['count']} should be {total}; {remedy}")
    return valid


def _shapes(valid: Manifest) -> dict[str, list[int]]:
    """Compute the shape that each array must have; of tokens and offsets only the number of axes is known."""
    shapes = {name: valid["arrays"].get(name, {"shape": [0]})["shape"][:1] for name in ("tokens", "offsets")}
    for name, facts in valid["splits"].items():
        shapes[f"{name}.sequences"] = [facts["count"], valid["spec"]["num_sequences"]]
        shapes[f"{name}.labels"] = [facts["count"]]
    return shapes
