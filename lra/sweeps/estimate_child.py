"""Child process of `lra table plan`, and no verb: measure steps of one cell, print JSON.

Without more, it prints an estimate. After `beside=FOLDER` it is one of several processes that share the device, and
prints its steps per second.
"""

import json
import sys
from dataclasses import asdict
from pathlib import Path


def main(overrides: list[str]) -> int:
    """Measure the cell that `overrides` configure, and return the exit code."""
    from lra.settings import config
    from lra.sweeps.estimate import measure_here
    from lra.sweeps.processes_at_once import BESIDE, step_beside_others
    from lra.terminal.errors import explain

    beside = [word.removeprefix(BESIDE) for word in overrides if word.startswith(BESIDE)]
    try:
        cfg = config.load_config("train", [word for word in overrides if not word.startswith(BESIDE)])
        if beside:
            print(json.dumps(step_beside_others(cfg, Path(beside[0]))))
        else:
            print(json.dumps(asdict(measure_here(cfg))))
    except Exception as error:
        print(explain(error), file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
