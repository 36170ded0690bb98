"""Pathfinder and Path-X: the benchmark's folder, or our generator."""
