"""lra check: test the contract of an attention or a mixer, such as one of your own.

  lra check attention=nystrom                      what it promises, and whether that holds
  lra check attention=nystrom protocol=clean       with the other protocol's switches
  lra check attention=full attention.kernel=math   with another knob

Tested are padding, masks with holes, rows that are all padding, batch-mates (no example may change another's output),
gradients, packed tokens, bfloat16, and lengths of 1 to 250. twin=DOTTED.NAME names a slow reference function of your
own: outputs and gradients are then compared with those of this function. It gets the inputs, the mask, and every knob,
parameter and buffer by name. In pytest, `lra.testing` gives the same tests.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lra.types import UserError

if TYPE_CHECKING:
    from omegaconf import DictConfig


def run(cfg: DictConfig) -> None:
    """Test every promise and print one line for each.

    Raises:
        UserError: when a promise is broken.
    """
    from rich.text import Text

    from lra import build
    from lra.settings.config import method_name, mixer_settings, mixes_by_attention
    from lra.terminal.console import make_console
    from lra.testing.contract import BrokenPromiseError, promises
    from lra.testing.subjects import AttentionSubject, MixerSubject

    kind = AttentionSubject if mixes_by_attention(cfg) else MixerSubject
    knobs = {key: value for key, value in mixer_settings(cfg).items() if not key.startswith("_")}
    subject = kind(build.build_method(cfg), knobs)
    if not isinstance(subject.instance(1), kind.base):
        raise UserError(
            f"{method_name(cfg)} is no {kind.base.__name__}; see CONTRIBUTING.md, or docs/your_attention.md"
        )
    console, broken = make_console(), 0
    for promise in promises(subject, build.build_twin(cfg.twin) if cfg.twin else None):
        try:
            promise.check()
        except BrokenPromiseError as error:
            broken += 1
            console.print(Text.assemble(("broken", "red"), f"  {promise}: {error}"))
        else:
            console.print(Text.assemble(("kept  ", "green"), f"  {promise} (cases: {len(promise.cases)})"))
    if broken:
        raise UserError(f"{method_name(cfg)} under protocol={cfg.protocol.name} breaks {broken} of its promises")
