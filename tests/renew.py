"""Write anew what is made from the code, the configuration and the published records: `make renew`.

`make renew ONLY="errors golden"` writes these parts alone. What has changed is named at the end; `git diff` shows it.
"""

import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

PARTS = {  # in their order: settings first, and last what shows all others
    "settings": ("tests.runs.make_paper_settings", "tests.runs.make_s4_settings"),  # those of the papers' runs
    "errors": ("tests.commands.errors",),  # the line of each mistake
    "golden": ("tests.golden",),  # what a change of structure may not move
    "notebook": ("docs.notebook",),
    "numbers": ("docs.blocks",),  # the blocks and figures of the documents
    "pictures": ("docs.pictures",),  # of a terminal, and in Chromium of a report
}


def stale(part: str) -> str:
    """What a test says that finds a part stale."""
    assert part in PARTS, part
    return f"stale; type: make renew ONLY={part}"


def changed() -> dict[str, str]:
    """The files that differ from the last commit, with the hashes of their contents."""
    there = [name for name in git("ls-files", "-m", "-o", "--exclude-standard") if (ROOT / name).is_file()]
    return dict(zip(there, git("hash-object", "--", *there), strict=True))


def git(*words: str) -> list[str]:
    """The lines that git prints."""
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()


def main(parts: list[str]) -> int:
    """Renew some parts, or all; one that fails does not keep the others from it.

    Returns:
        The exit code: 1 if a part has failed, 2 for a part that there is not.
    """
    unknown = [part for part in parts if part not in PARTS]
    if unknown:
        print(f"ONLY={' '.join(unknown)} is not known; choose from {', '.join(PARTS)}", file=sys.stderr)
        return 2
    before, failed = changed(), []
    for part in [part for part in PARTS if part in parts] or PARTS:
        began = time.monotonic()
        print(f"{part} …", flush=True)
        commands = [[sys.executable, "-m", module] for module in PARTS[part]]
        codes = [subprocess.run(command, cwd=ROOT, check=False).returncode for command in commands]
        print(f"{part} took {time.monotonic() - began:.0f} s", flush=True)
        failed += [part] if any(codes) else []
    after = changed()
    written = sorted(name for name in {*before, *after} if before.get(name) != after.get(name))
    print("\n".join(["written anew:", *written]) if written else "nothing was stale")
    if failed:
        print(f"failed: {' '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
