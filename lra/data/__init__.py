"""Prepared data: the packed token store, the datamodule, and one small file per task."""
