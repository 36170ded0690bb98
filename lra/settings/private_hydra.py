"""What `lra` uses of Hydra that is not in its interface, tried with the version in `constraints.txt`.

`tests/house/test_private_doors.py` tells when something of it has moved.
"""

from argparse import ArgumentParser
from collections.abc import Sequence
from pathlib import Path

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path, get_args_parser
from hydra.core.override_parser.types import Override
from hydra.core.utils import configure_log
from hydra.types import RunMode
from omegaconf import DictConfig


def set_values(cfg: DictConfig, overrides: Sequence[Override]) -> None:
    """Set values in a composed configuration, in place, as Hydra sets them while it composes."""
    ConfigLoaderImpl._apply_overrides_to_config(list(overrides), cfg)


def flags_parser() -> ArgumentParser:
    """The parser of Hydra's own flags, such as `--cfg`."""
    return get_args_parser()


def application(name: str, conf: Path, composed: DictConfig) -> Hydra:
    """Hydra's application of one command, with a configuration that is composed already in place of its own."""
    made = _Composed.create_main_hydra2(name, create_config_search_path(str(conf)))
    assert isinstance(made, _Composed)
    made.composed = composed
    return made


class _Composed(Hydra):
    composed: DictConfig

    def compose_config(
        self,
        config_name: str | None,
        overrides: list[str],
        run_mode: RunMode,
        with_log_configuration: bool = False,
        from_shell: bool = True,
        validate_sweep_overrides: bool = True,
    ) -> DictConfig:
        if with_log_configuration:
            configure_log(self.composed.hydra.hydra_logging, self.composed.hydra.verbose)
        return self.composed
