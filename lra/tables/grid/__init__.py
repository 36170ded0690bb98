"""Sweeps over many runs: the grid of cells, locks that share cells among processes, estimates of time and memory."""
