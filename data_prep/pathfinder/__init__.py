"""Pathfinder and Path-X: from the benchmark's images, or from our generator."""
