"""The source of Path-X: that of Pathfinder, with the settings of `conf/task/pathx.yaml`."""

from data_prep.pathfinder.source import open_source

__all__ = ["open_source"]
