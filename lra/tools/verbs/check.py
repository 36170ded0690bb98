"""lra check: test the contract of an attention or a mixer, such as one of your own.

  lra check attention=nystrom                      PASS or FAIL for each contract check
  lra check attention=nystrom protocol=clean       with the other protocol's switches
  lra check attention=full attention.kernel=math   with another option

The checks cover padding, masks with holes, rows that are all padding, independence of the other examples of the batch,
gradients, packed tokens, bfloat16, and lengths of 1 to 250. twin=DOTTED.NAME names a reference implementation of your
own, a slow function: outputs and gradients are then compared with those of this function. It gets the inputs, the
mask, and every option, parameter and buffer by name. In pytest, `lra.tools.testing` gives the same tests.
"""

from dataclasses import dataclass

from rich.console import Console
from rich.text import Text

from lra.from_config import build_method, make_from
from lra.settings.command_options import Check
from lra.settings.run_config import RunConfig
from lra.terminal.console import make_console
from lra.terminal.fit_table import wrapped
from lra.tools.testing.contract import BrokenPromiseError, Promise, promises
from lra.tools.testing.subjects import AttentionSubject, MixerSubject
from lra.types import UserError


@dataclass(frozen=True)
class Contract:
    """A contract that is kept: whose, and the checks that it has passed."""

    subject: str
    passed: tuple[Promise, ...]

    def show(self, console: Console) -> None:
        """Print the number of checks."""
        count = len(self.passed)
        console.print(f"{count} of {count} contract checks passed: {self.subject}")


def run(cfg: RunConfig) -> Contract:
    """Make every contract check, and print a line after each.

    Raises:
        UserError: when some have failed.
    """
    kind = AttentionSubject if cfg.mixes_by_attention else MixerSubject
    options = {key: value for key, value in cfg.mixer_settings.items() if not key.startswith("_")}
    subject = kind(build_method(cfg), options)
    if not isinstance(subject.instance(1), kind.base):
        line = f"{cfg.method_name} is no {kind.base.__name__}; see CONTRIBUTING.md, or docs/your_attention.md"
        raise UserError(line, kind="other_kind", key=cfg.method_name, right=kind.base.__name__)
    console, broken = make_console(), dict[str, BrokenPromiseError]()
    named = Check.view(cfg).twin
    twin = make_from({"_target_": named, "_partial_": True}) if named else None
    checks = promises(subject, twin)
    for promise in checks:
        try:
            promise.check()
        except BrokenPromiseError as error:
            broken[promise.name] = error
            verdict, style, text = "FAIL", "red", f"{promise}: {error}"
        else:
            cases = f"{len(promise.cases)} case{'s' * (len(promise.cases) > 1)}"
            verdict, style, text = "PASS", "green", f"{promise} ({cases})"
        line = f"{verdict}  {text}"
        shown = Text("\n".join(wrapped(line, console.width) if console.is_terminal else [line]))
        shown.stylize(style, 0, len(verdict))
        console.print(shown)
    subject_named = f"{cfg.method_name} under protocol={cfg.protocol.name}"
    if broken:
        line = f"{len(broken)} of {len(checks)} contract checks failed: {subject_named}"
        raise UserError(line, kind="contract", key=cfg.method_name, value=broken, right=len(checks))
    return Contract(subject_named, tuple(checks))
