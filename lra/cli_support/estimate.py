"""Child process of `lra table plan`, and no verb: measure a few steps of one cell, print the estimate as JSON."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict


def main(words: list[str]) -> int:
    """Print the estimate of the cell that `words` configure, and return the exit code."""
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
