"""What a source holds, as a manifest records it: by this it is known wherever it lies and whatever it is called.

A file has `bytes` and `sha256`; a folder of few files has `files`, the hash of each by its name; a folder of many has
`content`, one hash of all that were read.
"""

import hashlib
from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from lra.base.files import sha256


def content_of(folder: Path, patterns: Iterable[str]) -> dict[str, object]:
    """Hash the names and contents of the files in a folder that match one of some glob patterns.

    Returns:
        `patterns`, `files` (their number), `bytes` (their sum) and `sha256`.
    """
    patterns = sorted(patterns)
    paths = {path for pattern in patterns for path in folder.glob(pattern) if path.is_file()}
    digest, size = hashlib.sha256(), 0
    for name, path in sorted((path.relative_to(folder).as_posix(), path) for path in paths):
        digest.update(f"{name}\0{sha256(path)}\n".encode(errors="surrogateescape"))
        size += path.stat().st_size
    return {"patterns": patterns, "files": len(paths), "bytes": size, "sha256": digest.hexdigest()}


def holds_the_same(path: Path, facts: Mapping[str, Any]) -> bool:
    """Tell whether a file or folder holds what a manifest's `source` records; False where it records no hash.

    All of its files that the manifest counts are read.
    """
    if path.is_file():
        return bool(path.stat().st_size == facts.get("bytes") and sha256(path) == facts.get("sha256"))
    if not path.is_dir():
        return False
    if content := facts.get("content"):
        return bool(content_of(path, content["patterns"]) == content)
    files = facts.get("files") or {}
    return bool(files) and all((path / name).is_file() and sha256(path / name) == files[name] for name in files)


def is_a_part(file: Path, facts: Mapping[str, Any]) -> bool:
    """Tell whether a file has the name of one that was read together with those beside it."""
    patterns = facts.get("content", {}).get("patterns", [])
    return file.name in facts.get("files", {}) or any(fnmatchcase(file.name, pattern) for pattern in patterns)
