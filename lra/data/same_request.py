"""Whether a store is of the data that is asked for: of the same version, `data` settings and source.

A source is known by what it holds. A path is compared as it resolves and, where it is another one, by its content.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lra.base.files import sha256
from lra.base.printed_commands import override, typed_overrides
from lra.data.manifest import MANIFEST, Manifest
from lra.data.prepare_again import prepare_command, size_of_store
from lra.data.source_content import holds_the_same, is_a_part
from lra.types import UserError

AUTO = "auto"
ORIGIN_OF = {"generate": "generated", "stand-in": "stand-in", "download": "official"}  # what a word always gives
SOURCE_KEYWORDS = (AUTO, *ORIGIN_OF)  # any other value of `source=` is a path
SETTLING = ("task.", "protocol", "protocol.")  # options that set `data` settings
PLAIN = (str, bool, int, float)


def check_request(manifest: Manifest, folder: Path, settings: dict[str, Any], source: str, version: str) -> None:
    """Refuse a store of another version, with other `data` settings, or (unless `source=auto`) of another source.

    So is one whose file of the user's own has changed.

    Raises:
        UserError: with what differs, and what to type.
    """
    was, now = dict(manifest["asked"]["settings"]), dict(settings)
    was["version"], now["version"] = manifest["builder"].rsplit("/", 1)[-1], version
    different = [key for key in sorted(was.keys() | now.keys()) if was.get(key) != now.get(key)]
    changes = []
    if not typed_overrides(*SETTLING):  # such as in a stored configuration
        set_now = {key: now[key] for key in different if key != "version" and isinstance(now.get(key), PLAIN)}
        changes = [override(f"task.sizes.{size_of_store(folder)}.{key}", value) for key, value in set_now.items()]
    if source != AUTO:
        changes.append(override("source", source))
    remedy = f"to replace it: {prepare_command(folder, *changes, override('force', True))}"
    for key in different:
        line = f"{folder} was made with {key}={was.get(key)}, but {key}={now.get(key)} is asked for; {remedy}"
        raise UserError(line, kind="other_data", key=key, value=now.get(key), right=was.get(key))
    if source in SOURCE_KEYWORDS:
        _check_keyword(manifest, folder, source, remedy)
    else:
        _check_path(manifest, folder, source, remedy)


def _check_keyword(manifest: Manifest, folder: Path, keyword: str, remedy: str) -> None:
    """Refuse a store that is not of what a keyword stands for; `auto` is whatever the store was made of."""
    facts, origin = manifest.get("source", {}), manifest["origin"]
    if keyword == AUTO:
        if origin == "own" and "path" in facts:
            _check_unchanged(manifest, folder, Path(facts["path"]), remedy)
        return
    is_of_a_path = "path" in facts and keyword != "download"
    if keyword != manifest["asked"]["source"] and (origin != ORIGIN_OF[keyword] or is_of_a_path):
        raise _other_source(manifest, folder, keyword, remedy)


def _check_path(manifest: Manifest, folder: Path, typed: str, remedy: str) -> None:
    """Refuse a store that is of neither the source at a path nor one with the same content."""
    facts, asked = manifest.get("source", {}), manifest["asked"]
    path, recorded = Path(typed).expanduser(), Path(str(facts.get("path")))
    resolved = path.resolve()
    in_old_store = "source_path" not in asked and asked["source"] == typed
    if "path" in facts and (in_old_store or str(resolved) in (asked.get("source_path"), facts["path"])):
        _check_unchanged(manifest, folder, recorded, remedy)
        return
    if not path.exists():
        line = f"{override('source', typed)} is not there; leave it out for the store that is made, in {folder}"
        raise UserError(line, kind="missing_source", key="source", value=typed)
    paths = list(_paths_of_data(resolved, manifest)) if "path" in facts else []
    if recorded not in paths and not any(holds_the_same(other, facts) for other in paths):
        raise _other_source(manifest, folder, typed, remedy)


def _paths_of_data(path: Path, manifest: Manifest) -> Iterator[Path]:
    """Yield the paths that hold a store's data if a resolved path does: itself, one inside it, or its folder."""
    facts, asked = manifest["source"], manifest["asked"]
    recorded = Path(facts["path"])
    yield path
    if path.is_file():
        if is_a_part(path, facts):
            yield path.parent
        return
    yield path / recorded.name
    if "source_path" in asked and recorded.is_relative_to(asked["source_path"]):
        yield path / recorded.relative_to(asked["source_path"])


def _check_unchanged(manifest: Manifest, folder: Path, path: Path, remedy: str) -> None:
    """Refuse a store whose file is another one by now; a file that is gone is not, nor is a folder."""
    facts = manifest.get("source", {})
    if "sha256" not in facts or not path.is_file():
        return
    untouched = path.stat().st_mtime < (folder / MANIFEST).stat().st_mtime
    if path.stat().st_size != facts.get("bytes") or (not untouched and sha256(path) != facts["sha256"]):
        line = f"{path} is not what {folder} was made from; {remedy}"
        raise UserError(line, kind="other_data", key="source", value=str(path))


def _other_source(manifest: Manifest, folder: Path, source: str, remedy: str) -> UserError:
    asked = manifest["asked"]
    was = override("source", asked.get("source_path", asked["source"]))
    now = override("source", source if source in SOURCE_KEYWORDS else Path(source).expanduser().absolute())
    line = f"{folder} was made with {was}, but {now} is asked for, whose files are not the same; {remedy}"
    return UserError(line, kind="other_data", key="source", value=source, right=asked["source"])
