"""Seconds of a step, FLOPs and memory."""
