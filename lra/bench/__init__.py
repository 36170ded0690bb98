"""Measure the time and memory of attentions and mixers alone, against the length of the sequence."""
