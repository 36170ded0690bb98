"""The child of `lra table plan`: measures a few steps of one cell and prints them as JSON. No verb of its own."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict


def main(words: list[str]) -> int:
    """Print one estimate; returns the exit code."""
    from lra import config
    from lra.cli_support.errors import explain
    from lra.sweeps.estimate import measure_here

    try:
        print(json.dumps(asdict(measure_here(config.load_config("train", words)))))
    except Exception as error:
        print(explain(error), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
