"""Configuration nodes as plain containers."""

from typing import Any

from omegaconf import DictConfig, OmegaConf


def plain(cfg: DictConfig) -> dict[str, Any]:
    """Convert a configuration node to plain containers; interpolations are resolved."""
    container = OmegaConf.to_container(cfg, resolve=True)
    assert isinstance(container, dict)
    return {str(key): value for key, value in container.items()}
