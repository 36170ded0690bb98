"""The actions of the verbs over many runs (`lra table`, `lra sweep`, `lra compare`): plan, run, show."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from lra.types import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from lra.sweeps.campaign import Campaign


def act(campaign: Campaign, show: Callable[[Campaign, Console], None]) -> None:
    """Do the action that the user typed: `plan`, `run` (which also shows the result) or `show`.

    Raises:
        UserError: after all other cells have run, when some cells have failed.
    """
    from rich.text import Text

    from lra.terminal.console import make_console

    console = make_console()
    if campaign.settings.what == "plan":
        from lra.sweeps.plan import print_plan

        print_plan(console, campaign)
        return
    if campaign.settings.what == "show":
        show(campaign, console)
        return
    state = campaign.run(console)
    console.print(f"\n{state.finished} of {len(campaign.cells)} cells finished")
    for folder, error in state.failed.items():
        console.print(Text.assemble(("failed", "red"), f"  {error}\n        {folder}"))
    show(campaign, console)
    if state.failed:
        raise UserError(f"{len(state.failed)} cells failed; the same command tries them again")
