"""Attention backends: the contract in base.py, then one file per backend."""
