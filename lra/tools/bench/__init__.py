"""Measure the time and memory of attentions and mixers alone, against the length, and of a training step."""
