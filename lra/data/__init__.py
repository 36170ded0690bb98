"""Prepared data: the packed token store, the datamodule, one small file per task."""
