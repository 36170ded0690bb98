"""`lra show protocol`: show the protocols' switches, and the deviations from the released code that none changes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from lra.base.arguments import as_typed
from lra.types import UserError
from lra.verbs.deviations_from_released_code import DEPARTURES, Departure

if TYPE_CHECKING:
    from omegaconf import DictConfig
FORMATS = ("terminal", "markdown")
KEPT = "Deviations from the released code under every protocol"


def show_protocol(cfg: DictConfig) -> None:
    """Print every switch with its meaning and its value in each protocol, then the deviations that all protocols have.

    Raises:
        UserError: for an unknown format.
    """
    switches = switch_table()
    kept: list[tuple[str, ...]] = [Departure._fields, *DEPARTURES]
    if cfg.format == "markdown":
        print(f"### Switches\n\n{markdown(switches)}\n\n### {KEPT}\n\n{markdown(kept)}")
    elif cfg.format == "terminal":
        from lra.results.tables import TextTable
        from lra.terminal.console import make_console
        from lra.terminal.fit_table import print_text_table

        console = make_console()
        how = f"protocol.SWITCH=VALUE sets one by itself; this is protocol={cfg.protocol.name}"
        for title, (columns, *rows) in ((how, switches), (KEPT, kept)):
            print_text_table(
                console, TextTable(title=title, columns=columns, rows=list(map(list, rows)), prose=columns)
            )
            console.print()
    else:
        raise UserError(f"format={cfg.format} is not known here; choose one of {', '.join(FORMATS)}")


def switch_table() -> list[tuple[str, ...]]:
    """Build a header and a row for each switch: its name, its value in every protocol, its meaning."""
    from omegaconf import OmegaConf

    from lra.base.paths import conf_dir, conf_dirs

    files = [path for folder in conf_dirs() for path in sorted((folder / "protocol").glob("*.yaml"), reverse=True)]
    protocols: dict[str, Any] = {path.stem: OmegaConf.to_container(OmegaConf.load(path)) for path in files}
    comments = switch_comments((conf_dir() / "protocol/paper.yaml").read_text())
    rows = [
        (switch, *(as_typed(protocol.get(switch, "–")) for protocol in protocols.values()), text)
        for switch, text in comments.items()
    ]
    return [("switch", *protocols, "what it does"), *rows]


def switch_comments(text: str) -> dict[str, str]:
    """Read the comment after each `switch: value` in the text of a protocol file."""
    return dict(re.findall(r"^(\w+): [^#\n]+# (.+)$", text, re.MULTILINE))


def markdown(rows: list[tuple[str, ...]]) -> str:
    """Build a Markdown table from a header and rows."""
    lines = [" | ".join(cell.replace("|", "\\|") for cell in row) for row in rows]
    return "\n".join(f"| {line} |" for line in (lines[0], " | ".join("---" for _ in rows[0]), *lines[1:]))
