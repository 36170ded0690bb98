"""The card of a store: its manifest as Croissant 1.1 with the RAI fields, the metadata that conferences ask for.

What no manifest says of a data set is in the task's YAML file, under `card:`; what is so of all probes, in
`data_prep/probes/card.yaml`.
"""

import json
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Any

import yaml

from lra.base.files import sha256
from lra.base.paths import read_choice
from lra.base.probes import is_probe
from lra.data.manifest import MANIFEST
from lra.data.store import array_path
from lra.types import UserError

CARD = "croissant.json"
VERSIONS = ["http://mlcommons.org/croissant/1.1", "http://mlcommons.org/croissant/RAI/1.0"]
TERMS = (
    *("arrayShape", "citeAs", "column", "containedIn", "equivalentProperty", "extract", "field", "fileProperty"),
    *("fileObject", "fileSet", "format", "includes", "isArray", "isLiveDataset", "jsonPath", "key", "md5"),
    *("parentField", "path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate", "separator"),
    *("source", "subField", "transform"),
)
CONTEXT = {  # the one of Croissant 1.1, and PROV's
    "@language": "en",
    "@vocab": "https://schema.org/",
    "cr": "http://mlcommons.org/croissant/",
    "rai": "http://mlcommons.org/croissant/RAI/",
    "sc": "https://schema.org/",
    "dct": "http://purl.org/dc/terms/",
    "prov": "http://www.w3.org/ns/prov#",
    "conformsTo": "dct:conformsTo",
    "data": {"@id": "cr:data", "@type": "@json"},
    "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
    "description": {"@container": "@language"},
    "examples": {"@id": "cr:examples", "@type": "@json"},
    "name": {"@container": "@language"},
    **{term: f"cr:{term}" for term in TERMS},
}
FIELDS = {  # of `card:`, and their names in Croissant
    "url": "url",
    "license": "license",
    "cite": "citeAs",
    "creator": "creator",
    "published": "datePublished",
    "collection": "rai:dataCollection",
    "limitations": "rai:dataLimitations",
    "biases": "rai:dataBiases",
    "personal_information": "rai:personalSensitiveInformation",
    "uses": "rai:dataUseCases",
    "social_impact": "rai:dataSocialImpact",
    "synthetic": "rai:hasSyntheticData",
}
OF_PROBES = Path(__file__).with_name("probes") / "card.yaml"
DATA_TYPES = {str: "sc:Text", int: "sc:Integer"}


def described(task: str) -> dict[str, Any]:
    """Read what a task's YAML file says for the card: the fields of `card:`, and its `terms` as the licence.

    Raises:
        UserError: for a field that no card has.
    """
    file = read_choice("task", task)
    fields = file.get("card") or {}
    if is_probe(file) and isinstance(fields, dict):
        fields = yaml.safe_load(OF_PROBES.read_text("utf-8")) | fields
    wrong = sorted(fields.keys() - FIELDS.keys()) if isinstance(fields, dict) else [fields]
    if wrong:
        raise UserError(f"card: of task={task} has {wrong[0]!s:.60}; it may have {', '.join(FIELDS)}", key="card")
    terms = {"license": file["terms"]} if "terms" in file else {}
    told: dict[str, Any] = {
        key: value if isinstance(value, bool | list) else str(value) for key, value in (terms | fields).items()
    }
    if "creator" in told:
        told["creator"] = {"@type": "sc:Person", "name": told["creator"]}
    return {FIELDS[key]: value for key, value in told.items()}


def write_card(folder: Path, manifest: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    """Write the card of a store whose files are all there; `about` has further properties by their Croissant names."""
    card = {"@context": CONTEXT, "@type": "sc:Dataset", "conformsTo": VERSIONS, **_properties(manifest)}
    card |= {key: value for key, value in about.items() if value != ""}
    files = {array_path(folder, name): facts["sha256"] for name, facts in manifest["arrays"].items()}
    files[folder / MANIFEST] = sha256(folder / MANIFEST)
    card["distribution"] = [
        {
            "@type": "cr:FileObject",
            "@id": path.name,
            "name": path.name,
            "contentUrl": path.name,
            "contentSize": f"{path.stat().st_size} B",
            "encodingFormat": "application/json" if path.name == MANIFEST else "application/x-npy",
            "sha256": digest,
        }
        for path, digest in files.items()
    ]
    counts = [{"split": name, "examples": facts["count"]} for name, facts in manifest["splits"].items()]
    labels = [
        {"split": name, "label": int(label), "examples": count}
        for name, facts in manifest["splits"].items()
        for label, count in facts["label_counts"].items()
    ]
    card["recordSet"] = [_records("splits", counts), _records("labels", labels)]
    (folder / CARD).write_text(json.dumps(card, indent=2, ensure_ascii=False) + "\n", "utf-8")


def _properties(manifest: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties that a manifest tells."""
    spec, source, splits = manifest["spec"], manifest.get("source", {}), manifest["splits"]
    cut, origin = sum(facts["cut_sequences"] for facts in splits.values()), manifest["origin"]
    file = Path(source.get("path", "")).name  # its folder is nobody's business
    digest = f", sha256 {source['sha256']}" if "sha256" in source else ""
    made = {"generated": "the generator of lra", "stand-in": "placeholder data of lra"}.get(origin, "")
    return {
        "version": manifest["builder"].rsplit("/", 1)[-1],
        "dateCreated": date.today().isoformat(),
        "rai:hasSyntheticData": origin in ("generated", "stand-in"),
        "rai:dataPreprocessingProtocol": [
            f"{spec['num_sequences']} sequence(s) per example, of at most {manifest['max_length']} tokens; {cut} were"
            f" cut. A token's id is its stored number plus {manifest['first_id']}; ids are below {spec['vocab_size']}."
        ],
        "prov:wasDerivedFrom": f"{file}{digest}" if file else made,
        "prov:wasGeneratedBy": f"lra prepare ({manifest['builder']}), origin of the data: {origin}",
    }


def _records(name: str, rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Make a record set of rows that the card itself has."""
    fields = [
        {"@type": "cr:Field", "@id": f"{name}/{key}", "name": key, "dataType": DATA_TYPES[type(value)]}
        for key, value in rows[0].items()
    ]
    data = [{f"{name}/{key}": value for key, value in row.items()} for row in rows]
    return {"@type": "cr:RecordSet", "@id": name, "name": name, "field": fields, "data": data}
