"""Prepared data: the packed token store, the datamodule, and one small file per task.

The files of a source are read in `data_prep/TASK/source.py`.
"""
